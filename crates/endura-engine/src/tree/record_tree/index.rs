//! The interface of an index, implemented by this tree.

use std::cell::RefCell;
use std::io;
use std::ops::{Bound, ControlFlow};

use crate::media::{Mark, Media};
use crate::tree::len::{exact_len, len};
use crate::tree::numbers::NumberTree;
use crate::tree::pops::{self, Popped};
use crate::tree::record_tree::scan::Cursor;
use crate::tree::record_tree::tree::{RecordTree, number_of, number_of_key, record_at, record_of};
use crate::tree::record_tree::upkeep::check_record;
use crate::tree::records::basis::Basis;
use crate::tree::records::linking::{Linking, put_record, write, write_from};
use crate::tree::records::record::Record;
use crate::tree::{ByteChange, ByteIndex, Bytes, Entry, EntryVisitor, Len, TreeCheck};
use crate::{Error, Result};

/// The number of lookups whose cache misses overlap.
const LANES: usize = 64;

impl<M: Media, T: NumberTree<Medium = M>> RecordTree<T> {
    /// Checks the tree and all records, and passes the offset and the bytes of every node and record to `visit`. Exact
    /// only while no thread writes ([`Space::quiesce`](crate::space::Space::quiesce)). O(n).
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] for the first check that fails, and those of
    /// [`Space::pin`](crate::space::Space::pin).
    pub fn check(&self, visit: &mut dyn FnMut(u64, u64)) -> Result<TreeCheck> {
        let media = self.open_map().space().media();
        // Nodes and records are met in turn.
        let visit = RefCell::new(visit);
        self.tree.check_entries(&mut |at, bytes| visit.borrow_mut()(at, bytes), &mut |entry| {
            check_record(media, entry, &mut |at, bytes| visit.borrow_mut()(at, bytes))
        })
    }

    /// Runs a write as [`Space::with_room`](crate::space::Space::with_room) does. The write is passed as a `dyn`, so that
    /// the path after an error is compiled once, and not for each closure of a caller.
    #[inline]
    fn with_room(&self, write: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        self.open_map().space().with_room(write)
    }

    fn count(&self) -> Result<()> {
        self.tree.count_all()
    }

    /// Passes the first entry (for `smallest` = false: the last) to `read`.
    fn end<R>(
        &self,
        smallest: bool,
        read: impl FnOnce(Bytes<'_>, Bytes<'_>) -> R,
    ) -> Result<Option<R>> {
        let end = || if smallest { self.tree.first() } else { self.tree.last() };
        if !self.tree.is_prepared() {
            // The first look of a session prepares what it passes, which may take long, outside of pins.
            end()?;
        }
        let guard = self.open_map().pin()?;
        let Some((number, at)) = end()? else { return Ok(None) };
        let record = record_at(guard.media(), at, number)?;
        Ok(Some(read(record.key(), record.value())))
    }

    /// The values of at most [`LANES`] keys.
    fn get_some(&self, keys: &[&[u8]], values: &mut Vec<Option<Vec<u8>>>) -> Result<()> {
        let numbers: Vec<_> = keys.iter().map(|key| number_of(key)).collect();
        numbers.iter().try_for_each(|&number| self.tree.prepare(number))?;
        let guard = self.open_map().pin()?;
        guard.media().mark(Mark::Begin);
        let found = self.tree.get_many(&numbers)?;
        found.iter().flatten().for_each(|&at| Record::prefetch(guard.media(), at));
        for ((key, number), at) in keys.iter().zip(numbers).zip(found) {
            let record = at.map(|at| record_of(guard.media(), at, (key, number))).transpose()?;
            values.push(record.map(|record| record.value().to_vec()));
        }
        guard.media().mark(Mark::Acknowledged);
        Ok(())
    }
}

impl<M: Media, T: NumberTree<Medium = M>> ByteIndex for RecordTree<T> {
    type Cursor = Cursor<T::Cursor>;

    fn noted(&self, error: Error) -> Error {
        self.tree.noted(error)
    }

    fn get_with<R>(&self, key: &[u8], read: impl FnOnce(Bytes<'_>) -> R) -> Result<Option<R>> {
        // No key is longer.
        let Ok(number) = number_of_key(key) else { return Ok(None) };
        self.tree.prepare(number)?;
        let guard = self.open_map().pin()?;
        guard.media().mark(Mark::Begin);
        let result = match self.tree.get_within(&guard, number)? {
            Some(at) => Some(read(record_of(guard.media(), at, (key, number))?.value())),
            None => None,
        };
        guard.media().mark(Mark::Acknowledged);
        Ok(result)
    }

    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        let mut values = Vec::with_capacity(keys.len());
        keys.chunks(LANES)
            .try_for_each(|keys| self.get_some(keys, &mut values))
            .map_err(|error| self.noted(error))?;
        Ok(values)
    }

