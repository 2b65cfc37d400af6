//! Eight threads on everything at once.

use crate::support::soak::{popped_from_both_ends, soak};
use crate::support::world::{Slots3, Slots7, Slots63};

#[test]
fn eight_threads_on_few_keys_in_tiny_blocks_are_linearizable() {
    soak::<Slots3>("few keys, blocks of 3", 40, 3);
    soak::<Slots7>("some keys, blocks of 7", 400, 3);
    soak::<Slots63>("the paper's blocks", 4_000, 3);
}

#[test]
fn a_popped_entry_goes_to_exactly_one_caller() {
    popped_from_both_ends::<Slots7>();
}
