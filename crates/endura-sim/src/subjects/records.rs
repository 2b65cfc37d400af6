//! Trees with records, explored as maps of numbers: a number is spelled as a key, and a value is written in a record, in one
//! of a few lengths.

use std::borrow::Cow;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use endura_engine::Result;
use endura_engine::space::{LeakWalk, Space};
use endura_engine::tree::fast_fair::{self, LineBinary};
use endura_engine::tree::record_tree::{Cursor, RecordTree};
use endura_engine::tree::{
    ByteChange, ByteIndex, Bytes, Change, Entry, Index, Len, Popped, fast_fair_bytes, nbtree, roart,
};

use super::numbers::{NumberTree, Numbers};
use crate::sim::Sim;

/// A FAST & FAIR tree with records, of inner nodes of `I` words and leaves of `L`.
pub type FairRecords<const I: usize, const L: usize> =
    Numbers<WithRecords<RecordTree<fast_fair::Tree<Sim, I, L, LineBinary>>>>;

/// An NBTree with records, of blocks of `W` words under inner nodes of `F` children.
pub type NbRecords<const W: usize, const F: usize> =
    Numbers<WithRecords<RecordTree<nbtree::Tree<Sim, W, F>>>>;

/// A FAST & FAIR tree of byte strings, of inner nodes of `I` words and leaves of `L`.
pub type FairBytes<const I: usize, const L: usize, K> =
    Numbers<WithRecords<fast_fair_bytes::Tree<Sim, I, L, K>>>;

/// An NBTree of byte strings, of blocks of `W` words under inner nodes of `F` children.
pub type NbBytes<const W: usize, const F: usize, K> =
    Numbers<WithRecords<nbtree::ByteTree<Sim, W, F, K>>>;

/// A ROART tree with keys that share most of their bytes.
pub type RoartBytes<T> = Numbers<WithRecords<roart::Tree<Sim, T>>>;

/// A tree of byte strings that can be explored as a map of numbers.
pub trait Spelling: ByteIndex + Sized {
    /// As in [`NumberTree`]; so for the others.
    const STRUCTURAL: &'static [&'static str];
    #[allow(missing_docs, reason = "as above")]
    const STEPS: &'static [&'static str];
    #[allow(missing_docs, reason = "as above")]
    const CHUNKS: &'static [u64];
    #[allow(missing_docs, reason = "as above")]
    const NOTES_AHEAD: bool = false;
    #[allow(missing_docs, reason = "as above")]
    const LEAVES_NOTHING: bool = true;

    /// The key for a number. Keys are ordered as their numbers are.
    fn spell(number: u64) -> Vec<u8>;

    /// The number of a key.
    fn number(key: &[u8]) -> u64;

    /// As in [`NumberTree`].
    ///
    /// # Errors
    ///
    /// What the pool says; so for the others.
    fn open(space: &Arc<Space<Sim>>) -> Result<Self>;

    /// As in [`NumberTree`].
    fn walks(&self) -> Vec<Box<dyn LeakWalk<Sim>>>;

    /// As in [`NumberTree`].
    fn check(&self, visit: &mut dyn FnMut(u64, u64)) -> Result<u64>;

    /// As in [`NumberTree`].
    fn is_volatile(at: u64, line: &[u64; 8]) -> bool;

    /// As in [`NumberTree`].
    fn count(&self) -> Result<()>;

    /// As in [`NumberTree`].
    fn counted(&self) -> Result<Len>;
}

/// A tree with records, as an index of numbers.
pub struct WithRecords<T>(T);

/// The value of a record: the number, and as many zeros behind it as its last digits say.
fn written(number: u64) -> Vec<u8> {
    let mut bytes = number.to_le_bytes().to_vec();
    bytes.resize(8 + 20 * (number % 3) as usize, 0);
    bytes
}

fn read(value: Bytes<'_>) -> u64 {
    value.first_chunk().map_or(u64::MAX, u64::from_le_bytes)
}

fn number_of(value: &[u8]) -> u64 {
    value.first_chunk().map_or(u64::MAX, |bytes| u64::from_le_bytes(*bytes))
}

impl<T: Spelling> WithRecords<T> {
    fn change(
        &self,
        key: u64,
        decide: &mut dyn FnMut(Option<u64>) -> Change,
        run: impl FnOnce(
            &T,
            &[u8],
            &mut dyn FnMut(Option<Bytes<'_>>) -> ByteChange<'static>,
        ) -> Result<()>,
    ) -> Result<Option<u64>> {
        let mut seen = None;
        run(&self.0, &T::spell(key), &mut |old| {
            seen = old.map(read);
            match decide(seen) {
                Change::Keep => ByteChange::Keep,
                Change::Put(value) => ByteChange::Put(Cow::Owned(written(value))),
                Change::Remove => ByteChange::Remove,
            }
        })?;
        Ok(seen)
    }

    fn next(
        &self,
        cursor: &mut T::Cursor,
        keys: (Bound<&[u8]>, Bound<&[u8]>),
        upwards: bool,
    ) -> Result<Option<(u64, u64)>> {
        let mut entry = Entry::default();
        let is_there = self.0.next_entry(cursor, keys, upwards, true, &mut entry)?;
        Ok(is_there.then(|| (T::number(entry.key()), number_of(entry.value()))))
    }
}

impl<T: Spelling> Index for WithRecords<T> {
    type Cursor = T::Cursor;

    fn get(&self, key: u64) -> Result<Option<u64>> {
        self.0.get_with(&T::spell(key), read)
    }

