//! A process that is killed before each of its stores: the map is what it was before the operation
//! or after it, and can be used.

use crate::record_crashes::{killed_before_every_store, stranded_records_are_counted_and_freed};
use crate::world::{Small, Ties};

#[test]
fn small_blocks_killed_before_every_store() {
    killed_before_every_store::<Small>();
}

#[test]
fn equal_words_killed_before_every_store() {
    killed_before_every_store::<Ties>();
}

#[test]
fn what_a_crash_stranded_is_counted_and_freed() {
    stranded_records_are_counted_and_freed::<Small>();
    stranded_records_are_counted_and_freed::<Ties>();
}
