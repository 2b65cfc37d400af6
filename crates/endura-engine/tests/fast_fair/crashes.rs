//! The process ends between two stores of an operation: what the next session finds.

use crate::support::crashes::{crash_everywhere, many_crashes, tens};
use crate::support::stage::ends;
use crate::support::world::{Cap3, Cap4, Cap8, MapOf, Shape};

/// F2. The published insert at slot 0 first stores the terminator there: a crash leaves a node
/// that seems empty.
#[test]
fn an_insert_into_any_slot_is_whole_or_absent() {
    fn run<S: Shape>() {
        for n in 1..S::CAPACITY as u64 {
            let before = tens(1..n + 1);
            for slot in 0..=n {
                let key = 10 * slot + 3;
                let insert = |map: &MapOf<S>| assert_eq!(map.insert(key, 7).unwrap(), None);
                crash_everywhere::<S>(&before, insert, |model| _ = model.insert(key, 7));
            }
        }
    }
    ends("insert crash", || {
        run::<Cap4>();
        run::<Cap8>();
    });
}

/// F3. The published delete flushes the wrong line, and leaves duplicates that a later delete does
/// not skip: other keys vanish, and this one comes back.
#[test]
fn a_remove_from_any_slot_is_whole_or_absent() {
    fn run<S: Shape>() {
        for n in 1..=S::CAPACITY as u64 {
            let before = tens(1..n + 1);
            for key in before.keys().copied() {
                let remove = |map: &MapOf<S>| _ = map.remove(key).unwrap();
                crash_everywhere::<S>(&before, remove, |model| _ = model.remove(&key));
            }
        }
    }
    ends("remove crash", || {
        run::<Cap4>();
        run::<Cap8>();
    });
}

/// An update is one store.
#[test]
fn an_update_has_the_old_or_the_new_value() {
    let before = tens(1..9);
    let update = |map: &MapOf<Cap4>| _ = map.update(40, 7).unwrap();
    crash_everywhere::<Cap4>(&before, update, |model| _ = model.insert(40, 7));
}

/// F6, F7. Splits of leaves and inner nodes, the growth of the root, and the new separators. The
/// published tree forgets the separator after a crash and copies truncated entries a second time.
#[test]
fn a_split_at_any_place_is_whole_or_absent() {
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
    ends("split crash", || {
        run::<Cap3>([3, 5, 7, 8, 12]);
        run::<Cap4>([4, 7, 10, 13]);
    });
}

/// F15, F17. Merges of leaves and inner nodes after removes, and the root that loses its levels.
#[test]
fn a_merge_at_any_place_is_whole_or_absent() {
    fn run<S: Shape>(sizes: impl IntoIterator<Item = u64>) {
        for n in sizes {
            for key in tens(1..n + 1).into_keys() {
                let remove = |map: &MapOf<S>| _ = map.remove(key).unwrap();
                let before = tens(1..n + 1);
                crash_everywhere::<S>(&before, remove, |model| _ = model.remove(&key));
            }
        }
    }
    ends("merge crash", || {
        run::<Cap3>([4, 5, 6, 9]);
        run::<Cap4>([5, 6, 9]);
    });
}

/// F6, F20. Killed again and again in the middle of things, never repaired in between: the height
/// stays logarithmic, and locks held at a crash bind nobody.
#[test]
fn many_crashes_in_a_row_do_not_pile_up() {
    many_crashes::<Cap4>();
}
