//! Trees of numbers with records, explored as maps of numbers: a value is written in a record, in one of a few lengths.

use std::borrow::Cow;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use endura_engine::Result;
use endura_engine::space::{LeakWalk, Space};
use endura_engine::tree::fast_fair::{self, LineBinary};
use endura_engine::tree::record_tree::{Cursor, RecordTree};
use endura_engine::tree::{
    ByteChange, ByteIndex, Bytes, Change, Entry, Index, Len, Popped, nbtree,
};

use super::numbers::{NumberTree, Numbers};
use crate::sim::Sim;

/// A FAST & FAIR tree with records, of inner nodes of `I` words and leaves of `L`.
pub type FairRecords<const I: usize, const L: usize> =
    Numbers<WithRecords<fast_fair::Tree<Sim, I, L, LineBinary>>>;

/// An NBTree with records, of blocks of `W` words under inner nodes of `F` children.
pub type NbRecords<const W: usize, const F: usize> = Numbers<WithRecords<nbtree::Tree<Sim, W, F>>>;

/// A tree of records, as an index of numbers.
pub struct WithRecords<T>(RecordTree<T>);

/// The value of a record: the number, and as many zeros behind it as its last digits say.
fn written(number: u64) -> Vec<u8> {
    let mut bytes = number.to_le_bytes().to_vec();
    bytes.resize(8 + 20 * (number % 3) as usize, 0);
    bytes
}

fn read(value: Bytes<'_>) -> u64 {
    value.first_chunk().map_or(u64::MAX, u64::from_le_bytes)
}

fn number(key: &[u8]) -> u64 {
    key.try_into().map_or(u64::MAX, u64::from_be_bytes)
}

impl<T> WithRecords<T>
where
    RecordTree<T>: ByteIndex,
{
    fn change(
        &self,
        key: u64,
        decide: &mut dyn FnMut(Option<u64>) -> Change,
        run: impl FnOnce(
            &RecordTree<T>,
            &[u8],
            &mut dyn FnMut(Option<Bytes<'_>>) -> ByteChange<'static>,
        ) -> Result<()>,
    ) -> Result<Option<u64>> {
        let mut seen = None;
        run(&self.0, &key.to_be_bytes(), &mut |old| {
            seen = old.map(read);
            match decide(seen) {
                Change::Keep => ByteChange::Keep,
                Change::Put(value) => ByteChange::Put(Cow::Owned(written(value))),
                Change::Remove => ByteChange::Remove,
            }
        })?;
        Ok(seen)
    }
}

macro_rules! with_records {
    ($([$($generics:tt)*] $tree:ty, $cursor:ty;)*) => { $(
        impl<$($generics)*> Index for WithRecords<$tree> {
            type Cursor = Cursor<$cursor>;

            fn get(&self, key: u64) -> Result<Option<u64>> {
                self.0.get_with(&key.to_be_bytes(), read)
            }

            fn get_many(&self, keys: &[u64]) -> Result<Vec<Option<u64>>> {
                let keys: Vec<_> = keys.iter().map(|key| key.to_be_bytes()).collect();
                let keys: Vec<&[u8]> = keys.iter().map(<[u8; 8]>::as_slice).collect();
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
                let key = key.to_be_bytes();
                self.next(cursor, (Bound::Included(&key), Bound::Unbounded), true)
            }

            fn scan_down(&self, cursor: &mut Self::Cursor, key: u64) -> Result<Option<(u64, u64)>> {
                let key = key.to_be_bytes();
                self.next(cursor, (Bound::Unbounded, Bound::Included(&key)), false)
            }

            fn first(&self) -> Result<Option<(u64, u64)>> {
                self.0.first(|key, value| (number(&key.to_vec()), read(value)))
            }

            fn last(&self) -> Result<Option<(u64, u64)>> {
                self.0.last(|key, value| (number(&key.to_vec()), read(value)))
            }

            fn check_ends(&self) -> Result<()> {
                self.0.check_ends()
            }

            fn pop(&self, smallest: bool, (key, value): (u64, u64)) -> Result<Popped> {
                self.0.pop(smallest, &key.to_be_bytes(), &written(value))
            }

            fn len(&self) -> Result<Len> {
                self.0.len()
            }

            fn exact_len(&self) -> Result<u64> {
                self.0.exact_len()
            }
        }

        impl<$($generics)*> WithRecords<$tree> {
            fn next(
                &self,
                cursor: &mut Cursor<$cursor>,
                keys: (Bound<&[u8]>, Bound<&[u8]>),
                upwards: bool,
            ) -> Result<Option<(u64, u64)>> {
                let mut entry = Entry::default();
                let is_there = self.0.next_entry(cursor, keys, upwards, true, &mut entry)?;
                Ok(is_there.then(|| (number(entry.key()), number_of(entry.value()))))
            }
        }

        impl<$($generics)*> NumberTree for WithRecords<$tree> {
            const STRUCTURAL: &'static [&'static str] = <$tree as NumberTree>::STRUCTURAL;

            const STEPS: &'static [&'static str] = <$tree as NumberTree>::STEPS;

            const CHUNKS: &'static [u64] = <$tree as NumberTree>::CHUNKS;

            const LEAVES_NOTHING: bool = <$tree as NumberTree>::LEAVES_NOTHING;

            fn open(space: &Arc<Space<Sim>>) -> Result<Self> {
                RecordTree::<$tree>::open(space, "t").map(Self)
            }

            fn walks(&self) -> Vec<Box<dyn LeakWalk<Sim>>> {
                let mut walks = self.0.numbers().walks();
                walks.push(self.0.marking());
                walks
            }

            fn check(&self, visit: &mut dyn FnMut(u64, u64)) -> Result<u64> {
                Ok(self.0.check(visit)?.entries)
            }

            fn is_volatile(at: u64, line: &[u64; 8]) -> bool {
                <$tree as NumberTree>::is_volatile(at, line)
            }

            fn count(&self) -> Result<()> {
                NumberTree::count(self.0.numbers())
            }

            fn counted(&self) -> Result<Len> {
                NumberTree::counted(self.0.numbers())
            }

            fn show(
                &self,
                up: bool,
                from: u64,
                mut see: impl FnMut(u64, u64),
            ) -> Option<Result<()>> {
                let from = from.to_be_bytes();
                let mut cursor = Cursor::default();
                let visit = |key: Bytes<'_>, value: Bytes<'_>| {
                    see(number(&key.to_vec()), read(value));
                    ControlFlow::Continue(())
                };
                Some(match up {
                    true => {
                        let keys = (Bound::Included(&from[..]), Bound::Unbounded);
                        self.0.scan_up(&mut cursor, keys, visit)
                    }
                    false => {
                        let keys = (Bound::Unbounded, Bound::Included(&from[..]));
                        self.0.scan_down(&mut cursor, keys, visit)
                    }
                })
            }
        }
    )* };
}

fn number_of(value: &[u8]) -> u64 {
    value.first_chunk().map_or(u64::MAX, |bytes| u64::from_le_bytes(*bytes))
}

with_records! {
    [const I: usize, const L: usize] fast_fair::Tree<Sim, I, L, LineBinary>, fast_fair::Cursor;
    [const W: usize, const F: usize] nbtree::Tree<Sim, W, F>, nbtree::Cursor;
}
