//! No memory at the n-th request, for all n: the operation fails, and nothing else happens.

use crate::support::full::{refused_everywhere, without_room};
use crate::support::world::{Slots3, Slots7, Slots63};

#[test]
fn a_refused_chunk_leaves_the_map_unchanged_and_nothing_leaks() {
    refused_everywhere::<Slots3>();
    refused_everywhere::<Slots7>();
}

/// Removes free nothing before a change, and a change needs room first: the reserve makes it.
#[test]
fn a_pool_without_room_still_reads_updates_and_removes() {
    without_room::<Slots7>(6);
    without_room::<Slots63>(6);
}
