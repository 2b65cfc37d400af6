//! Two operations at once, one of them stopped before its loads and stores: their answers and what
//! they leave behind are those of one order or the other.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use endura_variants::media::Stop;

use crate::byte_world::ByteContents;
use crate::sessions::World;
use crate::stage::raced;

/// Calls `run` with every stop of a kind until the thread under test no longer comes so far; how
/// many there were. Behind the first 80 every ninth: there a node of 256 children is looked through.
pub(crate) fn at_every(stop: fn(u64) -> Stop, mut run: impl FnMut(Stop) -> bool) -> usize {
    (1..80).chain((80..).step_by(9)).take_while(|&n| run(stop(n))).count()
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Op {
    Insert(&'static str),
    InsertNew(&'static str),
    Update(&'static str),
    Remove(&'static str),
    Get(&'static str),
    /// All entries, shown.
    Scan,
}

type Model = BTreeMap<String, String>;

impl Op {
    fn apply<C: ByteContents>(self, map: &C::Map, value: &str) -> Option<String> {
        let text = |old: Option<Vec<u8>>| old.map(|bytes| String::from_utf8(bytes).unwrap());
        match self {
            Self::Insert(key) => text(map.insert(key, value).unwrap()),
            Self::InsertNew(key) => map.insert_new(key, value).unwrap().then(String::new),
            Self::Update(key) => text(map.update(key, value).unwrap()),
            Self::Remove(key) => text(map.remove(key).unwrap()),
            Self::Get(key) => text(map.get(key).unwrap()),
            Self::Scan => {
                let mut seen = String::new();
                map.range_with::<&[u8]>(.., |key, value| {
                    for bytes in [key, value] {
                        seen.extend(text(Some(bytes.to_vec())));
                        seen.push(' ');
                    }
                    ControlFlow::Continue(())
                })
                .unwrap();
                Some(seen)
            }
        }
    }

    fn specify(self, model: &mut Model, value: &str) -> Option<String> {
        match self {
            Self::Insert(key) => model.insert(key.into(), value.into()),
            Self::InsertNew(key) if model.contains_key(key) => None,
            Self::InsertNew(key) => {
                model.insert(key.into(), value.into());
                Some(String::new())
            }
            Self::Update(key) => model.get_mut(key).map(|old| std::mem::replace(old, value.into())),
            Self::Remove(key) => model.remove(key),
            Self::Get(key) => model.get(key).cloned(),
            Self::Scan => {
                Some(model.iter().map(|(key, value)| format!("{key} {value} ")).collect())
            }
        }
    }
}

type Outcome = (Vec<Option<String>>, Vec<Option<String>>, Model);

/// What both answer, and what is left, if `one` takes effect before number `at` of the `other` ones.
fn specify(start: &Model, one: Op, other: &[Op], at: usize) -> Outcome {
    let mut model = start.clone();
    let (before, after) = other.split_at(at);
    let mut theirs: Vec<_> = before.iter().map(|op| op.specify(&mut model, "other")).collect();
    let ours = vec![one.specify(&mut model, "one")];
    theirs.extend(after.iter().map(|op| op.specify(&mut model, "other")));
    (ours, theirs, model)
}

/// What a race begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    Written,
    /// Arrays remember the order of their keys.
    Scanned,
    /// Arrays are not ready.
    Killed,
}

/// As [`race_from`], from a map that was written, or whose writer was killed.
pub(crate) fn race<C: ByteContents>(restart: bool, keys: &[&str], one: Op, other: &[Op]) {
    race_from::<C>(if restart { Start::Killed } else { Start::Written }, keys, one, other);
}

/// Runs `one` stopped everywhere with `other` in between.
pub(crate) fn race_from<C: ByteContents>(start: Start, keys: &[&str], one: Op, other: &[Op]) {
    let restart = start == Start::Killed;
    let model: Model = keys.iter().map(|&key| (key.to_owned(), key.to_owned())).collect();
    let allowed: Vec<_> = (0..=other.len()).map(|at| specify(&model, one, other, at)).collect();
    let (mut stops, mut runs) = (0, 0);
    for stop in [Stop::at_load as fn(u64) -> Stop, Stop::at_store] {
        stops += at_every(stop, |stop| {
            let world = World::<C>::adr().with(keys);
            let world = if restart { world.killed() } else { world };
            if start == Start::Scanned {
                assert_eq!(world.entries().len(), keys.len());
            }
            let (found, stood) = both(&world, stop, one, other);
            assert!(
                allowed.contains(&found),
                "{stop:?}, {one:?} and {other:?} on {keys:?}: {found:?}"
            );
            let check = world.verify();
            assert_eq!(check.entries, found.2.len() as u64);
            if !restart {
                assert_eq!((check.repairs.dirty, check.repairs.barren), (0, 0), "{check:?}");
            }
            runs += 1;
            if !restart && runs % 32 == 0 {
                world.verify_tidy();
            }
            stood
        });
    }
    assert!(stops > 4, "the operation was stopped");
}

/// One run of [`race`]: the answers of both, what they leave, and whether the first was stopped.
fn both<C: ByteContents>(world: &World<C>, stop: Stop, one: Op, other: &[Op]) -> (Outcome, bool) {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let one = |map: &C::Map| ours.push(one.apply::<C>(map, "one"));
    let other = |map: &C::Map| theirs.extend(other.iter().map(|op| op.apply::<C>(map, "other")));
    let stood = raced(world, stop, one, other);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let entries = world.entries().into_iter().map(|(key, value)| (text(key), text(value)));
    ((ours, theirs, entries.collect()), stood)
}
