//! Many threads at once for a while.

use endura_engine::tree::roart::Full;
use endura_variants::roart::Tiny;

use crate::byte_soak::{self, own_keys};
use crate::world::World;

/// Keys of which the writer has every `THREADS`-th, all mixed up in the same nodes.
fn key(n: u64) -> Vec<u8> {
    match n % 3 {
        0 => n.to_be_bytes()[5..].to_vec(),
        1 => format!("a/shared/prefix/{n}").into_bytes(),
        _ => format!("{}", n / 7).into_bytes().repeat(1 + (n % 2) as usize * 3),
    }
}

#[test]
fn threads_with_keys_of_their_own() {
    own_keys(&World::<Full>::new(), key);
    own_keys(&World::<Tiny>::adr(), key);
}

/// A18. Chunks are overwritten when they get a new owner: whoever still reads one comes upon lengths and
/// words that cannot be.
#[test]
fn a18_nobody_reads_a_chunk_that_has_a_new_owner() {
    for world in [World::<Tiny>::new(), World::<Tiny>::adr()] {
        world.stage().poison_chunks();
        own_keys(&world, key);
    }
}

#[test]
fn scans_pass_nothing_over() {
    byte_soak::scans_pass_nothing_over(&World::<Tiny>::adr());
}

#[test]
fn no_update_is_lost() {
    byte_soak::no_update_is_lost(&World::<Tiny>::new());
}
