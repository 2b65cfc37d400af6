//! Scans, in both directions.
//!
//! A scan asks the tree for the entries one by one, so that each was in the map at a moment of the call that shows it. It is
//! some entries ahead of what it shows, and prefetches their records. An iterator, which returns one entry in a call, is not:
//! it asks the tree which values probably come next.

use std::ops::{Bound, ControlFlow};

use crate::Result;
use crate::media::Media;
use crate::space::Seat;
use crate::sync::{Ordering, fence};
use crate::tree::numbers::NumberTree;
use crate::tree::record_tree::tree::{RecordTree, number_of, record_at};
use crate::tree::records::bound::is_within;
use crate::tree::records::record::Record;
use crate::tree::records::scan::copies::Copies;
use crate::tree::records::scan::noted::{DISTANCE, Visitor};
use crate::tree::{Entry, EntryVisitor};

/// The most entries shown in one pin.
const AT_MOST: usize = 1024;

/// A record of more bytes is copied in a pin: without one, the copy might take so long that it is in vain. Besides, before
/// a chunk is known to be a record, its words may claim any length.
const LARGE: u64 = 64 << 10;

/// A position in a scan in one direction. A new cursor starts at the bounds of its first call.
#[derive(Default)]
pub struct Cursor<C> {
    place: C,
    /// The number of the key returned last.
    last: Option<u64>,
    /// Taken in the pin of the last entry that was read in one. While it holds, a record to which the tree leads can be
    /// copied without a pin.
    seat: Seat<()>,
    /// The bytes of the record read last: the next ones are likely to have as many.
    likely: u64,
}

/// The bounds of a scan: `first`, at which it starts, and `last`.
#[derive(Clone, Copy)]
struct Bounds<'b> {
    first: Bound<&'b [u8]>,
    last: Bound<&'b [u8]>,
    /// No key within the bounds has a number before the first or behind the last one, in the direction of the scan. Only
    /// keys with these two numbers have to be compared with the bounds.
    first_number: u64,
    last_number: u64,
}

impl<'b> Bounds<'b> {
    fn of<const UP: bool>((first, last): (Bound<&'b [u8]>, Bound<&'b [u8]>)) -> Self {
        let number = |bound, unbounded| match bound {
            Bound::Included(key) | Bound::Excluded(key) => number_of(key),
            Bound::Unbounded => unbounded,
        };
        let (lowest, highest) = if UP { (0, u64::MAX) } else { (u64::MAX, 0) };
        let (first_number, last_number) = (number(first, lowest), number(last, highest));
        Self { first, last, first_number, last_number }
    }

    /// Whether a scan that has returned `key` may return `other` after it.
    fn is_beyond<const UP: bool>(other: u64, key: u64) -> bool {
        if UP { other > key } else { other < key }
    }

    /// The number at which a scan begins that has returned the key with the number `returned`.
    fn start<const UP: bool>(&self, returned: Option<u64>) -> Option<u64> {
        let Some(returned) = returned else { return Some(self.first_number) };
        let next = if UP { returned.checked_add(1) } else { returned.checked_sub(1) }?;
        let is_further = Self::is_beyond::<UP>(self.first_number, next);
        Some(if is_further { self.first_number } else { next })
    }

    /// Whether a record is ahead of the first bound.
    #[inline(always)]
    fn precedes<M: Media, const UP: bool>(&self, number: u64, record: &Record<'_, M>) -> bool {
        number == self.first_number
            && match UP {
                true => !is_within::<M, true>(record, self.first, 0),
                false => !is_within::<M, false>(record, self.first, 0),
            }
    }

    /// Whether a number is behind the last bound; `None` if that takes the key.
    #[inline(always)]
    fn is_behind<const UP: bool>(&self, number: u64) -> Option<bool> {
        if number == self.last_number && !matches!(self.last, Bound::Unbounded) {
            return None;
        }
        Some(Self::is_beyond::<UP>(number, self.last_number))
    }
}

/// The most entries that are asked of the tree at once.
const PIECE: usize = 4;

/// The most entries whose records are under way.
const UNDER_WAY: usize = 2 * PIECE;

const _: () = assert!(PIECE < DISTANCE && DISTANCE < UNDER_WAY && UNDER_WAY.is_power_of_two());

/// Entries that the tree has returned, whose records are under way: numbers, and the offsets of records.
#[derive(Default)]
struct Ahead {
    entries: [(u64, u64); UNDER_WAY],
    first: usize,
    len: usize,
}

