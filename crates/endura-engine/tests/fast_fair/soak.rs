//! Eight threads on everything at once.

use crate::support::soak::{popped_from_both_ends, soak};
use crate::support::world::{Cap3, Cap4, Narrow};

#[test]
fn eight_threads_on_few_keys_in_tiny_nodes_are_linearizable() {
    soak::<Cap3>("few keys, nodes of 3", 40, 3);
    soak::<Cap4>("some keys, nodes of 4", 400, 3);
    soak::<Narrow>("narrow leaves", 4_000, 3);
}

#[test]
fn a_popped_entry_goes_to_exactly_one_caller() {
    popped_from_both_ends::<Cap4>();
}