    fn get_many(&self, keys: &[u64]) -> Result<Vec<Option<u64>>> {
        let keys: Vec<_> = keys.iter().map(|&key| T::spell(key)).collect();
        let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let values = self.0.get_many(&keys)?;
        Ok(values.into_iter().map(|value| value.map(|bytes| number_of(&bytes))).collect())
    }

    fn modify(
        &self,
        key: u64,
        mut decide: impl FnMut(Option<u64>) -> Change,
    ) -> Result<Option<u64>> {
        self.change(key, &mut decide, |tree, key, decide| tree.modify(key, decide))
    }

    fn apply(
        &self,
        key: u64,
        mut decide: impl FnMut(Option<u64>) -> Change,
    ) -> Result<Option<u64>> {
        self.change(key, &mut decide, |tree, key, decide| tree.apply(key, decide))
    }

    fn scan_up(&self, cursor: &mut Self::Cursor, key: u64) -> Result<Option<(u64, u64)>> {
        let key = T::spell(key);
        self.next(cursor, (Bound::Included(&key), Bound::Unbounded), true)
    }

    fn scan_down(&self, cursor: &mut Self::Cursor, key: u64) -> Result<Option<(u64, u64)>> {
        let key = T::spell(key);
        self.next(cursor, (Bound::Unbounded, Bound::Included(&key)), false)
    }

    fn first(&self) -> Result<Option<(u64, u64)>> {
        self.0.first(|key, value| (T::number(&key.to_vec()), read(value)))
    }

    fn last(&self) -> Result<Option<(u64, u64)>> {
        self.0.last(|key, value| (T::number(&key.to_vec()), read(value)))
    }

    fn check_ends(&self) -> Result<()> {
        self.0.check_ends()
    }

    fn pop(&self, smallest: bool, (key, value): (u64, u64)) -> Result<Popped> {
        self.0.pop(smallest, &T::spell(key), &written(value))
    }

    fn len(&self) -> Result<Len> {
        self.0.len()
    }

    fn exact_len(&self) -> Result<u64> {
        self.0.exact_len()
    }
}

impl<T: Spelling> NumberTree for WithRecords<T> {
    const STRUCTURAL: &'static [&'static str] = T::STRUCTURAL;

    const STEPS: &'static [&'static str] = T::STEPS;

    const CHUNKS: &'static [u64] = T::CHUNKS;

    const NOTES_AHEAD: bool = T::NOTES_AHEAD;

    const LEAVES_NOTHING: bool = T::LEAVES_NOTHING;

    fn open(space: &Arc<Space<Sim>>) -> Result<Self> {
        T::open(space).map(Self)
    }

    fn walks(&self) -> Vec<Box<dyn LeakWalk<Sim>>> {
        self.0.walks()
    }

    fn check(&self, visit: &mut dyn FnMut(u64, u64)) -> Result<u64> {
        self.0.check(visit)
    }

    fn is_volatile(at: u64, line: &[u64; 8]) -> bool {
        T::is_volatile(at, line)
    }

    fn count(&self) -> Result<()> {
        self.0.count()
    }

    fn counted(&self) -> Result<Len> {
        self.0.counted()
    }

    fn show(&self, up: bool, from: u64, mut see: impl FnMut(u64, u64)) -> Option<Result<()>> {
        let (from, mut cursor) = (T::spell(from), T::Cursor::default());
        let visit = |key: Bytes<'_>, value: Bytes<'_>| {
            see(T::number(&key.to_vec()), read(value));
            ControlFlow::Continue(())
        };
        Some(match up {
            true => self.0.scan_up(&mut cursor, (Bound::Included(&from), Bound::Unbounded), visit),
            false => {
                self.0.scan_down(&mut cursor, (Bound::Unbounded, Bound::Included(&from)), visit)
            }
        })
    }
}

macro_rules! numbers_with_records {
    ($([$($generics:tt)*] $tree:ty, $cursor:ty;)*) => { $(
        impl<$($generics)*> Spelling for RecordTree<$tree>
        where
            Self: ByteIndex<Cursor = Cursor<$cursor>>,
        {
            const STRUCTURAL: &'static [&'static str] = <$tree as NumberTree>::STRUCTURAL;

            const STEPS: &'static [&'static str] = <$tree as NumberTree>::STEPS;

            const CHUNKS: &'static [u64] = <$tree as NumberTree>::CHUNKS;

            fn spell(number: u64) -> Vec<u8> {
                number.to_be_bytes().to_vec()
            }

            fn number(key: &[u8]) -> u64 {
                key.try_into().map_or(u64::MAX, u64::from_be_bytes)
            }

            fn open(space: &Arc<Space<Sim>>) -> Result<Self> {
                RecordTree::<$tree>::open(space, "t")
            }

            fn walks(&self) -> Vec<Box<dyn LeakWalk<Sim>>> {
                let mut walks = NumberTree::walks(self.numbers());
                walks.push(self.marking());
                walks
            }

            fn check(&self, visit: &mut dyn FnMut(u64, u64)) -> Result<u64> {
                Ok(self.check(visit)?.entries)
            }

            fn is_volatile(at: u64, line: &[u64; 8]) -> bool {
                <$tree as NumberTree>::is_volatile(at, line)
            }

            fn count(&self) -> Result<()> {
                NumberTree::count(self.numbers())
            }

            fn counted(&self) -> Result<Len> {
                NumberTree::counted(self.numbers())
            }
        }
    )* };
}

numbers_with_records! {
    [const I: usize, const L: usize] fast_fair::Tree<Sim, I, L, LineBinary>, fast_fair::Cursor;
    [const W: usize, const F: usize] nbtree::Tree<Sim, W, F>, nbtree::Cursor;
}
