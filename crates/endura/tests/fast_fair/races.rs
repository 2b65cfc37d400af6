//! Two threads, one of them stopped at each of its stores in turn while the other works.
//!
//! What is stopped where decides which of the published races could happen; sweeping over every
//! store of an operation meets each of them, also those that have no name yet.

use std::collections::BTreeMap;

use endura::media::Stop;

use endura::OrderedMap;

use crate::support::stage::{at_every_load, at_every_store, ends, raced, stopped};
use crate::support::world::{Cap3, Cap4, Cap8, MapOf, Shape, World, collect};

type Entries = BTreeMap<u64, u64>;

/// One operation with its effect on the model.
#[derive(Debug, Clone, Copy)]
enum Act {
    Put(u64),
    Remove(u64),
}

impl Act {
    fn on<M: OrderedMap>(self, map: &M) {
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
struct Race {
    name: &'static str,
    keys: Vec<u64>,
    first: Vec<Act>,
    second: Vec<Act>,
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
    fn run<S: Shape>(&self) {
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
        let stands = raced(&world, stop, first, second);
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
fn drain<S: Shape>(world: &World<S>) {
    for (key, value) in world.entries() {
        assert_eq!(world.map().remove(key).unwrap(), Some(value));
        assert_eq!(world.map().get(key).unwrap(), None);
    }
    assert_eq!(world.verify().entries, 0);
}

fn tens(range: std::ops::Range<u64>) -> Vec<u64> {
    range.map(|n| 10 * n).collect()
}

fn put(keys: impl IntoIterator<Item = u64>) -> Vec<Act> {
    keys.into_iter().map(Act::Put).collect()
}

fn remove(keys: impl IntoIterator<Item = u64>) -> Vec<Act> {
    keys.into_iter().map(Act::Remove).collect()
}

/// F8. One thread splits and is preempted before the root grows; another splits the new node.
/// In the published tree its separator is dropped in silence, and the tree degenerates to a list.
#[test]
fn separators_posted_while_the_root_is_about_to_grow_are_not_lost() {
    for n in 8..14 {
        let (name, keys) = ("root growth against splits", tens(1..n));
        let first = put([10 * n + 1, 10 * n + 2, 10 * n + 3]);
        let second = put((1..6).map(|i| 10 * n + 10 + i));
        Race { name, keys, first, second }.run::<Cap3>();
    }
}

/// F9. (1, 5, 9, 15) splits while another thread posts 10. The published writer compares with the
/// first key of the sibling, 15, and lands in the left node, where nobody will look for it.
#[test]
fn a_separator_that_arrives_during_an_inner_split_lands_in_the_right_half() {
    let name = "inner split against separators";
    for at in [1, 3, 6, 9, 11] {
        let keys = tens(1..17);
        let first = put((1..4).map(|i| 10 * at + i));
        let second = put((1..4).map(|i| 10 * at + 10 + i).chain((1..4).map(|i| 10 * at + 20 + i)));
        Race { name, keys, first, second }.run::<Cap4>();
    }
}

/// F15. A merge against a writer that arrives at the dying node by its stale parent, against a
/// split of the node that absorbs it, and against a merge of their neighbour.
#[test]
fn a_merge_loses_nothing_of_what_others_do_around_it() {
    let keys = tens(1..25);
    let first = || remove([110, 120, 130, 100]);
    let others = [
        ("merge against inserts into the dying node", put([111, 121, 131, 101])),
        ("merge against a split on its left", put(81..88)),
        ("merge against a split on its right", put(141..148)),
        ("merge against a merge on its left", remove([80, 90, 70, 60])),
        ("merge against a merge on its right", remove([140, 150, 160, 170])),
    ];
    for (name, second) in others {
        Race { name, keys: keys.clone(), first: first(), second }.run::<Cap4>();
    }
}

/// F15, C20. A poster stalls between "the new node exists" and "its separator is posted", while
/// the node is emptied, merged and freed: the published separator then leads to freed memory.
#[test]
fn a_separator_is_not_posted_for_a_node_that_is_gone() {
    let (name, keys) = ("posting against a merge", tens(1..13));
    let first = put([61, 62, 63]);
    let second = remove([60, 70, 80, 50, 90]);
    Race { name, keys, first, second }.run::<Cap4>();
}

/// F17. The root shrinks in one thread and grows again in another.
#[test]
fn the_root_shrinks_and_grows_at_once() {
    let (name, keys) = ("root shrinkage against inserts", tens(1..10));
    let (first, second) = (remove(tens(1..9)), put((1..12).map(|i| 90 + i)));
    Race { name, keys, first, second }.run::<Cap3>();
}

/// F18. Scans during inserts and removes: every permanent key once, in order, both ways.
#[test]
fn scans_see_every_permanent_key_once_wherever_a_writer_stands() {
    ends("scans while a writer stands", || {
        let permanent = tens(1..25);
        let changes = [put([111, 112, 113, 114, 115]), remove([110, 120, 130, 100])];
        for change in changes {
            at_every_store(|stop| {
                let world = World::<Cap4>::with(permanent.iter().map(|&key| (key, key)));
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

fn reversed(map: &impl OrderedMap) -> Vec<(u64, u64)> {
    let mut entries: Vec<_> = map.range(..).rev().map(|entry| entry.unwrap()).collect();
    entries.reverse();
    entries
}

/// F10. The published reader trusts an 8-bit flag that counts changes of direction: 256 of them
/// while it is preempted are invisible to it, and it misses a key that was there all the time.
#[test]
fn a_reader_that_slept_through_many_changes_misses_no_key() {
    ends("sleeping reader", || {
        for (flips, sought) in [(1, 20), (256, 20), (256, 30), (512, 10), (512, 30), (256, 25)] {
            at_every_load(|stop| {
                let world = World::<Cap8>::adr();
                let map = world.map();
                for key in [10, 20, 30] {
                    assert_eq!(map.insert(key, key).unwrap(), None);
                }
                let expected = (sought % 10 == 0).then_some(sought);
                let read = |map: &_| assert_eq!(OrderedMap::get(map, sought).unwrap(), expected);
                stopped(&world, stop, read, || {
                    for flip in 0..flips {
                        let key = [5, 15, 35][flip % 3];
                        assert_eq!(map.insert(key, key).unwrap(), None);
                        assert_eq!(map.remove(key).unwrap(), Some(key));
                    }
                })
            });
        }
    });
}

/// F11. An inner search of the published tree passes a key that is dead at that moment, and then
/// takes the wrong child because the slot has been reused in between.
#[test]
fn a_search_through_changing_inner_nodes_finds_its_leaf() {
    ends("search through changing inner nodes", || {
        for sought in [10, 70, 80, 90, 160] {
            at_every_load(|stop| {
                let world = World::<Cap3>::with(tens(1..17).into_iter().map(|key| (key, key)));
                let map = world.map();
                let read =
                    |map: &_| assert_eq!(OrderedMap::get(map, sought).unwrap(), Some(sought));
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
#[test]
fn a_scan_stopped_at_each_load_stays_sorted_and_complete() {
    ends("stopped scan", || {
        let permanent = [10, 20, 30, 40, 50, 60];
        for backwards in [false, true] {
            at_every_load(|stop| {
                let world = World::<Cap4>::with(permanent.map(|key| (key, key)));
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
