//! N3, N16. The process ends between two stores of an operation: what the next session finds.

use crate::support::crashes::{crash_an_update, crash_inserts, crash_removals, many_crashes};
use crate::support::stage::ends;
use crate::support::world::{Slots3, Slots7};

#[test]
fn an_insert_is_whole_or_absent_also_where_it_splits() {
    ends("insert crash", || {
        crash_inserts::<Slots3>([1, 2, 3, 5, 9]);
        crash_inserts::<Slots7>([6, 7, 12]);
    });
}

#[test]
fn a_remove_is_whole_or_absent_also_where_it_merges() {
    ends("remove crash", || {
        crash_removals::<Slots3>([1, 3, 4, 6, 9]);
        crash_removals::<Slots7>([8, 12]);
    });
}

#[test]
fn an_update_has_the_old_or_the_new_value() {
    crash_an_update::<Slots7>();
}

#[test]
fn many_crashes_in_a_row_do_not_pile_up() {
    many_crashes::<Slots7>();
}
