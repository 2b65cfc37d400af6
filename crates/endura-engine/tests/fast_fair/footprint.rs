//! Nodes that are emptied are merged, and what was merged is used again.

use crate::support::footprint::{drained, refilled};
use crate::support::world::{Cap3, Cap4, Cap8, Cap28};

#[test]
fn twenty_rounds_of_filling_and_draining_take_the_space_of_one() {
    refilled::<Cap4>(1_000);
    refilled::<Cap28>(20_000);
}

#[test]
fn a_drained_tree_is_a_small_one() {
    for entries in (1..40).map(|n| 9 * n) {
        drained::<Cap3>(entries);
    }
    drained::<Cap4>(1_000);
    drained::<Cap8>(1_000);
}
