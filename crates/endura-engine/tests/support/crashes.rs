//! The process ends between two stores of an operation: what the next session finds.
//!
//! A killed process leaves every store it made and none that it did not, so each crash state is
//! the medium as it is when the writer stands before one of its stores. (Power loss on persistent
//! memory leaves more states than these; they are another explorer's work.)

use std::collections::BTreeMap;

use crate::support::ops::scatter;
use crate::support::stage::{at_every_store, ends, stopped};
use crate::support::world::{MapOf, Shape, World};

pub(crate) type Entries = BTreeMap<u64, u64>;

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

/// Crashes the insert of a key between any two of `n` keys, before all and after all, for each of these `n`.
pub(crate) fn crash_inserts<S: Shape>(sizes: impl IntoIterator<Item = u64>) {
    for n in sizes {
        let before = tens(1..n + 1);
        for slot in 0..=n {
            let key = 10 * slot + 3;
            let insert = |map: &MapOf<S>| assert_eq!(map.insert(key, 7).unwrap(), None);
            crash_everywhere::<S>(&before, insert, |model| _ = model.insert(key, 7));
        }
    }
}

/// Crashes the removal of any of `n` keys, for each of these `n`.
pub(crate) fn crash_removals<S: Shape>(sizes: impl IntoIterator<Item = u64>) {
    for n in sizes {
        let before = tens(1..n + 1);
        for key in before.keys().copied() {
            let remove = |map: &MapOf<S>| _ = map.remove(key).unwrap();
            crash_everywhere::<S>(&before, remove, |model| _ = model.remove(&key));
        }
    }
}

/// Crashes the update of a key among others.
pub(crate) fn crash_an_update<S: Shape>() {
    let update = |map: &MapOf<S>| _ = map.update(40, 7).unwrap();
    crash_everywhere::<S>(&tens(1..9), update, |model| _ = model.insert(40, 7));
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

/// F6, F20. Killed again and again in the middle of things, never repaired in between: the height
/// stays logarithmic, and locks held at a crash bind nobody.
pub(crate) fn many_crashes<S: Shape>() {
    ends("crash after crash", || {
        let mut world = World::<S>::of_pages(300);
        let mut model = Entries::new();
        for round in 0..200u64 {
            let key = 10 * (scatter(round) % 1000);
            let stop = endura_variants::media::Stop::at_store(1 + round % 61);
            let mut next = None;
            let act = |map: &MapOf<S>| _ = map.insert(key, round).unwrap();
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
