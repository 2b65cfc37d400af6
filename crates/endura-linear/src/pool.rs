//! Several maps as one object: what is done to keys of more than one map at once.
//!
//! Its cost grows with the number of threads, as for a single register. Each state is a copy of all maps, so they should
//! have few entries.

use std::collections::BTreeMap;
use std::fmt;

use crate::history::Asked;

/// The number of a map, and a key.
pub type Place = (usize, u64);

/// The most parts of one operation.
pub const MOST: usize = 8;

/// A short list that is copied like a number.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Few<T>([Option<T>; MOST]);

impl<T: Copy> Few<T> {
    /// The items, in their order.
    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        self.0.iter().copied().flatten()
    }
}

impl<T: fmt::Debug> fmt::Debug for Few<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().flatten()).finish()
    }
}

impl<T: Copy> FromIterator<T> for Few<T> {
    /// # Panics
    ///
    /// If there are more than [`MOST`].
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut few = [None; MOST];
        for (i, item) in items.into_iter().enumerate() {
            few[i] = Some(item);
        }
        Self(few)
    }
}

/// A part of a batch, about one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// The key has this value from now on.
    Put(u64),
    /// It has none.
    Delete,
    /// The batch changes nothing unless the key has this value before it.
    Expect(Option<u64>),
}

/// What a transaction makes of the two values that it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Deal {
    /// Each key gets the other one's value.
    Swap,
    /// The second key gets the value of the first one.
    Copy,
    /// Nothing: it only reads.
    Look,
}

impl Deal {
    /// The values that the keys then get; `None`: the key is only read.
    pub fn outcome(self, [first, second]: [Option<u64>; 2]) -> [Option<Option<u64>>; 2] {
        match self {
            Self::Swap => [Some(second), Some(first)],
            Self::Copy => [None, Some(first)],
            Self::Look => [None, None],
        }
    }
}

/// What is asked of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PoolOp {
    /// The value of a key.
    Get(Place),
    /// That a key has a value from now on.
    Put(Place, u64),
    /// That a key has a value from now on, if it has none.
    PutNew(Place, u64),
    /// That it has none.
    Delete(Place),
    /// That a key has a value from now on; the value before is not told.
    Fill(Place, u64),
    /// The entry of a map with the smallest key.
    First(usize),
    /// That with the largest key.
    Last(usize),
    /// The entry with the smallest key, which is none of the map's from now on.
    PopFirst(usize),
    /// The same of that with the largest key.
    PopLast(usize),
    /// The values of several keys at one moment.
    Read(Few<Place>),
    /// All changes at once, if everything is as expected. Of several changes of a key the last one counts.
    Batch(Few<(Place, Part)>),
    /// That two keys are read and changed in one moment.
    Transact(Deal, [Place; 2]),
}

/// What a call returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PoolAnswer {
    /// The value of the key before.
    Value(Option<u64>),
    /// An entry.
    Entry(Option<(u64, u64)>),
    /// The values of several keys.
    Values(Few<Option<u64>>),
    /// The batch was committed, or this was the first of its parts that expected something else.
    Committed(Result<(), usize>),
    /// Nothing was told.
    Done,
}

type Maps = BTreeMap<Place, u64>;

fn set(maps: &mut Maps, place: Place, value: Option<u64>) -> Option<u64> {
    match value {
        Some(value) => maps.insert(place, value),
        None => maps.remove(&place),
    }
}

/// The entry at an end of a map.
fn end(maps: &Maps, map: usize, smallest: bool) -> Option<(u64, u64)> {
    let mut all = maps.range((map, 0)..=(map, u64::MAX));
    let entry = if smallest { all.next() } else { all.next_back() };
    entry.map(|(&(_, key), &value)| (key, value))
}

fn pop(maps: &mut Maps, map: usize, smallest: bool) -> PoolAnswer {
    let entry = end(maps, map, smallest);
    if let Some((key, _)) = entry {
        maps.remove(&(map, key));
    }
    PoolAnswer::Entry(entry)
}

