//! ROART trees as maps of numbers, each of which stands for a byte string, in the same order: what is
//! made for maps of numbers (schedules of several threads, above all) runs on them as well.

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use endura_engine::space::{LeakWalk, Space};
use endura_engine::tree::roart::{Cursor, Techniques, Tree};
use endura_engine::tree::{ByteChange, ByteIndex, Bytes, Change, Entry, Index, Len, Popped};

use super::numbers::{NumberTree, Numbers};
use super::roart;
use crate::sim::Sim;

/// What 10, 20, 30 and so on stand for: keys that fill arrays of four, end at nodes, have long prefixes
/// in common, and fan out. The last seven lie below a node that does not remember its whole prefix, one of
/// them at that node, three in an array, and one leaves the prefix.
pub const SPELLINGS: [&str; 21] = [
    "",
    "a",
    "a1",
    "a2",
    "a3",
    "a4",
    "a5",
    "ab0123456789c",
    "ab0123456789d",
    "ab0123x",
    "b",
    "c1",
    "c2",
    "d",
    "e0123456789",
    "e0123456789a",
    "e0123456789a1",
    "e0123456789a2",
    "e0123456789b",
    "e0123456789c",
    "e01x",
];

/// What a number stands for.
fn spell(number: u64) -> Option<&'static [u8]> {
    let i = usize::try_from(number / 10).ok()?.checked_sub(1)?;
    number.is_multiple_of(10).then(|| SPELLINGS.get(i).map(|text| text.as_bytes())).flatten()
}

/// The number of a byte string.
fn number(key: Bytes<'_>) -> Option<u64> {
    SPELLINGS.iter().position(|text| key == *text.as_bytes()).map(|i| 10 * (i as u64 + 1))
}

/// The value of eight bytes.
fn value(bytes: Bytes<'_>) -> u64 {
    let mut word = [0; 8];
    bytes.copy_to(0, &mut word);
    u64::from_le_bytes(word)
}

/// A ROART tree, the keys of whose map are numbers.
pub struct Spelled<T>(pub Tree<Sim, T>);

/// A number that stands for nothing.
const STRAY: endura_engine::Error = endura_engine::Error::BadName;

impl<T: Techniques> Index for Spelled<T> {
    type Cursor = Cursor;

    fn get(&self, key: u64) -> endura_engine::Result<Option<u64>> {
        self.0.get_with(spell(key).ok_or(STRAY)?, value)
    }

    fn get_many(&self, keys: &[u64]) -> endura_engine::Result<Vec<Option<u64>>> {
        let keys: Option<Vec<&[u8]>> = keys.iter().map(|&key| spell(key)).collect();
        let word = |value: Vec<u8>| value.try_into().map_or(u64::MAX, u64::from_le_bytes);
        let values = self.0.get_many(&keys.ok_or(STRAY)?)?;
        Ok(values.into_iter().map(|value| value.map(word)).collect())
    }

    fn modify(
        &self,
        key: u64,
        mut decide: impl FnMut(Option<u64>) -> Change,
    ) -> endura_engine::Result<Option<u64>> {
        let mut old = None;
        self.0.modify(spell(key).ok_or(STRAY)?, |present| {
            old = present.map(value);
            match decide(old) {
                Change::Keep => ByteChange::Keep,
                Change::Put(value) => ByteChange::Put(value.to_le_bytes().to_vec().into()),
                Change::Remove => ByteChange::Remove,
            }
        })?;
        Ok(old)
    }

    fn scan_up(&self, cursor: &mut Cursor, key: u64) -> endura_engine::Result<Option<(u64, u64)>> {
        let Some(from) = spell(key.max(1).next_multiple_of(10)) else { return Ok(None) };
        self.step(cursor, (Bound::Included(from), Bound::Unbounded), true)
    }

    fn scan_down(
        &self,
        cursor: &mut Cursor,
        key: u64,
    ) -> endura_engine::Result<Option<(u64, u64)>> {
        let Some(to) = spell((key / 10 * 10).min(10 * SPELLINGS.len() as u64)) else {
            return Ok(None);
        };
        self.step(cursor, (Bound::Unbounded, Bound::Included(to)), false)
    }

