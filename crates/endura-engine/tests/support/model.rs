//! A map against the standard library's `BTreeMap`: every operation, on nodes so small that nearly
//! every insert splits one and nearly every remove merges two.
//!
//! A failing run is cut down to the operations that matter and printed.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use endura_engine::tree::Len;

use crate::support::map::{Bounds, Reference};
use crate::support::ops::{self, Guess, Keys, Op, Walk, scatter};
use crate::support::world::{Shape, World};

/// Operations in all runs of one shape.
const OPERATIONS: u32 = 240_000;
const LONGEST_RUN: u32 = 1_400;

/// A map and what it should hold.
struct Pair<S: Shape> {
    world: World<S>,
    reference: Reference,
    keys: Keys,
    /// Since the pool was last opened after a crash, the count is a lower bound.
    counted: bool,
}

impl<S: Shape> Pair<S> {
    fn new(keys: Keys) -> Self {
        Self { world: World::new(), reference: Reference::default(), keys, counted: true }
    }

    fn step(self, op: &Op) -> Self {
        match op {
            Op::Close => return Self { world: self.world.closed(), ..self },
            Op::Kill => return Self { world: self.world.killed(), counted: false, ..self },
            Op::Verify => self.verify(),
            op => return self.point(op),
        }
        self
    }

    fn point(mut self, op: &Op) -> Self {
        let (keys, map, reference) = (self.keys, self.world.map(), &mut self.reference);
        match *op {
            Op::Insert(pick, value) => {
                let (key, value) = (keys.key(pick), value.of(keys.key(pick)));
                assert_eq!(map.insert(key, value).unwrap(), reference.0.insert(key, value));
            }
            Op::InsertNew(pick, value) => {
                let (key, value) = (keys.key(pick), value.of(keys.key(pick)));
                assert_eq!(map.insert_new(key, value).unwrap(), reference.insert_new(key, value));
            }
            Op::Update(pick, value) => {
                let (key, value) = (keys.key(pick), value.of(keys.key(pick)));
                assert_eq!(map.update(key, value).unwrap(), reference.update(key, value));
            }
            Op::Get(pick) => {
                let key = keys.key(pick);
                assert_eq!(map.get(key).unwrap(), reference.0.get(&key).copied());
            }
            Op::ContainsKey(pick) => {
                let key = keys.key(pick);
                assert_eq!(map.contains_key(key).unwrap(), reference.0.contains_key(&key));
            }
            Op::Remove(pick) => {
                let key = keys.key(pick);
                assert_eq!(map.remove(key).unwrap(), reference.0.remove(&key));
            }
            _ => return self.conditional(op),
        }
        self
    }

    fn conditional(mut self, op: &Op) -> Self {
        let (keys, map, reference) = (self.keys, self.world.map(), &mut self.reference);
        match *op {
            Op::CompareExchange(pick, guess, new) => {
                let key = keys.key(pick);
                let expected = match guess {
                    Guess::Absent => None,
                    Guess::Right => reference.0.get(&key).copied(),
                    Guess::Value(value) => Some(value.of(key)),
                };
                let new = new.map(|value| value.of(key));
                let answer = map.compare_exchange(key, expected, new).unwrap();
                assert_eq!(answer, reference.compare_exchange(key, expected, new));
            }
            Op::Replace(pick, new) => {
                let key = keys.key(pick);
                let new = new.map(|value| value.of(key));
                assert_eq!(map.fetch_update(key, |_| new).unwrap(), reference.set(key, new));
            }
            Op::Increment(pick) => {
                let key = keys.key(pick);
                let one_more = |old: Option<u64>| old.map(|old| old.wrapping_add(1));
                let new = one_more(reference.0.get(&key).copied());
                assert_eq!(map.fetch_update(key, one_more).unwrap(), reference.set(key, new));
            }
            Op::InsertRun(pick, count) => {
                for next in 0..u16::from(count) {
                    let key = keys.key(pick.wrapping_add(next));
                    let value = u64::from(next);
                    assert_eq!(map.insert(key, value).unwrap(), reference.0.insert(key, value));
                }
            }
            Op::RemoveRun(pick, count) => {
                for next in 0..u16::from(count) {
                    let key = keys.key(pick.wrapping_add(next));
                    assert_eq!(map.remove(key).unwrap(), reference.0.remove(&key));
                }
            }
            _ => self.whole(op),
        }
        self
    }

