//! A map of byte strings against the standard library's `BTreeMap`: every operation.

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use endura_engine::tree::{ByteIndex, Bytes, Len};
use endura_variants::handles::ByteMap;

use crate::byte_world::ByteContents;
use crate::sessions::World;

type Reference = BTreeMap<Vec<u8>, Vec<u8>>;
type Bounds = (Bound<Vec<u8>>, Bound<Vec<u8>>);

#[derive(Debug, Clone)]
enum Op {
    Insert(Vec<u8>, Vec<u8>),
    InsertFrom(Vec<u8>, Vec<u8>),
    InsertNew(Vec<u8>, Vec<u8>),
    Update(Vec<u8>, Vec<u8>),
    Remove(Vec<u8>),
    Get(Vec<u8>),
    GetMany(Vec<Vec<u8>>),
    Exchange(Vec<u8>, Guess, Option<Vec<u8>>),
    FetchUpdate(Vec<u8>),
    /// A range, and from which end each entry is taken.
    Range(Bounds, u32),
    Prefix(Vec<u8>, u32),
    Ends,
    PopFirst,
    PopLast,
    RemoveRange(Bounds),
    Retain(u8),
    Clear,
    Close,
    Kill,
    Verify,
}

/// What a compare-and-exchange expects.
#[derive(Debug, Clone)]
enum Guess {
    Right,
    Absent,
    Other(Vec<u8>),
}

fn value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        8 => prop::collection::vec(any::<u8>(), 0..20),
        1 => (any::<u8>(), 0..3_000_usize).prop_map(|(byte, n)| vec![byte; n]),
    ]
}

fn bounds<C: ByteContents>() -> impl Strategy<Value = Bounds> {
    let bound = || {
        prop_oneof![
            3 => C::key().prop_map(Bound::Included),
            3 => C::key().prop_map(Bound::Excluded),
            1 => Just(Bound::Unbounded),
        ]
    };
    (bound(), bound())
}

fn op<C: ByteContents>() -> impl Strategy<Value = Op> {
    let guess = prop_oneof![3 => Just(Guess::Right), 1 => Just(Guess::Absent), 1 => value().prop_map(Guess::Other)];
    prop_oneof![
        220 => (C::key(), value()).prop_map(|(k, v)| Op::Insert(k, v)),
        10 => (C::key(), value()).prop_map(|(k, v)| Op::InsertFrom(k, v)),
        20 => (C::key(), value()).prop_map(|(k, v)| Op::InsertNew(k, v)),
        20 => (C::key(), value()).prop_map(|(k, v)| Op::Update(k, v)),
        150 => C::key().prop_map(Op::Remove),
        30 => C::key().prop_map(Op::Get),
        6 => prop::collection::vec(C::key(), 0..40).prop_map(Op::GetMany),
        20 => (C::key(), guess, prop::option::of(value())).prop_map(|(k, g, n)| Op::Exchange(k, g, n)),
        10 => C::key().prop_map(Op::FetchUpdate),
        12 => (bounds::<C>(), any::<u32>()).prop_map(|(b, w)| Op::Range(b, w)),
        6 => (C::key(), any::<u32>()).prop_map(|(k, w)| Op::Prefix(k, w)),
        6 => Just(Op::Ends),
        8 => Just(Op::PopFirst),
        8 => Just(Op::PopLast),
        3 => bounds::<C>().prop_map(Op::RemoveRange),
        1 => any::<u8>().prop_map(Op::Retain),
        1 => Just(Op::Clear),
        2 => Just(Op::Close),
        2 => Just(Op::Kill),
        2 => Just(Op::Verify),
    ]
}

fn is_inside((from, to): &Bounds, key: &Vec<u8>) -> bool {
    let after = match from {
        Bound::Included(from) => key >= from,
        Bound::Excluded(from) => key > from,
        Bound::Unbounded => true,
    };
    after
        && match to {
            Bound::Included(to) => key <= to,
            Bound::Excluded(to) => key < to,
            Bound::Unbounded => true,
        }
}