impl Ahead {
    /// Adds an entry behind the others, of which there must be fewer than [`UNDER_WAY`].
    #[inline(always)]
    fn push(&mut self, entry: (u64, u64)) {
        self.entries[(self.first + self.len) % UNDER_WAY] = entry;
        self.len += 1;
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<(u64, u64)> {
        self.len = self.len.checked_sub(1)?;
        let entry = self.entries[self.first];
        self.first = (self.first + 1) % UNDER_WAY;
        Some(entry)
    }
}

/// The outcome of a scan in one pin.
enum Shown {
    /// The visitor wants no more, or there is no more.
    Enough,
    /// There may be more.
    Some,
}

impl<M: Media, T: NumberTree<Medium = M>> RecordTree<T> {
    /// Shows the entries within the bounds, `first` at which the scan starts and `last`, in order, until `visitor` breaks.
    pub(crate) fn scan<const UP: bool>(
        &self,
        cursor: &mut Cursor<T::Cursor>,
        bounds: (Bound<&[u8]>, Bound<&[u8]>),
        visitor: &mut impl Visitor<M>,
    ) -> Result<()> {
        let bounds = Bounds::of::<UP>(bounds);
        while let Some(start) = bounds.start::<UP>(cursor.last) {
            self.tree.prepare(start)?;
            let guard = self.open_map().pin()?;
            cursor.seat = Seat::take(&guard, ());
            match self.show_in_pin::<UP>(guard.media(), cursor, bounds, start, visitor)? {
                Shown::Enough => break,
                Shown::Some => {}
            }
        }
        Ok(())
    }

    /// Does what [`scan`](Self::scan) does. It is compiled once for all closures, which see few entries in a call, or need
    /// not be fast.
    #[inline(never)]
    pub(crate) fn scan_dyn<const UP: bool>(
        &self,
        cursor: &mut Cursor<T::Cursor>,
        bounds: (Bound<&[u8]>, Bound<&[u8]>),
        visitor: &mut dyn FnMut(&Record<'_, M>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.scan::<UP>(cursor, bounds, &mut |record: &Record<'_, M>| visitor(record))
    }

    /// Does what [`scan`](Self::scan) does, with a copy of each entry, for a closure of the user.
    pub(crate) fn copy<const UP: bool>(
        &self,
        cursor: &mut Cursor<T::Cursor>,
        bounds: (Bound<&[u8]>, Bound<&[u8]>),
        visit: EntryVisitor<'_>,
    ) -> Result<()> {
        // The scan itself ends at the last bound.
        let mut copies = Copies::<_, UP>::new(self.open_map(), Bound::Unbounded, visit);
        self.scan::<UP>(cursor, bounds, &mut copies)
    }

    fn show_in_pin<const UP: bool>(
        &self,
        media: &M,
        cursor: &mut Cursor<T::Cursor>,
        bounds: Bounds<'_>,
        start: u64,
        visitor: &mut impl Visitor<M>,
    ) -> Result<Shown> {
        let (mut ahead, mut next) = (Ahead::default(), Some(start));
        let mut outcome = Shown::Some;
        for shown in 1..=AT_MOST {
            // A visitor that has seen few entries may soon want no more.
            if ahead.len < shown.min(PIECE + 1)
                && let Some(start) = next
            {
                let piece = shown.min(PIECE);
                next = self.fetch::<UP>(media, cursor, bounds, (start, piece), &mut ahead)?;
            }
            let Some((number, at)) = ahead.pop() else { return Ok(Shown::Enough) };
            let record = record_at(media, at, number)?;
            cursor.likely = record.bytes();
            cursor.last = Some(number);
            if bounds.precedes::<M, UP>(number, &record) {
                continue;
            }
            let is_within = bounds.is_behind::<UP>(number).is_some()
                || match UP {
                    true => is_within::<M, false>(&record, bounds.last, 0),
                    false => is_within::<M, true>(&record, bounds.last, 0),
                };
            if !is_within || visitor.show(&record).is_break() {
                outcome = Shown::Enough;
                break;
            }
        }
        if ahead.len > 0 {
            // The tree has passed entries that were not shown.
            cursor.place = T::Cursor::default();
        }
        Ok(outcome)
    }

