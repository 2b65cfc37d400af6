//! No memory at the n-th request, for all n: the operation fails, and nothing else happens.

use std::collections::BTreeMap;

use endura_engine::Error;

use crate::support::world::{Shape, World};

fn filled<S: Shape>(n: u64) -> World<S> {
    World::with((1..=n).map(|key| (10 * key, key)))
}

/// Inserts keys one after the other, each with its n-th request refused until it needs fewer.
fn refused<S: Shape>(n: u64, key: u64) {
    for refusal in 1.. {
        let world = filled::<S>(n);
        let (before, shape) = (world.entries(), world.verify());
        world.stage().refuse_chunk(refusal);
        let outcome = world.map().insert(key, 7);
        if world.stage().refusal_pending() {
            assert_eq!(outcome.unwrap(), None);
            return;
        }
        world.stage().refuse_chunk(0);
        match outcome {
            // A refusal after the commit only leaves a separator out; the next writer posts it.
            Ok(old) => assert_eq!((old, world.map().get(key).unwrap()), (None, Some(7))),
            Err(Error::Full { .. }) => {
                assert_eq!(world.entries(), before, "request {refusal} for key {key}");
                assert_eq!(world.verify(), shape, "request {refusal} for key {key}");
                assert_eq!(world.map().insert(key, 7).unwrap(), None);
            }
            Err(other) => panic!("request {refusal}: {other}"),
        }
        works_on(&world, n, key);
        assert_eq!(world.lost_bytes(), 0, "request {refusal} for key {key} leaked");
    }
}

/// After a refusal the map is as good as one that met none.
fn works_on<S: Shape>(world: &World<S>, n: u64, key: u64) {
    let mut model: BTreeMap<u64, u64> = (1..=n).map(|key| (10 * key, key)).collect();
    model.insert(key, 7);
    for (i, key) in (1..=n).map(|i| (i, 10 * i + 5)) {
        assert_eq!(world.map().insert(key, i).unwrap(), model.insert(key, i));
    }
    assert!(world.entries().into_iter().eq(model.clone()));
    let facts = world.verify();
    assert_eq!((facts.entries, facts.repairs.total()), (model.len() as u64, 0));
    for (key, value) in model {
        assert_eq!(world.map().remove(key).unwrap(), Some(value));
    }
}

/// The n-th chunk is refused, for all n, in inserts at every place of small maps.
pub(crate) fn refused_everywhere<S: Shape>() {
    for n in 1..20 {
        for key in (0..=n).map(|slot| 10 * slot + 3) {
            refused::<S>(n, key);
        }
    }
}

/// The pool itself runs out: inserts fail, everything else works, and removes make room again.
pub(crate) fn without_room<S: Shape>(pages: u64) {
    let world = World::<S>::of_pages(pages);
    let map = world.map();
    let mut inserted = 0;
    let failure = loop {
        match map.insert(inserted, !inserted) {
            Ok(old) => assert_eq!(old, None),
            Err(failure) => break failure,
        }
        inserted += 1;
        assert!(inserted < 4_000_000, "a medium of some megabytes runs out before");
    };
    assert!(matches!(failure, Error::Full { .. }), "{failure}");
    assert_eq!(map.get(inserted).unwrap(), None);
    assert_eq!(world.verify().entries, inserted);
    for key in 0..inserted {
        assert_eq!(map.update(key, key).unwrap(), Some(!key));
    }
    for key in 0..inserted {
        assert_eq!(map.remove(key).unwrap(), Some(key));
    }
    // Blocks that are copied need room for the copy first: a few entries less may fit.
    let again = if S::LOCK_FREE { inserted - inserted / 1_000 } else { inserted };
    for key in 0..again {
        let old = map.insert(key, key).unwrap_or_else(|e| panic!("entry {key} of {inserted}: {e}"));
        assert_eq!(old, None, "entry {key} of {inserted}");
    }
    assert_eq!(world.verify().entries, again);
}