/// Takes entries from both ends, as the bits of `walk` say.
fn both_ends<E>(entries: impl DoubleEndedIterator<Item = E>, walk: u32) -> (Vec<E>, Vec<E>) {
    let (mut entries, mut front, mut back) = (entries, Vec::new(), Vec::new());
    for step in 0.. {
        let from_front = walk.rotate_right(step) & 1 == 0;
        match if from_front { entries.next() } else { entries.next_back() } {
            Some(entry) if from_front => front.push(entry),
            Some(entry) => back.push(entry),
            None => break,
        }
    }
    assert!(entries.next().is_none() && entries.next_back().is_none());
    (front, back)
}

struct Pair<C: ByteContents> {
    world: World<C>,
    reference: Reference,
    /// Whether no crash has left chunks behind.
    whole: bool,
}

impl<C: ByteContents> Pair<C> {
    fn step(self, op: &Op) -> Self {
        match op {
            Op::Close => return Self { world: self.world.closed(), ..self },
            Op::Kill => return Self { world: self.world.killed(), whole: false, ..self },
            Op::Verify => self.verify(),
            op => return self.point(op),
        }
        self
    }

    fn verify(&self) {
        let (check, _) = self.world.verify_owners();
        assert_eq!((check.repairs.dirty, check.repairs.barren), (0, 0));
        assert_eq!(check.entries, self.reference.len() as u64);
        if self.whole {
            self.world.verify_tidy();
        }
        match self.world.map().len().unwrap() {
            Len::Exact(len) => assert_eq!(len, check.entries),
            Len::AtLeast(len) => assert!(len <= check.entries),
        }
        let expected: Vec<_> = self.reference.clone().into_iter().collect();
        assert_eq!(self.world.entries(), expected);
    }

    fn point(mut self, op: &Op) -> Self {
        let (map, reference) = (self.world.map(), &mut self.reference);
        match op.clone() {
            Op::Insert(key, value) => {
                assert_eq!(map.insert(&key, &value).unwrap(), reference.insert(key, value));
            }
            Op::InsertFrom(key, value) => {
                map.insert_from(&key, value.len(), |out| {
                    value.chunks(7).try_for_each(|piece| out.write_all(piece)).unwrap();
                    Ok(())
                })
                .unwrap();
                reference.insert(key, value);
            }
            Op::InsertNew(key, value) => {
                let is_new = !reference.contains_key(&key);
                assert_eq!(map.insert_new(&key, &value).unwrap(), is_new);
                reference.entry(key).or_insert(value);
            }
            Op::Update(key, value) => {
                let old = reference.get_mut(&key).map(|v| std::mem::replace(v, value.clone()));
                assert_eq!(map.update(&key, &value).unwrap(), old);
            }
            Op::Remove(key) => assert_eq!(map.remove(&key).unwrap(), reference.remove(&key)),
            Op::Get(key) => {
                let expected = reference.get(&key);
                assert_eq!(map.get(&key).unwrap().as_ref(), expected);
                assert_eq!(map.contains_key(&key).unwrap(), expected.is_some());
                let is_same = |value: Bytes<'_>| value == expected.unwrap()[..];
                assert_ne!(map.get_with(&key, is_same).unwrap(), Some(false));
            }
            op => self.conditional(op),
        }
        self
    }

    fn conditional(&mut self, op: Op) {
        let (map, reference) = (self.world.map(), &mut self.reference);
        match op {
            Op::Exchange(key, guess, new) => {
                let found = reference.get(&key).cloned();
                let expected = match guess {
                    Guess::Right => found.clone(),
                    Guess::Absent => None,
                    Guess::Other(value) => Some(value),
                };
                let answer = map.compare_exchange(&key, expected.as_deref(), new.as_deref());
                let is_right = found == expected;
                assert_eq!(answer.unwrap(), if is_right { Ok(()) } else { Err(found) });
                match new {
                    Some(value) if is_right => _ = reference.insert(key, value),
                    None if is_right => _ = reference.remove(&key),
                    _ => {}
                }
            }
            Op::FetchUpdate(key) => {
                let next = |old: Option<&[u8]>| match old {
                    Some(old) if old.len() > 30 => None,
                    Some(old) => Some([old, b"+"].concat()),
                    None => Some(Vec::new()),
                };
                let old = reference.remove(&key);
                assert_eq!(map.fetch_update(&key, next).unwrap(), old);
                reference.extend(next(old.as_deref()).map(|value| (key, value)));
            }
            op => self.many(op),
        }
    }

