//! Two threads, one of them stopped at each of its stores in turn while the other works.
//!
//! What is stopped where decides which of the published races could happen; sweeping over every
//! store of an operation meets each of them, also those that have no name yet.

use std::collections::BTreeMap;
use std::sync::Barrier;
use std::thread;

use endura_variants::media::Stop;

use endura_engine::tree::Index;
use endura_variants::handles::WordMap;

use crate::support::stage::{at_every_load, at_every_store, ends, raced, stopped};
use crate::support::world::{MapOf, Shape, World, collect};

type Entries = BTreeMap<u64, u64>;

/// One operation with its effect on the model.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Act {
    Put(u64),
    Remove(u64),
}

impl Act {
    fn on<I: Index>(self, map: &WordMap<I>) {
        match self {
            Self::Put(key) => assert_eq!(map.insert(key, key).unwrap(), None, "{self:?}"),
            Self::Remove(key) => assert_eq!(map.remove(key).unwrap(), Some(key), "{self:?}"),
        }
    }

    fn on_model(self, model: &mut Entries) {
        match self {
            Self::Put(key) => model.insert(key, key),
            Self::Remove(key) => model.remove(&key),
        };
    }
}

/// A map that holds `keys`, and two lists of operations on different keys.
pub(crate) struct Race {
    pub(crate) name: &'static str,
    pub(crate) keys: Vec<u64>,
    pub(crate) first: Vec<Act>,
    pub(crate) second: Vec<Act>,
}

impl Race {
    fn before(&self) -> Entries {
        self.keys.iter().map(|&key| (key, key)).collect()
    }

    fn after(&self) -> Entries {
        let mut model = self.before();
        self.first.iter().chain(&self.second).for_each(|act| act.on_model(&mut model));
        model
    }

    fn world<S: Shape>(&self) -> World<S> {
        World::with(self.keys.iter().map(|&key| (key, key)))
    }

    /// Both lists end, with the result of both, whatever store the first is stopped at; what
    /// neither touches is readable all the time.
    pub(crate) fn run<S: Shape>(&self) {
        ends(self.name, || {
            let stops = at_every_store(|stop| self.run_once::<S>(stop));
            let more = self.first.len() as u64;
            assert!(stops >= more, "{}: {stops} stops", self.name);
        });
    }

    fn run_once<S: Shape>(&self, stop: Stop) -> bool {
        let world = self.world::<S>();
        let untouched = self.untouched();
        let first = |map: &MapOf<S>| self.first.iter().for_each(|act| act.on(map));
        let second = |map: &MapOf<S>| {
            for act in &self.second {
                act.on(map);
                for &key in &untouched {
                    assert_eq!(map.get(key).unwrap(), Some(key), "{} at {stop:?}", self.name);
                }
            }
        };
        let stands = if S::LOCK_FREE {
            // The second must not need the first.
            let stands = stopped(&world, stop, first, || second(world.map()));
            if !stands {
                second(world.map());
            }
            stands
        } else {
            raced(&world, stop, first, second)
        };
        let found: Entries = world.entries().into_iter().collect();
        assert_eq!(found, self.after(), "{} at {stop:?}", self.name);
        for &key in self.after().keys() {
            assert_eq!(world.map().get(key).unwrap(), Some(key), "{} at {stop:?}", self.name);
        }
        let facts = world.verify();
        assert_eq!(facts.repairs.total(), 0, "{} at {stop:?}: {facts:?}", self.name);
        drain(&world);
        stands
    }

    fn untouched(&self) -> Vec<u64> {
        let mut model = self.before();
        for act in self.first.iter().chain(&self.second) {
            let (Act::Put(key) | Act::Remove(key)) = act;
            model.remove(key);
        }
        model.into_keys().collect()
    }
}

/// A structure that is used up to the end shows what a lookup would not.
pub(crate) fn drain<S: Shape>(world: &World<S>) {
    for (key, value) in world.entries() {
        assert_eq!(world.map().remove(key).unwrap(), Some(value));
        assert_eq!(world.map().get(key).unwrap(), None);
    }
    assert_eq!(world.verify().entries, 0);
}

pub(crate) fn tens(range: std::ops::Range<u64>) -> Vec<u64> {
    range.map(|n| 10 * n).collect()
}

pub(crate) fn put(keys: impl IntoIterator<Item = u64>) -> Vec<Act> {
    keys.into_iter().map(Act::Put).collect()
}

pub(crate) fn remove(keys: impl IntoIterator<Item = u64>) -> Vec<Act> {
    keys.into_iter().map(Act::Remove).collect()
}

