//! The process ends between two stores of an operation: what the next session finds.
//!
//! A killed process leaves every store it made and none that it did not, so each crash state is
//! the medium as it is when the writer stands before one of its stores. (Power loss on persistent
//! memory leaves more states than these; they are another explorer's work.)

use std::collections::BTreeMap;

use crate::support::stage::{at_every_store, ends, stopped};
use crate::support::world::{Cap3, Cap4, Cap8, MapOf, Shape, World};

type Entries = BTreeMap<u64, u64>;

fn tens(range: std::ops::Range<u64>) -> Entries {
    range.map(|n| (10 * n, n)).collect()
}

/// Crashes before every store of `act` on a map that holds `before`. The next session must find
/// either the map before or the map after it, and be able to work on.
fn crash_everywhere<S: Shape>(
    before: &Entries,
    act: impl Fn(&MapOf<S>) + Sync,
    change: impl Fn(&mut Entries),
) {
    let mut after = before.clone();
    change(&mut after);
    at_every_store(|stop| {
        let world = World::<S>::with(before.clone());
        let crash = || {
            let next = world.crashed();
            let found: Entries = next.entries().into_iter().collect();
            assert!(
                found == *before || found == after,
                "{stop:?}: {found:?} is neither {before:?} nor {after:?}"
            );
            recovered_is_usable(next, found);
        };
        stopped(&world, stop, |map| act(map), crash)
    });
}

/// A lookup of everything passes on many broken structures; using them does not.
fn recovered_is_usable<S: Shape>(world: World<S>, mut model: Entries) {
    let check = |world: &World<S>, model: &Entries| {
        let found: Entries = world.entries().into_iter().collect();
        assert_eq!(found, *model);
        assert_eq!(world.verify().entries, model.len() as u64);
    };
    check(&world, &model);
    // Remove and insert next to everything there was, so that each dead duplicate, tag and
    // missing separator is met by a writer.
    for (key, value) in model.clone() {
        assert_eq!(world.map().get(key).unwrap(), Some(value));
        assert_eq!(world.map().insert(key + 5, value).unwrap(), model.insert(key + 5, value));
        assert_eq!(world.map().remove(key).unwrap(), model.remove(&key));
        assert_eq!(world.map().get(key).unwrap(), None);
    }
    check(&world, &model);
    // So many more that every leaf splits, and with them the nodes above: all are locked once.
    let last = model.last_key_value().map_or(10, |(&key, _)| key);
    for key in (0..last).filter(|key| key % 10 != 5) {
        assert_eq!(world.map().insert(key, key).unwrap(), model.insert(key, key));
    }
    check(&world, &model);
    assert_eq!(world.verify().repairs.total(), 0, "every node was visited by a writer");
    // Once more after another restart, down to nothing.
    let world = world.killed();
    check(&world, &model);
    for (key, value) in model {
        assert_eq!(world.map().remove(key).unwrap(), Some(value));
    }
    check(&world, &Entries::new());
}

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
    ends("crash after crash", || {
        let mut world = World::<Cap4>::of_pages(300);
        let mut model = Entries::new();
        for round in 0..200u64 {
            let key = 10 * (crate::support::ops::scatter(round) % 1000);
            let stop = endura::media::Stop::at_store(1 + round % 61);
            let mut next = None;
            let act = |map: &MapOf<Cap4>| _ = map.insert(key, round).unwrap();
            if stopped(&world, stop, act, || next = Some(world.crashed())) {
                world = next.expect("the crash was taken");
                let found = world.map().get(key).unwrap();
                assert!(found == Some(round) || found == model.get(&key).copied());
                model.extend(found.map(|value| (key, value)));
            } else {
                model.insert(key, round);
            }
        }
        assert!(world.entries().into_iter().eq(model.clone()));
        let height = world.verify().height;
        assert!(height <= 10, "{} entries on {height} levels", model.len());
        recovered_is_usable(world, model);
    });
}