    fn modify<'v>(
        &self,
        key: &[u8],
        mut decide: impl FnMut(Option<Bytes<'_>>) -> ByteChange<'v>,
    ) -> Result<()> {
        let space = self.open_map().space();
        self.with_room(&mut || {
            write(self, key, Basis::Shown, None, &mut |old: Option<Bytes<'_>>| {
                let change = space.parked(|| decide(old));
                (!space.is_elsewhere()).then_some(change)
            })
        })
    }

    fn apply<'v>(
        &self,
        key: &[u8],
        mut decide: impl FnMut(Option<Bytes<'_>>) -> ByteChange<'v>,
    ) -> Result<()> {
        self.with_room(&mut || {
            write(self, key, Basis::Value, None, &mut |old: Option<Bytes<'_>>| Some(decide(old)))
        })
    }

    #[inline(always)]
    fn is_elsewhere(&self) -> bool {
        self.open_map().space().is_elsewhere()
    }

    fn insert_from(
        &self,
        key: &[u8],
        len: usize,
        mut fill: impl FnMut(&mut dyn io::Write) -> Result<()>,
    ) -> Result<()> {
        self.with_room(&mut || write_from(self, key, len, &mut fill))
    }

    fn check_key(&self, key: &[u8]) -> Result<()> {
        self.sought(key).map(drop)
    }

    fn put_record(&self, key: &[u8], at: u64) -> Result<()> {
        self.with_room(&mut || put_record(self, key, at))
    }

    fn scan_up(
        &self,
        cursor: &mut Self::Cursor,
        (from, to): (Bound<&[u8]>, Bound<&[u8]>),
        mut visit: impl FnMut(Bytes<'_>, Bytes<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.scan::<true>(cursor, (from, to), &mut |record: &Record<'_, M>| {
            visit(record.key(), record.value())
        })
    }

    fn scan_down(
        &self,
        cursor: &mut Self::Cursor,
        (from, to): (Bound<&[u8]>, Bound<&[u8]>),
        mut visit: impl FnMut(Bytes<'_>, Bytes<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.scan::<false>(cursor, (to, from), &mut |record: &Record<'_, M>| {
            visit(record.key(), record.value())
        })
    }

    fn show(
        &self,
        cursor: &mut Self::Cursor,
        (from, to): (Bound<&[u8]>, Bound<&[u8]>),
        upwards: bool,
        visit: EntryVisitor<'_>,
    ) -> Result<()> {
        match upwards {
            true => self.copy::<true>(cursor, (from, to), visit),
            false => self.copy::<false>(cursor, (to, from), visit),
        }
    }

    fn next_entry(
        &self,
        cursor: &mut Self::Cursor,
        (from, to): (Bound<&[u8]>, Bound<&[u8]>),
        upwards: bool,
        with_value: bool,
        entry: &mut Entry,
    ) -> Result<bool> {
        match upwards {
            true => self.next::<true>(cursor, (from, to), with_value, entry),
            false => self.next::<false>(cursor, (to, from), with_value, entry),
        }
    }

    fn first<R>(&self, read: impl FnOnce(Bytes<'_>, Bytes<'_>) -> R) -> Result<Option<R>> {
        self.end(true, read).map_err(|error| self.noted(error))
    }

    fn last<R>(&self, read: impl FnOnce(Bytes<'_>, Bytes<'_>) -> R) -> Result<Option<R>> {
        self.end(false, read).map_err(|error| self.noted(error))
    }

    fn check_ends(&self) -> Result<()> {
        self.tree.check_ends()
    }

    fn pop(&self, smallest: bool, key: &[u8], value: &[u8]) -> Result<Popped> {
        let number = number_of_key(key)?;
        pops::pop(
            self.open_map(),
            &|turn| turn.announce_number(smallest, number),
            &|| self.tree.is_end(smallest, number),
            &|turn, decide| {
                let mut is_taken = false;
                // A decision is valid for this record only. The turn may have ended because another operation removed
                // the record: then no other record in its place may be removed.
                write(self, key, Basis::Record, Some(turn), &mut |old: Option<Bytes<'_>>| {
                    is_taken = old.is_some_and(|old| old == *value) && decide();
                    Some(if is_taken { ByteChange::Remove } else { ByteChange::Keep })
                })?;
                Ok(is_taken)
            },
        )
    }

    fn len(&self) -> Result<Len> {
        len(self.open_map(), self, Self::count)
    }

    fn exact_len(&self) -> Result<u64> {
        exact_len(self.open_map(), self, Self::count)
    }
}
