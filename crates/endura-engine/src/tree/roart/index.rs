//! The interface of an index, implemented by this tree.

use std::io;
use std::ops::{Bound, ControlFlow};

use crate::media::{Mark, Media};
use crate::tree::ends::Trust;
use crate::tree::len::{exact_len, len};
use crate::tree::pops::{self, Popped};
use crate::tree::{ByteChange, ByteIndex, Bytes, Entry, EntryVisitor, Len, TreeCheck};
use crate::{Error, Result};

use crate::tree::records::basis::Basis;
use crate::tree::records::record::check_lengths;
use crate::tree::records::scan::{between, one_by_one};
use crate::tree::roart::path::lookup::lookup;
use crate::tree::roart::read::scan::Cursor;
use crate::tree::roart::techniques::Techniques;
use crate::tree::roart::tree::Tree;
use crate::tree::roart::upkeep::check::check_tree;

impl<M: Media, T: Techniques> Tree<M, T> {
    /// Checks the whole tree, and passes the offset and the bytes of every chunk, including records, to `visit`. The
    /// result is exact only while no thread writes ([`Space::quiesce`](crate::space::Space::quiesce)). O(n).
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] for the first check that fails, and those of
    /// [`Space::pin`](crate::space::Space::pin).
    pub fn check(&self, visit: &mut dyn FnMut(u64, u64)) -> Result<TreeCheck> {
        check_tree(&self.open.pin()?, self.open.map().root(), visit)
    }

    /// Runs a write as [`Space::with_room`](crate::space::Space::with_room) does. The write is passed as a `dyn`, so that
    /// the path after an error is compiled once, and not for each closure of a caller.
    #[inline]
    fn with_room(&self, write: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        self.open.space().with_room(write)
    }
}

impl<M: Media, T: Techniques> ByteIndex for Tree<M, T> {
    type Cursor = Cursor;

    fn noted(&self, error: Error) -> Error {
        self.open.space().noted(error)
    }

    fn get_with<R>(&self, key: &[u8], read: impl FnOnce(Bytes<'_>) -> R) -> Result<Option<R>> {
        let guard = self.open.pin()?;
        guard.media().mark(Mark::Begin);
        let found = lookup(&guard, self.root, key)?;
        let result = found.map(|record| read(record.value()));
        guard.media().mark(Mark::Acknowledged);
        Ok(result)
    }

    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        self.lookup_many(keys).map_err(|error| self.noted(error))
    }

    fn modify<'v>(
        &self,
        key: &[u8],
        mut decide: impl FnMut(Option<Bytes<'_>>) -> ByteChange<'v>,
    ) -> Result<()> {
        self.with_room(&mut || {
            self.write(key, Basis::Shown, None, &mut |old: Option<Bytes<'_>>| {
                let change = self.open.space().parked(|| decide(old));
                (!self.open.space().is_elsewhere()).then_some(change)
            })
        })
    }

    fn apply<'v>(
        &self,
        key: &[u8],
        mut decide: impl FnMut(Option<Bytes<'_>>) -> ByteChange<'v>,
    ) -> Result<()> {
        self.with_room(&mut || {
            self.write(key, Basis::Value, None, &mut |old: Option<Bytes<'_>>| Some(decide(old)))
        })
    }

    #[inline(always)]
    fn is_elsewhere(&self) -> bool {
        self.open.space().is_elsewhere()
    }

    fn insert_from(
        &self,
        key: &[u8],
        len: usize,
        mut write: impl FnMut(&mut dyn io::Write) -> Result<()>,
    ) -> Result<()> {
        self.with_room(&mut || self.write_from(key, len, &mut write))
    }

    fn check_key(&self, key: &[u8]) -> Result<()> {
        check_lengths(key.len(), 0)
    }

    fn put_record(&self, key: &[u8], at: u64) -> Result<()> {
        self.with_room(&mut || self.write_record(key, at))
    }

    fn scan_up(
        &self,
        cursor: &mut Cursor,
        (from, to): (Bound<&[u8]>, Bound<&[u8]>),
        visit: impl FnMut(Bytes<'_>, Bytes<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        between::visit::<_, true>(self, &mut cursor.0, (from, to), visit)
    }

    fn scan_down(
        &self,
        cursor: &mut Cursor,
        (from, to): (Bound<&[u8]>, Bound<&[u8]>),
        visit: impl FnMut(Bytes<'_>, Bytes<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        between::visit::<_, false>(self, &mut cursor.0, (to, from), visit)
    }

    fn show(
        &self,
        cursor: &mut Cursor,
        (from, to): (Bound<&[u8]>, Bound<&[u8]>),
        upwards: bool,
        visit: EntryVisitor<'_>,
    ) -> Result<()> {
        match upwards {
            true => between::copy::<_, true>(self, &mut cursor.0, (from, to), visit),
            false => between::copy::<_, false>(self, &mut cursor.0, (to, from), visit),
        }
    }

    fn next_entry(
        &self,
        cursor: &mut Cursor,
        (from, to): (Bound<&[u8]>, Bound<&[u8]>),
        upwards: bool,
        with_value: bool,
        entry: &mut Entry,
    ) -> Result<bool> {
        let cursor = &mut cursor.0;
        match upwards {
            true => one_by_one::next::<_, true>(self, cursor, (from, to), with_value, entry),
            false => one_by_one::next::<_, false>(self, cursor, (to, from), with_value, entry),
        }
    }

    fn first<R>(&self, read: impl FnOnce(Bytes<'_>, Bytes<'_>) -> R) -> Result<Option<R>> {
        self.end::<true, R>(Trust::Blind, read)
    }

    fn last<R>(&self, read: impl FnOnce(Bytes<'_>, Bytes<'_>) -> R) -> Result<Option<R>> {
        self.end::<false, R>(Trust::Blind, read)
    }

    fn check_ends(&self) -> Result<()> {
        self.end::<true, _>(Trust::Checked, |_, _| ())?;
        self.end::<false, _>(Trust::Checked, |_, _| ()).map(drop)
    }

    fn pop(&self, smallest: bool, key: &[u8], value: &[u8]) -> Result<Popped> {
        pops::pop(
            &self.open,
            &|turn| turn.announce_bytes(smallest, key),
            &|| self.is_end(smallest, key, value),
            &|turn, decide| {
                let mut is_taken = false;
                // A decision is valid for this record only. The turn may have ended because another operation removed
                // the record: then no other record in its place may be removed.
                self.write(key, Basis::Record, Some(turn), &mut |old: Option<Bytes<'_>>| {
                    is_taken = old.is_some_and(|old| old == *value) && decide();
                    Some(if is_taken { ByteChange::Remove } else { ByteChange::Keep })
                })?;
                Ok(is_taken)
            },
        )
    }

    fn len(&self) -> Result<Len> {
        len(&self.open, self, Self::count_all)
    }

    fn exact_len(&self) -> Result<u64> {
        exact_len(&self.open, self, Self::count_all)
    }
}
