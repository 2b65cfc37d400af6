//! N1, N14, N23. Keys and values at the ends of their ranges, by name.
//!
//! The published tree takes two bits from each value, and key 0 for removed entries: key 0 cannot be
//! stored, and a value that uses the bits comes back changed after a split.

use crate::support::edges::{
    degenerate_ranges, drained_then_used, every_key_takes_every_value, exchanged_in_every_state,
    inserted_twice_removed_once, overfull, removed_between_split_and_merge,
};
use crate::support::world::{Slots3, Slots7, Slots63, World};

#[test]
fn after_a_drain_in_any_order_the_extreme_keys_can_be_used() {
    drained_then_used::<Slots3>();
    drained_then_used::<Slots7>();
    drained_then_used::<Slots63>();
}

#[test]
fn every_key_takes_every_value_in_every_order() {
    every_key_takes_every_value::<Slots3>();
}

#[test]
fn a_full_leaf_takes_one_more_key_anywhere_also_the_split_key() {
    overfull::<Slots3>();
    overfull::<Slots7>();
    overfull::<Slots63>();
}

#[test]
fn a_key_inserted_twice_and_removed_once_is_gone() {
    inserted_twice_removed_once::<Slots7>();
}

#[test]
fn compare_exchange_compares_presence_as_well_as_value() {
    exchanged_in_every_state::<Slots7>();
}

#[test]
fn ranges_with_degenerate_bounds_hold_what_they_say() {
    degenerate_ranges::<Slots3>();
    degenerate_ranges::<Slots63>();
}

#[test]
fn keys_removed_between_a_split_and_a_merge_stay_removed() {
    removed_between_split_and_merge::<Slots3>();
    removed_between_split_and_merge::<Slots63>();
}

/// N1. Either side of every boundary between two partitions, with every bit of the values set once,
/// through splits: bit by bit what went in comes out.
#[test]
fn values_are_kept_to_the_bit_on_both_sides_of_every_partition() {
    let keys =
        (0..8_u64).flat_map(|k| (0..40).map(move |n| (k << 61).wrapping_add(n).wrapping_sub(20)));
    let entries: Vec<(u64, u64)> = keys
        .enumerate()
        .map(|(n, key)| {
            (key, (1_u64 << (n % 64)).rotate_left(n as u32) ^ (n as u64 % 2).wrapping_neg())
        })
        .collect();
    let world = World::<Slots3>::with(entries.iter().copied());
    let mut sorted = entries.clone();
    sorted.sort_unstable();
    assert_eq!(world.entries(), sorted);
    let backwards: Vec<_> = world.map().range(..).rev().map(Result::unwrap).collect();
    assert!(backwards.iter().rev().eq(&sorted));
    for (key, value) in entries {
        assert_eq!(world.map().get(key).unwrap(), Some(value));
    }
}

/// N13. One key removed and entered again uses up the slots of its leaf, which is copied into one
/// block each time, not two.
#[test]
fn slots_that_are_used_up_by_one_key_are_won_back_without_growth() {
    let world = World::<Slots63>::new();
    let empty = world.verify().nodes;
    for round in 0..1_000 {
        assert_eq!(world.map().insert(7, round).unwrap(), None);
        assert_eq!(world.map().remove(7).unwrap(), Some(round));
    }
    assert_eq!(world.verify().nodes, empty);
}

/// N19. Sixty-three keys with the same tag: a lookup tells them apart by the key.
#[test]
fn keys_that_share_their_fingerprint_are_told_apart() {
    let tag = |key: u64| (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8;
    let keys: Vec<u64> = (0..).filter(|&key| tag(key) == 77).take(300).collect();
    let world = World::<Slots63>::with(keys[..63].iter().map(|&key| (key, !key)));
    for &key in &keys[..63] {
        assert_eq!(world.map().get(key).unwrap(), Some(!key));
    }
    for &key in &keys[63..] {
        assert_eq!(world.map().get(key).unwrap(), None);
        assert_eq!(world.map().insert(key, 1).unwrap(), None);
    }
    assert_eq!(world.verify().entries, 300);
}
