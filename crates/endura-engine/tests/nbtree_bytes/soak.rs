//! Many threads at once for a while.

use crate::byte_soak::{no_update_is_lost, own_keys, scans_pass_nothing_over};
use crate::sessions::World;
use crate::world::{Small, Ties, Whole};

/// Keys of all threads lie in the same leaves.
fn key(n: u64) -> Vec<u8> {
    match n % 3 {
        0 => n.to_be_bytes()[5..].to_vec(),
        1 => format!("a/shared/prefix/that/is/longer/than/one/line/of/texts/in/a/node/{n}")
            .into_bytes(),
        _ => format!("{}", n / 7).into_bytes().repeat(1 + (n % 2) as usize * 3),
    }
}

#[test]
fn threads_with_keys_of_their_own() {
    own_keys(&World::<Small>::new(), key);
    own_keys(&World::<Whole>::adr(), key);
    own_keys(&World::<Ties>::adr(), key);
    own_keys(&World::<Whole>::new(), key);
}

/// A18. Chunks are overwritten when they get a new owner: whoever still reads one comes upon lengths and
/// words that cannot be.
#[test]
fn a18_nobody_reads_a_chunk_that_has_a_new_owner() {
    let (fair, nb) = (World::<Small>::new(), World::<Ties>::adr());
    fair.stage().poison_chunks();
    own_keys(&fair, key);
    nb.stage().poison_chunks();
    own_keys(&nb, key);
}

#[test]
fn scans_pass_nothing_over_beside_writers() {
    scans_pass_nothing_over(&World::<Small>::adr());
    scans_pass_nothing_over(&World::<Ties>::adr());
}

#[test]
fn no_update_is_lost_among_threads() {
    no_update_is_lost(&World::<Small>::new());
    no_update_is_lost(&World::<Ties>::new());
}
