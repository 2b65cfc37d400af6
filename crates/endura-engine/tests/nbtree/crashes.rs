//! N3, N16. The process ends between two stores of an operation: what the next session finds.

use crate::support::crashes::{crash_everywhere, many_crashes, tens};
use crate::support::stage::ends;
use crate::support::world::{MapOf, Shape, Slots3, Slots7};

#[test]
fn an_insert_is_whole_or_absent_also_where_it_splits() {
    fn run<S: Shape>(sizes: impl IntoIterator<Item = u64>) {
        for n in sizes {
            let before = tens(1..n + 1);
            for slot in 0..=n {
                let key = 10 * slot + 3;
                let insert = |map: &MapOf<S>| assert_eq!(map.insert(key, 7).unwrap(), None);
                crash_everywhere::<S>(&before, insert, |model| _ = model.insert(key, 7));
            }
        }
    }
    ends("insert crash", || {
        run::<Slots3>([1, 2, 3, 5, 9]);
        run::<Slots7>([6, 7, 12]);
    });
}

#[test]
fn a_remove_is_whole_or_absent_also_where_it_merges() {
    fn run<S: Shape>(sizes: impl IntoIterator<Item = u64>) {
        for n in sizes {
            let before = tens(1..n + 1);
            for key in before.keys().copied() {
                let remove = |map: &MapOf<S>| _ = map.remove(key).unwrap();
                crash_everywhere::<S>(&before, remove, |model| _ = model.remove(&key));
            }
        }
    }
    ends("remove crash", || {
        run::<Slots3>([1, 3, 4, 6, 9]);
        run::<Slots7>([8, 12]);
    });
}

#[test]
fn an_update_has_the_old_or_the_new_value() {
    let before = tens(1..9);
    let update = |map: &MapOf<Slots7>| _ = map.update(40, 7).unwrap();
    crash_everywhere::<Slots7>(&before, update, |model| _ = model.insert(40, 7));
}

#[test]
fn many_crashes_in_a_row_do_not_pile_up() {
    many_crashes::<Slots7>();
}
