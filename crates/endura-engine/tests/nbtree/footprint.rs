//! N14. Blocks that are emptied are merged, and what was merged is used again.

use crate::support::footprint::{drained, refilled};
use crate::support::world::{Slots3, Slots7, Slots63};

#[test]
fn twenty_rounds_of_filling_and_draining_take_the_space_of_one() {
    refilled::<Slots7>(1_000);
    refilled::<Slots63>(10_000);
}

#[test]
fn a_drained_tree_is_a_small_one() {
    for entries in (1..12).map(|n| 29 * n) {
        drained::<Slots3>(entries);
    }
    drained::<Slots7>(1_000);
}
