//! Keys and values at the ends of their ranges, by name.

use crate::support::edges::{
    degenerate_ranges, drained_then_used, every_key_takes_every_value, exchanged_in_every_state,
    inserted_twice_removed_once, overfull, removed_between_split_and_merge,
};
use crate::support::world::{Cap3, Cap4, Cap8, Narrow};

#[test]
fn after_a_drain_in_any_order_the_extreme_keys_can_be_used() {
    drained_then_used::<Cap3>();
    drained_then_used::<Cap4>();
    drained_then_used::<Narrow>();
}

#[test]
fn every_key_takes_every_value_in_every_order() {
    every_key_takes_every_value::<Cap3>();
}

#[test]
fn a_full_leaf_takes_one_more_key_anywhere_also_the_split_key() {
    overfull::<Cap3>();
    overfull::<Cap4>();
    overfull::<Cap8>();
    overfull::<Narrow>();
}

#[test]
fn a_key_inserted_twice_and_removed_once_is_gone() {
    inserted_twice_removed_once::<Cap4>();
}

#[test]
fn compare_exchange_compares_presence_as_well_as_value() {
    exchanged_in_every_state::<Cap4>();
}

#[test]
fn ranges_with_degenerate_bounds_hold_what_they_say() {
    degenerate_ranges::<Cap3>();
}

#[test]
fn keys_removed_between_a_split_and_a_merge_stay_removed() {
    removed_between_split_and_merge::<Cap3>();
    removed_between_split_and_merge::<Cap4>();
    removed_between_split_and_merge::<Cap8>();
    removed_between_split_and_merge::<Narrow>();
}
