//! A whole map that is sorted: what is asked of its ends is no matter of one key.

use std::collections::BTreeMap;

use crate::history::Asked;

/// What is asked of a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MapOp {
    /// The value of a key.
    Get(u64),
    /// That a key has a value from now on.
    Insert(u64, u64),
    /// That it has none.
    Remove(u64),
    /// The entry with the smallest key.
    First,
    /// That with the largest key.
    Last,
    /// The entry with the smallest key, which is none of the map's from now on.
    PopFirst,
    /// The same of that with the largest key.
    PopLast,
}

/// What a call returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MapAnswer {
    /// The value of the key before.
    Value(Option<u64>),
    /// An entry.
    Entry(Option<(u64, u64)>),
}

impl Asked for MapOp {
    type Answer = MapAnswer;
    type State = BTreeMap<u64, u64>;

    fn is_read(self) -> bool {
        matches!(self, Self::Get(_) | Self::First | Self::Last)
    }

    fn apply(self, now: &Self::State) -> (Self::State, MapAnswer) {
        let mut map = now.clone();
        let owned = |entry: Option<(&u64, &u64)>| entry.map(|(&key, &value)| (key, value));
        let answer = match self {
            Self::Get(key) => MapAnswer::Value(map.get(&key).copied()),
            Self::Insert(key, value) => MapAnswer::Value(map.insert(key, value)),
            Self::Remove(key) => MapAnswer::Value(map.remove(&key)),
            Self::First => MapAnswer::Entry(owned(map.first_key_value())),
            Self::Last => MapAnswer::Entry(owned(map.last_key_value())),
            Self::PopFirst => MapAnswer::Entry(map.pop_first()),
            Self::PopLast => MapAnswer::Entry(map.pop_last()),
        };
        (map, answer)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::history::{CallOf, check};

    fn at(thread: u32, called: u64, returned: u64, op: MapOp, answer: MapAnswer) -> CallOf<MapOp> {
        CallOf { thread, called, returned, op, answer: Some(answer) }
    }

    #[test]
    fn a_pop_is_one_moment() {
        let before = BTreeMap::from([(5, 0)]);
        let pop = at(0, 0, 9, MapOp::PopFirst, MapAnswer::Entry(Some((5, 0))));
        let insert = at(1, 1, 2, MapOp::Insert(3, 0), MapAnswer::Value(None));
        let after = BTreeSet::from([BTreeMap::from([(3, 0)])]);
        assert_eq!(check(before.clone(), &[pop, insert]), Ok(after));
        let look = |value| at(1, 3, 4, MapOp::Get(5), MapAnswer::Value(value));
        assert!(check(before.clone(), &[pop, insert, look(None)]).is_ok());
        assert!(check(before.clone(), &[pop, insert, look(Some(0))]).is_err());
        let last = at(0, 0, 9, MapOp::PopLast, MapAnswer::Entry(Some((5, 0))));
        assert!(check(before, &[last, insert, look(Some(0))]).is_ok());
    }

    #[test]
    fn what_an_end_was_it_was_at_one_moment() {
        let before = BTreeMap::from([(5, 0)]);
        let look = at(0, 0, 9, MapOp::First, MapAnswer::Entry(Some((7, 0))));
        let put = at(1, 1, 2, MapOp::Insert(7, 0), MapAnswer::Value(None));
        let take = |called| at(1, called, called + 1, MapOp::Remove(5), MapAnswer::Value(Some(0)));
        assert!(check(before.clone(), &[look, put, take(3)]).is_ok());
        assert!(check(before, &[look, put, take(10)]).is_err());
    }
}
