//! An index of byte strings in a pool, of any kind. All of its code is compiled once, in the library, like that of an
//! index of [words](super::words).

use std::io;
use std::ops::{Bound, ControlFlow, Range};

use super::sizes::{FairBytes, NarrowLeaves, NbBytes, NbTree, Wide};
use crate::media::{Mapped, Media};
use crate::space::{Answer, AnyKey, Guard, OpenMap, PAGE, note_scan};
use crate::tree::byte_range::ByteRange;
use crate::tree::len::check_len;
use crate::tree::record_tree::{self, RecordTree};
use crate::tree::records::record::Record;
use crate::tree::{
    ByteChange, ByteIndex, Bytes, Entry, EntryVisitor, Len, Popped, fast_fair, fast_fair_bytes,
    nbtree, roart,
};
use crate::{Error, Result};

/// A closure that receives the key, the first bytes of the value and the length of the value of each entry, until it breaks.
pub(crate) type HeadVisitor<'a> = &'a mut dyn FnMut(&[u8], &[u8], usize) -> ControlFlow<()>;

/// An index of byte strings.
pub enum ByteTree<M: Media> {
    /// ROART.
    Roart(roart::Tree<M>),
    /// FAST & FAIR of byte strings.
    FairBytes(FairBytes<M>),
    /// NBTree of byte strings.
    NbBytes(NbBytes<M>),
    /// FAST & FAIR of numbers, with records.
    Wide(RecordTree<Wide<M>>),
    /// FAST & FAIR of numbers with smaller leaves, with records.
    NarrowLeaves(RecordTree<NarrowLeaves<M>>),
    /// NBTree of numbers, with records.
    NbTree(RecordTree<NbTree<M>>),
}

/// Runs `$body` on the tree, whichever it is.
macro_rules! on_tree {
    ($any:expr, $tree:ident => $body:expr) => {
        match $any {
            ByteTree::Roart($tree) => $body,
            ByteTree::FairBytes($tree) => $body,
            ByteTree::NbBytes($tree) => $body,
            ByteTree::Wide($tree) => $body,
            ByteTree::NarrowLeaves($tree) => $body,
            ByteTree::NbTree($tree) => $body,
        }
    };
}

/// How many entries [`ByteTree::heads`] copies at a time.
const HEADS: usize = 64;