fn commit(maps: &mut Maps, parts: Few<(Place, Part)>) -> Result<(), usize> {
    let is_met = |(place, part): (Place, Part)| match part {
        Part::Expect(expected) => maps.get(&place).copied() == expected,
        Part::Put(_) | Part::Delete => true,
    };
    if let Some(unmet) = parts.iter().position(|part| !is_met(part)) {
        return Err(unmet);
    }
    for (place, part) in parts.iter() {
        match part {
            Part::Put(value) => _ = maps.insert(place, value),
            Part::Delete => _ = maps.remove(&place),
            Part::Expect(_) => {}
        }
    }
    Ok(())
}

impl Asked for PoolOp {
    type Answer = PoolAnswer;
    type State = Maps;

    fn is_read(self) -> bool {
        match self {
            Self::Get(_) | Self::First(_) | Self::Last(_) | Self::Read(_) => true,
            Self::Transact(deal, _) => deal == Deal::Look,
            Self::Batch(parts) => parts.iter().all(|(_, part)| matches!(part, Part::Expect(_))),
            _ => false,
        }
    }

    fn apply(self, now: &Maps) -> (Maps, PoolAnswer) {
        let mut maps = now.clone();
        let value = |place| now.get(&place).copied();
        let answer = match self {
            Self::Get(place) => PoolAnswer::Value(value(place)),
            Self::Put(place, new) => PoolAnswer::Value(maps.insert(place, new)),
            Self::PutNew(place, new) => {
                maps.entry(place).or_insert(new);
                PoolAnswer::Value(value(place))
            }
            Self::Delete(place) => PoolAnswer::Value(maps.remove(&place)),
            Self::Fill(place, new) => {
                maps.insert(place, new);
                PoolAnswer::Done
            }
            Self::First(map) => PoolAnswer::Entry(end(now, map, true)),
            Self::Last(map) => PoolAnswer::Entry(end(now, map, false)),
            Self::PopFirst(map) => pop(&mut maps, map, true),
            Self::PopLast(map) => pop(&mut maps, map, false),
            Self::Read(places) => PoolAnswer::Values(places.iter().map(value).collect()),
            Self::Batch(parts) => PoolAnswer::Committed(commit(&mut maps, parts)),
            Self::Transact(deal, places) => {
                let seen = places.map(value);
                for (place, new) in places.into_iter().zip(deal.outcome(seen)) {
                    if let Some(new) = new {
                        set(&mut maps, place, new);
                    }
                }
                PoolAnswer::Values(seen.into_iter().collect())
            }
        };
        (maps, answer)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::history::{CallOf, NEVER, after_crash, check};

    const A: Place = (0, 1);
    const B: Place = (1, 1);

    fn at(
        thread: u32,
        called: u64,
        returned: u64,
        op: PoolOp,
        answer: PoolAnswer,
    ) -> CallOf<PoolOp> {
        CallOf { thread, called, returned, op, answer: Some(answer) }
    }

    fn both(value: u64) -> PoolOp {
        PoolOp::Batch([(A, Part::Put(value)), (B, Part::Put(value))].into_iter().collect())
    }

    const COMMITTED: PoolAnswer = PoolAnswer::Committed(Ok(()));

    fn saw(thread: u32, called: u64, place: Place, value: Option<u64>) -> CallOf<PoolOp> {
        at(thread, called, called + 1, PoolOp::Get(place), PoolAnswer::Value(value))
    }

    #[test]
    fn a_batch_is_one_moment() {
        let batch = at(0, 0, 9, both(7), COMMITTED);
        let history = |first, second| [batch, saw(1, 1, A, first), saw(1, 3, B, second)];
        assert!(check(Maps::new(), &history(None, None)).is_ok());
        assert!(check(Maps::new(), &history(None, Some(7))).is_ok());
        assert!(check(Maps::new(), &history(Some(7), Some(7))).is_ok());
        assert!(check(Maps::new(), &history(Some(7), None)).is_err(), "half of it");
    }

    #[test]
    fn a_crash_leaves_a_batch_whole() {
        let batch = CallOf { thread: 0, called: 0, returned: NEVER, op: both(7), answer: None };
        let whole = Maps::from([(A, 7), (B, 7)]);
        let either = BTreeSet::from([Maps::new(), whole.clone()]);
        assert_eq!(after_crash(Maps::new(), &[batch], 9), Ok(either));
        let read = saw(1, 1, B, Some(7));
        assert_eq!(after_crash(Maps::new(), &[batch, read], 9), Ok(BTreeSet::from([whole])));
    }

    #[test]
    fn what_is_expected_is_compared_at_the_moment_of_the_batch() {
        let parts = [(A, Part::Put(2)), (B, Part::Expect(None)), (A, Part::Expect(Some(1)))];
        let batch = |answer| {
            at(0, 0, 9, PoolOp::Batch(parts.into_iter().collect()), PoolAnswer::Committed(answer))
        };
        let start = Maps::from([(A, 1)]);
        let put = at(1, 1, 2, PoolOp::Put(B, 5), PoolAnswer::Value(None));
        assert!(check(start.clone(), &[batch(Ok(())), put]).is_ok(), "before the put");
        assert!(check(start.clone(), &[batch(Err(1)), put]).is_ok(), "behind it");
        assert!(check(start.clone(), &[batch(Err(2)), put]).is_err(), "the first is named");
        assert!(check(start, &[batch(Err(1))]).is_err(), "nobody has put anything");
    }

    #[test]
    fn a_transaction_is_one_moment() {
        let start = Maps::from([(A, 1), (B, 2)]);
        let copy = |thread, from, to, first, second| {
            let values = [Some(first), Some(second)].into_iter().collect();
            at(thread, 0, 9, PoolOp::Transact(Deal::Copy, [from, to]), PoolAnswer::Values(values))
        };
        let one_after_the_other = [copy(0, A, B, 1, 2), copy(1, B, A, 1, 1)];
        let after = BTreeSet::from([Maps::from([(A, 1), (B, 1)])]);
        assert_eq!(check(start.clone(), &one_after_the_other), Ok(after));
        let skewed = [copy(0, A, B, 1, 2), copy(1, B, A, 2, 1)];
        assert!(check(start, &skewed).is_err());
    }

    #[test]
    fn several_keys_are_read_at_one_moment() {
        let read = |first, second| {
            let places = [A, B].into_iter().collect();
            let values = [first, second].into_iter().collect();
            at(1, 1, 8, PoolOp::Read(places), PoolAnswer::Values(values))
        };
        let batches = [at(0, 0, 3, both(1), COMMITTED), at(0, 4, 9, both(2), COMMITTED)];
        let history = |first, second| [batches[0], batches[1], read(first, second)];
        for value in [None, Some(1), Some(2)] {
            assert!(check(Maps::new(), &history(value, value)).is_ok());
        }
        assert!(check(Maps::new(), &history(Some(1), Some(2))).is_err());
    }

    #[test]
    fn ends_are_those_of_one_map() {
        let start = Maps::from([((0, 5), 1), ((1, 3), 2)]);
        let entry = |map| PoolOp::PopFirst(map).apply(&start).1;
        assert_eq!(entry(0), PoolAnswer::Entry(Some((5, 1))));
        assert_eq!(entry(1), PoolAnswer::Entry(Some((3, 2))));
        assert_eq!(entry(2), PoolAnswer::Entry(None));
        let in_front = PoolOp::Batch([((0, 3), Part::Put(9))].into_iter().collect());
        let pop = at(1, 0, 9, PoolOp::PopFirst(0), PoolAnswer::Entry(Some((5, 1))));
        let batch = at(0, 0, 2, in_front, COMMITTED);
        assert!(check(start.clone(), &[batch, pop, saw(2, 3, (0, 5), None)]).is_ok());
        assert!(check(start, &[batch, pop, saw(2, 3, (0, 5), Some(1))]).is_err());
    }
}
