//! Many threads at once for a while.

use crate::byte_soak::{no_update_is_lost, own_keys, scans_pass_nothing_over};
use crate::sessions::World;
use crate::world::{Fair, Nb, SmallFair, SmallNb};

/// Keys of all threads lie in the same leaves.
fn key(n: u64) -> Vec<u8> {
    ((n % 3) << 62 | n).to_be_bytes().to_vec()
}

#[test]
fn threads_with_keys_of_their_own() {
    own_keys(&World::<SmallFair>::new(), key);
    own_keys(&World::<Fair>::adr(), key);
    own_keys(&World::<SmallNb>::adr(), key);
    own_keys(&World::<Nb>::new(), key);
}

/// A18. Chunks are overwritten when they get a new owner: whoever still reads one comes upon lengths and
/// words that cannot be.
#[test]
fn a18_nobody_reads_a_chunk_that_has_a_new_owner() {
    let (fair, nb) = (World::<SmallFair>::new(), World::<SmallNb>::adr());
    fair.stage().poison_chunks();
    own_keys(&fair, key);
    nb.stage().poison_chunks();
    own_keys(&nb, key);
}

#[test]
fn scans_pass_nothing_over_beside_writers() {
    scans_pass_nothing_over(&World::<SmallFair>::adr());
    scans_pass_nothing_over(&World::<SmallNb>::adr());
}

#[test]
fn no_update_is_lost_among_threads() {
    no_update_is_lost(&World::<SmallFair>::new());
    no_update_is_lost(&World::<SmallNb>::new());
}
