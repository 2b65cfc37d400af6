//! The process ends between two stores of an operation: what the next session finds.

use crate::support::crashes::{crash_an_update, crash_inserts, crash_removals, many_crashes};
use crate::support::stage::ends;
use crate::support::world::{Cap3, Cap4, Cap8, Shape};

/// F2. The published insert at slot 0 first stores the terminator there: a crash leaves a node
/// that seems empty.
#[test]
fn an_insert_into_any_slot_is_whole_or_absent() {
    ends("insert crash", || {
        crash_inserts::<Cap4>(1..Cap4::CAPACITY as u64);
        crash_inserts::<Cap8>(1..Cap8::CAPACITY as u64);
    });
}

/// F3. The published delete flushes the wrong line, and leaves duplicates that a later delete does
/// not skip: other keys vanish, and this one comes back.
#[test]
fn a_remove_from_any_slot_is_whole_or_absent() {
    ends("remove crash", || {
        crash_removals::<Cap4>(1..=Cap4::CAPACITY as u64);
        crash_removals::<Cap8>(1..=Cap8::CAPACITY as u64);
    });
}

/// An update is one store.
#[test]
fn an_update_has_the_old_or_the_new_value() {
    crash_an_update::<Cap4>();
}

/// F6, F7. Splits of leaves and inner nodes, the growth of the root, and the new separators. The
/// published tree forgets the separator after a crash and copies truncated entries a second time.
#[test]
fn a_split_at_any_place_is_whole_or_absent() {
    ends("split crash", || {
        crash_inserts::<Cap3>([3, 5, 7, 8, 12]);
        crash_inserts::<Cap4>([4, 7, 10, 13]);
    });
}

/// F15, F17. Merges of leaves and inner nodes after removes, and the root that loses its levels.
#[test]
fn a_merge_at_any_place_is_whole_or_absent() {
    ends("merge crash", || {
        crash_removals::<Cap3>([4, 5, 6, 9]);
        crash_removals::<Cap4>([5, 6, 9]);
    });
}

/// F6, F20. Killed again and again in the middle of things, never repaired in between: the height
/// stays logarithmic, and locks held at a crash bind nobody.
#[test]
fn many_crashes_in_a_row_do_not_pile_up() {
    many_crashes::<Cap4>();
}