impl ByteTree<Mapped> {
    /// Starts an operation that reads: for callers that must hold a pin around several calls.
    pub(crate) fn pin(&self) -> Result<Guard<'_, Mapped>> {
        on_tree!(self, tree => tree.open_map().pin())
    }

    /// Records that the map is damaged, if the error says so, and returns the error for the caller.
    pub(super) fn take_note(&self, error: Error) -> Error {
        on_tree!(self, tree => tree.noted(error))
    }

    /// The number of entries, counted first if it is not known.
    pub(crate) fn exact_len(&self) -> Result<u64> {
        on_tree!(self, tree => note_scan(tree.open_map()));
        on_tree!(self, tree => tree.exact_len())
    }

    pub(crate) fn len(&self) -> Result<Len> {
        on_tree!(self, tree => tree.len())
    }

    /// Compares the number of entries that a pass over all of them has found with the known number.
    pub(super) fn check_len(&self, found: u64) -> Result<()> {
        on_tree!(self, tree => check_len(tree.open_map(), found))
    }

    /// Passes the value of the key to `read`, if the key is present, and returns whether it is. `read` must not fork
    /// the process.
    pub fn read(&self, key: &[u8], read: &mut dyn FnMut(Bytes<'_>)) -> Result<bool> {
        self.look_up(key, read)
    }

    /// Passes the keys to `look` whose records have bytes of this stretch of the pool, in the order of their places. A
    /// record that other threads link or unlink meanwhile may be left out. A map whose index has numbers in place of keys
    /// shows none.
    ///
    /// No list leads from a place to its record. So whatever is there is read as if it were one, and the index decides: it
    /// must lead from the key to the same place. Bytes that only look like a record cost a lookup.
    pub fn keys_in(&self, bytes: Range<u64>, look: &mut dyn FnMut(&[u8])) -> Result<()> {
        if self.has_numbers() {
            return Ok(());
        }
        let space = self.open_map().space();
        let (media, mut key) = (space.media(), Vec::new());
        for page in bytes.start / PAGE..bytes.end.min(media.len()).div_ceil(PAGE) {
            for row in space.chunk_rows(page) {
                for at in row.chunks(&bytes) {
                    let record = Record::within(media, at);
                    let Some(record) = record.filter(|record| record.bytes() <= row.size) else {
                        continue;
                    };
                    key.clear();
                    record.copy_key(&mut key);
                    let place = record.value().address();
                    let mut is_linked = false;
                    self.read(&key, &mut |value| {
                        is_linked = place.is_some() && value.address() == place;
                    })?;
                    if is_linked {
                        look(&key);
                    }
                }
            }
        }
        Ok(())
    }

    /// Like [`read`](Self::read), for a closure of the user, which may fork the process.
    pub fn read_with(&self, key: &[u8], read: &mut dyn FnMut(Bytes<'_>)) -> Result<bool> {
        let found = self.read(key, read);
        self.unless_forked(found)
    }

    /// Returns the result of an operation that ran a closure of the user, but [`Error::Forked`] in a child that the
    /// closure forked. The pin protects only the parent: in the child, the bytes that the closure saw may have been
    /// overwritten.
    fn unless_forked<R>(&self, result: Result<R>) -> Result<R> {
        if on_tree!(self, tree => tree.is_elsewhere()) { Err(Error::Forked) } else { result }
    }

    /// The values of many keys, in their order.
    pub fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        if on_tree!(self, tree => tree.open_map().has_batches()) {
            return keys.iter().map(|key| self.copy(key)).collect();
        }
        on_tree!(self, tree => tree.get_many(keys))
    }

    fn copy(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let mut copy = None;
        self.read(key, &mut |value| copy = Some(value.to_vec()))?;
        Ok(copy)
    }

    /// Passes the value of the key to `decide`, which does not fork the process, and applies the change that it
    /// returns.
    pub fn apply<'v>(
        &self,
        key: &[u8],
        decide: &mut dyn FnMut(Option<Bytes<'_>>) -> ByteChange<'v>,
    ) -> Result<()> {
        on_tree!(self, tree => tree.apply(key, decide))
    }

    /// Passes the value of the key to `decide`, which runs a closure of the user, and applies the change that it
    /// returns.
    pub fn modify<'v>(
        &self,
        key: &[u8],
        decide: &mut dyn FnMut(Option<Bytes<'_>>) -> ByteChange<'v>,
    ) -> Result<()> {
        on_tree!(self, tree => tree.modify(key, decide))
    }

    /// Inserts a value of `len` bytes, which `write` writes.
    pub fn insert_from(
        &self,
        key: &[u8],
        len: usize,
        write: &mut dyn FnMut(&mut dyn io::Write) -> Result<()>,
    ) -> Result<()> {
        on_tree!(self, tree => tree.insert_from(key, len, write))
    }

    /// Passes the first or last entry to `read`; returns whether there is one.
    pub fn end(&self, smallest: bool, read: &mut dyn FnMut(Bytes<'_>, Bytes<'_>)) -> Result<bool> {
        self.look_at_end(smallest, read)
    }

    /// Removes the entry that [`end`](Self::end) showed, if it is still at that end.
    pub fn pop(&self, smallest: bool, key: &[u8], value: &[u8]) -> Result<Popped> {
        on_tree!(self, tree => tree.pop(smallest, key, value))
    }

    /// Checks that searches find what [`end`](Self::end) shows. Called after two searches for such an entry have
    /// failed.
    pub fn check_ends(&self) -> Result<()> {
        on_tree!(self, tree => tree.check_ends())
    }

    /// Passes the entries from a bound on to `look`, in order, until it breaks: the key, the first `most` bytes of the value,
    /// and the length of the value. The rest of the value is not read. `look` is a closure of the user, so it runs between the
    /// pins of the scan, and gets copies of a few entries at a time.
    pub fn heads(&self, from: Bound<&[u8]>, most: usize, look: HeadVisitor<'_>) -> Result<()> {
        let mut from = from.map(<[u8]>::to_vec);
        loop {
            let (mut copies, mut lengths) = (Vec::new(), Vec::new());
            let mut copy = |key: Bytes<'_>, value: Bytes<'_>| {
                let head = most.min(value.len());
                for (bytes, part) in [(&key, key.len()), (&value, head)] {
                    let begin = copies.len();
                    copies.resize(begin + part, 0);
                    bytes.copy_to(0, &mut copies[begin..]);
                }
                lengths.push((key.len(), head, value.len()));
                if lengths.len() < HEADS {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(())
                }
            };
            on_tree!(self, tree => {
                note_scan(tree.open_map());
                let mut cursor = Default::default();
                let bounds = (from.as_ref().map(|key| &key[..]), Bound::Unbounded);
                let shown = tree.scan_up(&mut cursor, bounds, &mut copy);
                shown.map_err(|error| tree.noted(error))?;
            });
            let (mut rest, mut last) = (&copies[..], &[][..]);
            for &(key, head, length) in &lengths {
                let (entry, behind) = rest.split_at(key + head);
                let (key, head) = entry.split_at(key);
                if look(key, head, length).is_break() {
                    return Ok(());
                }
                (rest, last) = (behind, key);
            }
            if lengths.len() < HEADS {
                return Ok(());
            }
            from = Bound::Excluded(last.to_vec());
        }
    }

    /// The entries with keys between two bounds.
    pub fn range(&self, from: Bound<Vec<u8>>, to: Bound<Vec<u8>>) -> Strings {
        on_tree!(self, tree => note_scan(tree.open_map()));
        match self {
            Self::Roart(_) => Strings::Roart(ByteRange::new(from, to)),
            Self::FairBytes(_) => Strings::FairBytes(ByteRange::new(from, to)),
            Self::NbBytes(_) => Strings::NbBytes(ByteRange::new(from, to)),
            Self::Wide(_) | Self::NarrowLeaves(_) => Strings::FastFair(ByteRange::new(from, to)),
            Self::NbTree(_) => Strings::NbTree(ByteRange::new(from, to)),
        }
    }
}