    fn many(&mut self, op: Op) {
        let (map, reference) = (self.world.map(), &mut self.reference);
        let entry = |(key, value): (&Vec<u8>, &Vec<u8>)| (key.clone(), value.clone());
        match op {
            Op::Range(bounds, walk) => {
                let expected =
                    reference.iter().filter(|(key, _)| is_inside(&bounds, key)).map(entry);
                let found = map.range(bounds.clone()).map(|entry| entry.unwrap());
                let seen: Vec<_> = { &expected }.clone().collect();
                assert_eq!(both_ends(found, walk), both_ends(expected, walk));
                shown(map, &bounds, &seen, walk as usize % (seen.len() + 1));
            }
            Op::Prefix(prefix, walk) => {
                let expected = reference.iter().filter(|(key, _)| key.starts_with(&prefix));
                let found = map.prefix(&prefix).map(|entry| entry.unwrap());
                assert_eq!(both_ends(found, walk), both_ends(expected.map(entry), walk));
            }
            Op::GetMany(keys) => {
                let expected: Vec<_> = keys.iter().map(|key| reference.get(key).cloned()).collect();
                assert_eq!(map.get_many(&keys).unwrap(), expected);
            }
            Op::Ends => {
                assert_eq!(map.first().unwrap(), reference.first_key_value().map(entry));
                assert_eq!(map.last().unwrap(), reference.last_key_value().map(entry));
                assert_eq!(map.is_empty().unwrap(), reference.is_empty());
            }
            Op::PopFirst => assert_eq!(map.pop_first().unwrap(), reference.pop_first()),
            Op::PopLast => assert_eq!(map.pop_last().unwrap(), reference.pop_last()),
            Op::RemoveRange(bounds) => {
                let before = reference.len();
                reference.retain(|key, _| !is_inside(&bounds, key));
                let removed = (before - reference.len()) as u64;
                assert_eq!(map.remove_range(bounds).unwrap(), removed);
            }
            Op::Retain(limit) => {
                let keep = |key: &[u8], _: &[u8]| key.last().is_none_or(|&byte| byte < limit);
                let before = reference.len();
                reference.retain(|key, value| keep(key, value));
                assert_eq!(map.retain(keep).unwrap(), (before - reference.len()) as u64);
            }
            Op::Clear => {
                map.clear().unwrap();
                reference.clear();
            }
            op => unreachable!("{op:?}"),
        }
    }
}

/// Compares what is shown of a range, whole and up to entry `stop`, in both directions.
fn shown<I: ByteIndex>(
    map: &ByteMap<I>,
    bounds: &(Bound<Vec<u8>>, Bound<Vec<u8>>),
    expected: &[(Vec<u8>, Vec<u8>)],
    stop: usize,
) {
    for most in [stop.max(1), usize::MAX] {
        let (mut up, mut down) = (Vec::new(), Vec::new());
        let note = |seen: &mut Vec<_>, key: Bytes<'_>, value: Bytes<'_>| {
            seen.push((key.to_vec(), value.to_vec()));
            if seen.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        map.range_with(bounds.clone(), |key, value| note(&mut up, key, value)).unwrap();
        map.range_rev_with(bounds.clone(), |key, value| note(&mut down, key, value)).unwrap();
        let most = most.min(expected.len());
        assert_eq!(up, expected[..most]);
        down.reverse();
        assert_eq!(down, expected[expected.len() - most..]);
    }
}

pub(crate) fn run<C: ByteContents>(runs: u32, longest: usize, world: fn() -> World<C>) {
    let config = Config { cases: runs, failure_persistence: None, ..Config::default() };
    let ops = prop::collection::vec(op::<C>(), 1..longest);
    TestRunner::new(config)
        .run(&ops, |ops| {
            let mut pair = Pair { world: world(), reference: Reference::new(), whole: true };
            for op in &ops {
                pair = pair.step(op);
            }
            pair.verify();
            pair.world.map().clear().unwrap();
            if pair.whole {
                let check = pair.world.verify_tidy();
                assert_eq!(check.entries, 0);
                let is_bare = |bare| bare == (check.nodes, check.arrays);
                assert!(C::bare().is_none_or(is_bare), "{check:?}");
            }
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
}