/// F18. Scans during inserts and removes: every permanent key once, in order, both ways.
pub(crate) fn scans_while_a_writer_stands<S: Shape>() {
    ends("scans while a writer stands", || {
        let permanent = tens(1..25);
        let changes = [put([111, 112, 113, 114, 115]), remove([110, 120, 130, 100])];
        for change in changes {
            at_every_store(|stop| {
                let world = World::<S>::with(permanent.iter().map(|&key| (key, key)));
                let touched = |key: &u64| {
                    change.iter().any(|&act| matches!(act, Act::Remove(k) if k == *key))
                };
                let must: Vec<u64> =
                    permanent.iter().copied().filter(|key| !touched(key)).collect();
                stopped(
                    &world,
                    stop,
                    |map| change.iter().for_each(|act| act.on(map)),
                    || {
                        let scans = [collect(world.map(), ..), reversed(world.map())];
                        for scan in scans {
                            let keys: Vec<u64> = scan.iter().map(|&(key, _)| key).collect();
                            assert!(keys.is_sorted_by(|a, b| a < b), "{keys:?} at {stop:?}");
                            assert!(
                                must.iter().all(|key| keys.contains(key)),
                                "{keys:?} at {stop:?}"
                            );
                            assert!(scan.iter().all(|(key, value)| key == value));
                        }
                        for &key in &must {
                            assert_eq!(world.map().get(key).unwrap(), Some(key), "at {stop:?}");
                        }
                    },
                )
            });
        }
    });
}

fn reversed(map: &WordMap<impl Index>) -> Vec<(u64, u64)> {
    let mut entries: Vec<_> = map.range(..).rev().map(|entry| entry.unwrap()).collect();
    entries.reverse();
    entries
}

/// F11. An inner search of the published tree passes a key that is dead at that moment, and then
/// takes the wrong child because the slot has been reused in between.
pub(crate) fn search_through_changing_inner_nodes<S: Shape>() {
    ends("search through changing inner nodes", || {
        for sought in [10, 70, 80, 90, 160] {
            at_every_load(|stop| {
                let world = World::<S>::with(tens(1..17).into_iter().map(|key| (key, key)));
                let map = world.map();
                let read = |map: &MapOf<S>| assert_eq!(map.get(sought).unwrap(), Some(sought));
                stopped(&world, stop, read, || {
                    for key in (1..160).filter(|key| key % 10 != 0) {
                        assert_eq!(map.insert(key, key).unwrap(), None);
                    }
                    for key in (1..160).filter(|&key| key != sought) {
                        assert_eq!(map.remove(key).unwrap(), Some(key));
                    }
                })
            });
        }
    });
}

/// F11. A scan copies 10, then 5 and 6 are inserted before it, and the published scan copies 6 and
/// 10 again.
pub(crate) fn scan_stopped_at_each_load<S: Shape>() {
    ends("stopped scan", || {
        let permanent = [10, 20, 30, 40, 50, 60];
        for backwards in [false, true] {
            at_every_load(|stop| {
                let world = World::<S>::with(permanent.map(|key| (key, key)));
                let map = world.map();
                let scan = |map: &_| {
                    let entries = if backwards { reversed(map) } else { collect(map, ..) };
                    let keys: Vec<u64> = entries.iter().map(|&(key, _)| key).collect();
                    assert!(keys.is_sorted_by(|a, b| a < b), "{keys:?} at {stop:?}");
                    assert!(permanent.iter().all(|key| keys.contains(key)), "{keys:?} at {stop:?}");
                };
                stopped(&world, stop, scan, || {
                    for key in [5, 6, 15, 16, 55, 56, 65, 66] {
                        map.insert(key, key).unwrap();
                    }
                    for key in [6, 15, 16, 56] {
                        map.remove(key).unwrap();
                    }
                })
            });
        }
    });
}

/// A scan takes a seat inside a pin of epoch `e` when the epoch has moved on to `e + 1`: what it reached may be used
/// again at `e + 2`, for the map may have been dropped in between. By then the seat must not count.
pub(crate) fn seat_counts_from_its_pin<S: Shape>() {
    let world = World::<S>::with(tens(1..3).into_iter().map(|key| (key, key)));
    let (space, index) = (world.space(), world.map().index());
    let mut cursor = <S::Tree as Index>::Cursor::default();
    let others_move_the_epoch = || {
        thread::scope(|scope| {
            scope.spawn(|| (0..3).for_each(|_| _ = space.relieve()));
        });
    };
    let outer = space.pin().unwrap();
    let begun = space.now();
    others_move_the_epoch();
    assert_eq!(space.now(), begun + 1);
    assert_eq!(index.scan_up(&mut cursor, 0).unwrap(), Some((10, 10)));
    // A pin of this epoch lets it move once.
    let (inside, leave) = (Barrier::new(2), Barrier::new(2));
    thread::scope(|scope| {
        scope.spawn(|| {
            let _later = space.pin().unwrap();
            inside.wait();
            leave.wait();
        });
        inside.wait();
        drop(outer);
        others_move_the_epoch();
        let (now, next) = (space.now(), index.next_up(&mut cursor));
        leave.wait();
        assert_eq!((now, next), (begun + 2, None));
    });
    assert_eq!(index.scan_up(&mut cursor, 11).unwrap(), Some((20, 20)));
}