/// Passes the value that a commit gives to the key to `read`, while several changes at once are about. Returns whether there
/// is one; `None` if no commit has the key.
#[cold]
#[inline(never)]
fn answered<M: Media>(
    open: &OpenMap<M>,
    tree: &impl ByteIndex,
    key: &[u8],
    read: &mut dyn FnMut(Bytes<'_>),
) -> Result<Option<bool>> {
    let mut answer = || {
        let Some(Answer { guard, value }) = open.answer(AnyKey::Bytes(key))? else {
            return Ok(None);
        };
        let Some(at) = value else { return Ok(Some(false)) };
        read(Record::enter(guard.media(), at)?.value());
        Ok(Some(true))
    };
    answer().map_err(|error| tree.noted(error))
}

/// Readers beside commits, for any medium.
impl<M: Media> ByteTree<M> {
    /// Passes the value of the key to `read`, if the key is present, and returns whether it is.
    #[inline(always)]
    pub fn look_up(&self, key: &[u8], read: &mut dyn FnMut(Bytes<'_>)) -> Result<bool> {
        on_tree!(self, tree => {
            // The lookup is in one place, so that it is a part of this function.
            if tree.open_map().has_batches()
                && let Some(answered) = answered(tree.open_map(), tree, key, read).transpose()
            {
                return answered;
            }
            match tree.get_with(key, read) {
                Ok(found) => Ok(found.is_some()),
                Err(error) => Err(tree.noted(error)),
            }
        })
    }

    /// Passes the first or last entry to `read`; returns whether there is one.
    #[inline(always)]
    pub fn look_at_end(
        &self,
        smallest: bool,
        read: &mut dyn FnMut(Bytes<'_>, Bytes<'_>),
    ) -> Result<bool> {
        on_tree!(self, tree => tree.open_map().between_commits(|is_between| {
            // The entry was chosen by then: `read` sees it if no commit had begun.
            let mut is_shown = false;
            let show = |key: Bytes<'_>, value: Bytes<'_>| {
                is_shown = is_between();
                if is_shown {
                    read(key, value);
                }
            };
            let found = if smallest { tree.first(show)? } else { tree.last(show)? };
            Ok((is_shown || is_between()).then_some(found.is_some()))
        }))
    }
}

/// The changes of a commit, for any medium.
impl<M: Media> ByteTree<M> {
    pub(super) fn open_map(&self) -> &OpenMap<M> {
        on_tree!(self, tree => tree.open_map())
    }

    /// Gives the key the record at this offset, or removes the key.
    pub(super) fn set(&self, key: &[u8], record: Option<u64>) -> Result<()> {
        on_tree!(self, tree => match record {
            Some(at) => tree.put_record(key, at),
            None => tree.apply(key, |_| ByteChange::Remove),
        })
    }

    /// Fails if no entry can have this key.
    pub(super) fn check_key(&self, key: &[u8]) -> Result<()> {
        on_tree!(self, tree => tree.check_key(key))
    }

    /// Passes the value of a key to `read`, under the marks of a commit that has the key. Returns whether it is there.
    pub(super) fn look(&self, key: &[u8], mut read: impl FnMut(Bytes<'_>)) -> Result<bool> {
        let read: &mut dyn FnMut(Bytes<'_>) = &mut read;
        on_tree!(self, tree => Ok(tree.get_with(key, &mut *read)?.is_some()))
    }

    /// Whether the index has numbers in place of keys, which have one length then.
    pub(super) fn has_numbers(&self) -> bool {
        matches!(self, Self::Wide(_) | Self::NarrowLeaves(_) | Self::NbTree(_))
    }
}

/// A range of byte strings. It does not own its tree: the caller passes the tree that made the range to each call.
pub enum Strings {
    /// A range of ROART.
    Roart(ByteRange<roart::Cursor>),
    /// A range of FAST & FAIR of byte strings.
    FairBytes(ByteRange<fast_fair_bytes::Cursor>),
    /// A range of NBTree of byte strings.
    NbBytes(ByteRange<nbtree::ByteCursor>),
    /// A range of FAST & FAIR of numbers, with records.
    FastFair(ByteRange<record_tree::Cursor<fast_fair::Cursor>>),
    /// A range of NBTree of numbers, with records.
    NbTree(ByteRange<record_tree::Cursor<nbtree::Cursor>>),
}

/// Runs `$body` on a range and its tree.
macro_rules! on_range {
    ($any:expr, $range:expr, $tree:ident, $keys:ident => $body:expr) => {
        match ($any, $range) {
            (ByteTree::Roart($tree), Strings::Roart($keys)) => $body,
            (ByteTree::FairBytes($tree), Strings::FairBytes($keys)) => $body,
            (ByteTree::NbBytes($tree), Strings::NbBytes($keys)) => $body,
            (ByteTree::Wide($tree), Strings::FastFair($keys)) => $body,
            (ByteTree::NarrowLeaves($tree), Strings::FastFair($keys)) => $body,
            (ByteTree::NbTree($tree), Strings::NbTree($keys)) => $body,
            _ => of_another_tree(),
        }
    };
}

#[cold]
fn of_another_tree() -> ! {
    unreachable!("a range is used with the tree that made it")
}

impl Strings {
    /// Leaves out the keys below `from`; all keys, if it is `None`.
    pub fn skip_to(&mut self, from: Option<Vec<u8>>) {
        match self {
            Self::Roart(keys) => keys.skip_to(from),
            Self::FairBytes(keys) => keys.skip_to(from),
            Self::NbBytes(keys) => keys.skip_to(from),
            Self::FastFair(keys) => keys.skip_to(from),
            Self::NbTree(keys) => keys.skip_to(from),
        }
    }

    /// A copy of the next entry from one end, if there is one. Without `with_value` it is a copy of the key alone.
    pub fn next(
        &mut self,
        tree: &ByteTree<Mapped>,
        upwards: bool,
        with_value: bool,
    ) -> Result<Option<&mut Entry>> {
        on_range!(tree, self, tree, keys => keys.next(tree, upwards, with_value))
    }

    /// Passes copies of the remaining entries to `visit`, a closure of the user, until it breaks.
    pub fn visit(
        &mut self,
        tree: &ByteTree<Mapped>,
        upwards: bool,
        visit: EntryVisitor<'_>,
    ) -> Result<()> {
        let visited = on_range!(tree, self, tree, keys => keys.visit(tree, upwards, visit));
        tree.unless_forked(visited)
    }
}