    /// Operations on more than one key.
    fn whole(&mut self, op: &Op) {
        let (keys, map, reference) = (self.keys, self.world.map(), &mut self.reference);
        match *op {
            Op::Range { low, high, walk, limit } => {
                self.range(ops::bounds(keys, low, high), walk, usize::from(limit));
            }
            Op::First => assert_eq!(map.first().unwrap(), reference.range(ALL).next()),
            Op::Last => assert_eq!(map.last().unwrap(), reference.range(ALL).next_back()),
            Op::PopFirst => assert_eq!(map.pop_first().unwrap(), reference.0.pop_first()),
            Op::PopLast => assert_eq!(map.pop_last().unwrap(), reference.0.pop_last()),
            Op::Len => self.len(),
            Op::IsEmpty => assert_eq!(map.is_empty().unwrap(), reference.0.is_empty()),
            Op::Clear => {
                map.clear().unwrap();
                reference.0.clear();
            }
            Op::RemoveRange(low, high) => {
                let bounds = ops::bounds(keys, low, high);
                assert_eq!(map.remove_range(bounds).unwrap(), reference.remove_range(bounds));
            }
            Op::Retain(divisor) => {
                let keep = |key: u64, _| !scatter(key).is_multiple_of(u64::from(divisor) + 1);
                assert_eq!(map.retain(keep).unwrap(), reference.retain(keep));
            }
            Op::GetMany(ref picks) => {
                let keys: Vec<u64> = picks.iter().map(|&pick| keys.key(pick)).collect();
                let expected: Vec<_> =
                    keys.iter().map(|key| reference.0.get(key).copied()).collect();
                assert_eq!(map.get_many(&keys).unwrap(), expected);
            }
            ref op => unreachable!("{op:?} is handled before"),
        }
    }

    fn range(&self, bounds: Bounds, walk: Walk, limit: usize) {
        let (mut real, mut expected) =
            (self.world.map().range(bounds), self.reference.range(bounds));
        for entry in 0..limit {
            let (found, wanted) = if walk.is_from_back(entry) {
                (real.next_back(), expected.next_back())
            } else {
                (real.next(), expected.next())
            };
            assert_eq!(found.transpose().unwrap(), wanted, "entry {entry} of {bounds:?}, {walk:?}");
            if wanted.is_none() {
                let both =
                    (real.next().transpose().unwrap(), real.next_back().transpose().unwrap());
                assert_eq!(both, (None, None), "a range that ended stays at its end");
                break;
            }
        }
    }

    fn len(&self) {
        let entries = self.reference.0.len() as u64;
        match self.world.map().len().unwrap() {
            Len::Exact(counted) => assert_eq!(counted, entries),
            Len::AtLeast(counted) => {
                assert!(!self.counted, "no crash, so the count is exact");
                assert!(counted <= entries, "at least {counted} of {entries}");
            }
        }
    }

    fn verify(&self) {
        assert_eq!(self.world.verify().entries, self.reference.0.len() as u64);
        let expected: Vec<_> = self.reference.range(ALL).collect();
        assert_eq!(self.world.entries(), expected);
    }

    /// Empties the map key by key, which leads through every merge and down to an empty root.
    fn drain(self, from_back: bool) {
        let map = self.world.map();
        let keys: Vec<u64> = self.reference.0.keys().copied().collect();
        let mut remove = |key: &u64| {
            assert_eq!(map.remove(*key).unwrap(), self.reference.0.get(key).copied());
            assert_eq!(map.get(*key).unwrap(), None);
        };
        if from_back {
            keys.iter().rev().for_each(&mut remove)
        } else {
            keys.iter().for_each(remove)
        }
        assert!(map.is_empty().unwrap());
        assert_eq!(self.world.verify().entries, 0);
    }
}

const ALL: Bounds = (std::ops::Bound::Unbounded, std::ops::Bound::Unbounded);

fn run<S: Shape>(keys: Keys, ops: &[Op]) {
    let mut pair = Pair::<S>::new(keys);
    for op in ops {
        pair = pair.step(op);
    }
    pair.verify();
    pair.drain(ops.len().is_multiple_of(2));
}

/// Runs until the operations of one shape are used up.
pub(crate) fn agrees<S: Shape>() {
    let cases = OPERATIONS / (LONGEST_RUN / 2);
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let ops = prop::collection::vec(Op::any(), 0..LONGEST_RUN as usize);
    let outcome = TestRunner::new(config).run(&(Keys::any(), ops), |(keys, ops)| {
        run::<S>(keys, &ops);
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}
