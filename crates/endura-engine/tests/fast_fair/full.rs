//! No memory at the n-th request, for all n: the operation fails, and nothing else happens.

use crate::support::full::{refused_everywhere, without_room};
use crate::support::world::{Cap3, Cap4};

#[test]
fn a_refused_chunk_leaves_the_map_unchanged_and_nothing_leaks() {
    refused_everywhere::<Cap3>();
    refused_everywhere::<Cap4>();
}

#[test]
fn a_pool_without_room_still_reads_updates_and_removes() {
    without_room::<Cap4>(64);
}