    fn first(&self) -> endura_engine::Result<Option<(u64, u64)>> {
        self.0.first(|key, bytes| (number(key).unwrap_or(1), value(bytes)))
    }

    fn last(&self) -> endura_engine::Result<Option<(u64, u64)>> {
        self.0.last(|key, bytes| (number(key).unwrap_or(1), value(bytes)))
    }

    fn pop(&self, smallest: bool, (key, value): (u64, u64)) -> endura_engine::Result<Popped> {
        self.0.pop(smallest, spell(key).ok_or(STRAY)?, &value.to_le_bytes())
    }

    fn len(&self) -> endura_engine::Result<Len> {
        self.0.len()
    }

    fn exact_len(&self) -> endura_engine::Result<u64> {
        self.0.exact_len()
    }
}

impl<T: Techniques> Spelled<T> {
    /// The next entry of a scan whose caller takes them one by one.
    fn step(
        &self,
        cursor: &mut Cursor,
        keys: (Bound<&[u8]>, Bound<&[u8]>),
        upwards: bool,
    ) -> endura_engine::Result<Option<(u64, u64)>> {
        let mut entry = Entry::default();
        let found = self.0.next_entry(cursor, keys, upwards, true, &mut entry)?;
        let value = |entry: &Entry| entry.value().try_into().map_or(u64::MAX, u64::from_le_bytes);
        let key = |key: &[u8]| SPELLINGS.iter().position(|text| key == text.as_bytes());
        let number = |i: usize| 10 * (i as u64 + 1);
        Ok(found.then(|| (key(entry.key()).map_or(1, number), value(&entry))))
    }
}

/// A map of numbers in a ROART tree.
pub type Spellings<T> = Numbers<Spelled<T>>;

impl<T> Spellings<T> {
    /// The map of the first `count` of [`SPELLINGS`].
    pub fn first(count: u64) -> Self {
        Self::about((1..=count).map(|i| 10 * i).collect())
    }
}

impl<T: Techniques> NumberTree for Spelled<T> {
    const STRUCTURAL: &'static [&'static str] = roart::STRUCTURAL;

    const STEPS: &'static [&'static str] = &[
        "array.replaced",
        "array.shrunk",
        "find.step",
        "lock.array",
        "lock.node",
        "node.grown",
        "node.shrunk",
        "prefix.split",
        "prune",
        "publish.dirty",
        "publish.durable",
        "publish.word",
        "put.exact",
        "ready.array",
        "ready.node",
        "settle",
        "split",
        "unlink.word",
        "write.found",
        // Behind the others, which tables call by number.
        "lookup.step",
    ];

    /// Of the size of records, and of the smallest nodes and arrays.
    const CHUNKS: &'static [u64] = &[32, 64];

    const NOTES_AHEAD: bool = true;

    fn open(space: &Arc<Space<Sim>>) -> endura_engine::Result<Self> {
        Tree::open(space, "t").map(Self)
    }

    fn walks(&self) -> Vec<Box<dyn LeakWalk<Sim>>> {
        vec![self.0.marking()]
    }

    fn check(&self, visit: &mut dyn FnMut(u64, u64)) -> endura_engine::Result<u64> {
        Ok(self.0.check(visit)?.entries)
    }

    fn is_volatile(at: u64, line: &[u64; 8]) -> bool {
        roart::is_volatile(at, line)
    }

    fn count(&self) -> endura_engine::Result<()> {
        self.0.count_all()
    }

    fn show(
        &self,
        up: bool,
        from: u64,
        mut see: impl FnMut(u64, u64),
    ) -> Option<endura_engine::Result<()>> {
        let visit = |key: Bytes<'_>, bytes: Bytes<'_>| {
            see(number(key).unwrap_or(1), value(bytes));
            ControlFlow::Continue(())
        };
        let (cursor, last) = (&mut Cursor::default(), 10 * SPELLINGS.len() as u64);
        let key = if up { from.max(1).next_multiple_of(10) } else { (from / 10 * 10).min(last) };
        Some(match spell(key) {
            None => Ok(()),
            Some(key) if up => {
                self.0.scan_up(cursor, (Bound::Included(key), Bound::Unbounded), visit)
            }
            Some(key) => self.0.scan_down(cursor, (Bound::Unbounded, Bound::Included(key)), visit),
        })
    }
}
