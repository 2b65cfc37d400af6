//! The interface of an index, implemented by this tree.

use std::io;
use std::ops::{Bound, ControlFlow};

use crate::media::{Mark, Media};
use crate::tree::ends::{self, Choice, Trust};
use crate::tree::key_word::KeyWord;
use crate::tree::len::{exact_len, len};
use crate::tree::nbtree::keys::strings::{ByteSought, record_at};
use crate::tree::nbtree::read::many::LANES;
use crate::tree::nbtree::strings::tree::ByteTree;
use crate::tree::nbtree::strings::upkeep::check_tree;
use crate::tree::nbtree::strings::walk::ByteCursor;
use crate::tree::pops::{self, Popped};
use crate::tree::records::basis::Basis;
use crate::tree::records::linking::{Linking, put_record, write, write_from};
use crate::tree::records::record::Record;
use crate::tree::records::scan::{between, one_by_one};
use crate::tree::{ByteChange, ByteIndex, Bytes, Entry, EntryVisitor, Len, TreeCheck};
use crate::{Error, Result};

impl<M: Media, const W: usize, const FANOUT: usize, K: KeyWord> ByteTree<M, W, FANOUT, K> {
    /// Checks the whole tree, and passes the offset and the bytes of every chunk to `visit`. Exact only while no
    /// thread writes ([`Space::quiesce`](crate::space::Space::quiesce)). O(n).
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] for the first check that fails, and those of
    /// [`Space::pin`](crate::space::Space::pin).
    pub fn check(&self, visit: &mut dyn FnMut(u64, u64)) -> Result<TreeCheck> {
        check_tree::<M, W, K>(&self.open.pin()?, self.open.map(), visit)
    }

    /// The values of `keys`, in their order.
    fn get_strings(&self, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        self.prepare(0)?;
        let (mut values, mut references) = (Vec::with_capacity(keys.len()), Vec::new());
        for keys in keys.chunks(LANES) {
            let guard = self.open.pin()?;
            guard.media().mark(Mark::Begin);
            references.clear();
            let sought = keys.iter().map(|key| (0, ByteSought::new::<K>(key)));
            // The partition is prepared.
            let _ = self.look_up_lanes(&guard, sought, &mut references)?;
            for &reference in &references {
                let record = reference.map(|at| Record::enter(guard.media(), record_at(at)));
                values.push(record.transpose()?.map(|record| record.value().to_vec()));
            }
            guard.media().mark(Mark::Acknowledged);
        }
        Ok(values)
    }

    /// The result of `read` for the first entry (for `smallest` = false: the last).
    fn end<R>(
        &self,
        smallest: bool,
        trust: Trust,
        read: impl FnOnce(Bytes<'_>, Bytes<'_>) -> R,
    ) -> Result<Option<R>> {
        self.prepare(0)?;
        // The record that is found is read inside this pin, which encloses those of the search.
        let guard = self.open.pin()?;
        let end = match smallest {
            true => ends::end::<true, _>(self, trust)?,
            false => ends::end::<false, _>(self, trust)?,
        };
        let record = end.map(|at| Record::enter(guard.media(), at)).transpose()?;
        Ok(record.map(|record| read(record.key(), record.value())))
    }

    /// Whether an entry is the first (the last, unless `smallest`), and all leaves up to it are [quiet](Trust::Quiet).
    fn is_end(&self, smallest: bool, key: &[u8], value: &[u8]) -> Result<Choice> {
        let guard = self.open.pin()?;
        ends::is_end(self, smallest, |at: u64| {
            Record::enter(guard.media(), at)
                .is_ok_and(|end| end.key() == *key && end.value() == *value)
        })
    }

    /// Runs a write as [`Space::with_room`](crate::space::Space::with_room) does. The write is passed as a `dyn`, so that
    /// the path after an error is compiled once, and not for each closure of a caller.
    #[inline]
    fn with_room(&self, write: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        self.open.space().with_room(write)
    }
}

impl<M: Media, const W: usize, const FANOUT: usize, K: KeyWord> ByteIndex
    for ByteTree<M, W, FANOUT, K>
{
    type Cursor = ByteCursor;

    fn noted(&self, error: Error) -> Error {
        self.open.space().noted(error)
    }

    fn get_with<R>(&self, key: &[u8], read: impl FnOnce(Bytes<'_>) -> R) -> Result<Option<R>> {
        self.prepare(0)?;
        let guard = self.open.pin()?;
        guard.media().mark(Mark::Begin);
        let key = ByteSought::new::<K>(key);
        let place = self.place_to_read(&guard, 0, key)?;
        let found = self.find_record(&guard, &place, key)?;
        let result = found.map(|record| read(record.value()));
        guard.media().mark(Mark::Acknowledged);
        Ok(result)
    }

    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        self.get_strings(keys).map_err(|error| self.noted(error))
    }

    fn modify<'v>(
        &self,
        key: &[u8],
        mut decide: impl FnMut(Option<Bytes<'_>>) -> ByteChange<'v>,
    ) -> Result<()> {
        let space = self.open.space();
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
        self.open.space().is_elsewhere()
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
        cursor: &mut ByteCursor,
        (from, to): (Bound<&[u8]>, Bound<&[u8]>),
        visit: impl FnMut(Bytes<'_>, Bytes<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.prepare(0)?;
        between::visit::<_, true>(self, &mut cursor.0, (from, to), visit)
    }

    fn scan_down(
        &self,
        cursor: &mut ByteCursor,
        (from, to): (Bound<&[u8]>, Bound<&[u8]>),
        visit: impl FnMut(Bytes<'_>, Bytes<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.prepare(0)?;
        between::visit::<_, false>(self, &mut cursor.0, (to, from), visit)
    }

    fn show(
        &self,
        cursor: &mut ByteCursor,
        (from, to): (Bound<&[u8]>, Bound<&[u8]>),
        upwards: bool,
        visit: EntryVisitor<'_>,
    ) -> Result<()> {
        self.prepare(0)?;
        match upwards {
            true => between::copy::<_, true>(self, &mut cursor.0, (from, to), visit),
            false => between::copy::<_, false>(self, &mut cursor.0, (to, from), visit),
        }
    }

    fn next_entry(
        &self,
        cursor: &mut ByteCursor,
        (from, to): (Bound<&[u8]>, Bound<&[u8]>),
        upwards: bool,
        with_value: bool,
        entry: &mut Entry,
    ) -> Result<bool> {
        self.prepare(0)?;
        let cursor = &mut cursor.0;
        match upwards {
            true => one_by_one::next::<_, true>(self, cursor, (from, to), with_value, entry),
            false => one_by_one::next::<_, false>(self, cursor, (to, from), with_value, entry),
        }
    }

    fn first<R>(&self, read: impl FnOnce(Bytes<'_>, Bytes<'_>) -> R) -> Result<Option<R>> {
        self.end(true, Trust::Blind, read).map_err(|error| self.noted(error))
    }

    fn last<R>(&self, read: impl FnOnce(Bytes<'_>, Bytes<'_>) -> R) -> Result<Option<R>> {
        self.end(false, Trust::Blind, read).map_err(|error| self.noted(error))
    }

    fn check_ends(&self) -> Result<()> {
        self.end(true, Trust::Checked, |_, _| ())?;
        self.end(false, Trust::Checked, |_, _| ()).map(drop)
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
                write(self, key, Basis::Record, Some(turn), &mut |old: Option<Bytes<'_>>| {
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