    /// Asks the tree for at most `count` entries from the number `start` on, and prefetches their records. Returns the
    /// number at which the ones after them begin; `None` if there are no more within the last bound.
    #[inline(always)]
    fn fetch<const UP: bool>(
        &self,
        media: &M,
        cursor: &mut Cursor<T::Cursor>,
        bounds: Bounds<'_>,
        (mut start, count): (u64, usize),
        ahead: &mut Ahead,
    ) -> Result<Option<u64>> {
        let mut entries = [(0, 0); PIECE];
        let mut read = self.tree.next_few::<UP>(&mut cursor.place, &mut entries[..count]);
        if read == 0 {
            let place = &mut cursor.place;
            let found = if UP {
                self.tree.scan_up(place, start)
            } else {
                self.tree.scan_down(place, start)
            };
            let Some(entry) = found? else { return Ok(None) };
            (entries[0], read) = (entry, 1);
        }
        for &(number, at) in &entries[..read] {
            if Bounds::is_beyond::<UP>(start, number) {
                return Err(self.tree.out_of_order(&cursor.place));
            }
            if bounds.is_behind::<UP>(number) == Some(true) {
                return Ok(None);
            }
            Record::prefetch_bytes(media, at, cursor.likely);
            ahead.push((number, at));
            let next = if UP { number.checked_add(1) } else { number.checked_sub(1) };
            let Some(next) = next else { return Ok(None) };
            start = next;
        }
        Ok(Some(start))
    }

    /// Copies the next entry that is within both bounds: `first`, at which the scan starts, and `last`. Returns whether
    /// there is one.
    pub(crate) fn next<const UP: bool>(
        &self,
        cursor: &mut Cursor<T::Cursor>,
        bounds: (Bound<&[u8]>, Bound<&[u8]>),
        with_value: bool,
        entry: &mut Entry,
    ) -> Result<bool> {
        if let Some(is_within) = self.next_unpinned::<UP>(cursor, bounds, with_value, entry) {
            return Ok(is_within);
        }
        let mut is_there = false;
        self.scan_dyn::<UP>(cursor, bounds, &mut |record| {
            record.copy_to(with_value, entry);
            is_there = true;
            ControlFlow::Break(())
        })?;
        let (media, likely) = (self.open_map().space().media(), cursor.likely);
        let soon = (0..DISTANCE).map_while(|n| self.tree.ahead::<UP>(&cursor.place, n));
        soon.for_each(|at| Record::prefetch_bytes(media, at, likely));
        Ok(is_there)
    }

    /// Copies the next entry, if the tree has it without a search. Returns whether it is within the last bound. `None` if
    /// this needs a pin.
    #[inline(always)]
    fn next_unpinned<const UP: bool>(
        &self,
        cursor: &mut Cursor<T::Cursor>,
        bounds: (Bound<&[u8]>, Bound<&[u8]>),
        with_value: bool,
        entry: &mut Entry,
    ) -> Option<bool> {
        let (open, bounds) = (self.open_map(), Bounds::of::<UP>(bounds));
        let start = bounds.start::<UP>(cursor.last)?;
        let (media, Cursor { place, seat, likely, .. }) = (open.space().media(), &mut *cursor);
        let mut has_taken = false;
        let copied = seat.look(open.space(), |()| {
            let (number, at) =
                if UP { self.tree.next_up(place) } else { self.tree.next_down(place) }?;
            has_taken = true;
            let record = Record::within(media, at)?;
            // The two bounds are compared in a pin.
            let is_inside = Bounds::is_beyond::<UP>(number, start) || number == start;
            let is_plain =
                number != bounds.first_number && bounds.is_behind::<UP>(number).is_some();
            if !is_inside || !is_plain || record.bytes() > LARGE || !open.admits_readers() {
                return None;
            }
            record.copy_to(with_value, entry);
            // The fence comes after the loads of the copy, which are not ordered by themselves. It pairs with
            // `before_reuse`.
            fence(Ordering::Acquire);
            Some((number, record.number(), record.bytes()))
        });
        match copied {
            Some((number, of_record, bytes)) if of_record == Some(number) => {
                *likely = bytes;
                cursor.last = Some(number);
                if let Some(ahead) = self.tree.ahead::<UP>(&cursor.place, DISTANCE) {
                    Record::prefetch_bytes(media, ahead, bytes);
                }
                Some(bounds.is_behind::<UP>(number) == Some(false))
            }
            _ => {
                if has_taken {
                    // The tree has passed an entry that is not returned.
                    cursor.place = T::Cursor::default();
                }
                None
            }
        }
    }
}
