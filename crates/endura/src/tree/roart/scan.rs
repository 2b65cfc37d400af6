//! Scans, in both directions, a few entries at a time.
//!
//! A refill walks the tree from the bound on and notes the records that come next, each with the
//! node or array that holds it and the version of that ([`walk`](super::walk)). A noted entry is
//! shown if its holder is still of that version: it was in the map at that moment. If not, the scan
//! refills behind the last key that it has shown. So no key comes twice, and none that stayed in the
//! map is passed over. Nothing is pinned between two calls, nor longer than it takes to show what
//! was noted.
//!
//! Records are asked for some entries before their turn: each is in lines of its own.

use std::cmp::Ordering as Order;
use std::ops::{Bound, ControlFlow};

use crate::Result;
use crate::media::{LINE, Media, Region};
use crate::pool::Guard;
use crate::tree::Bytes;

use super::lock::Version;
use super::record::Record;
use super::walk::Walk;
use super::{Techniques, Tree};

/// Most entries that are noted at a time, but for the end of an array.
const AHEAD: usize = 64;

/// How many entries before its turn a record is asked for.
const DISTANCE: usize = 16;

/// A place in a scan in one direction. Begins wherever the first call says.
#[derive(Default)]
pub struct Cursor {
    batch: Vec<Entry>,
    /// How many of them were shown.
    passed: usize,
    /// When they were noted.
    epoch: u64,
    /// How many to note next time: short scans stay cheap.
    want: usize,
}

/// A record, and what held it.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    pub(super) record: u64,
    pub(super) holder: u64,
    pub(super) version: Version,
}

/// Whether a key that agrees with the bound in its first `from` bytes is within it. `UP`: keys begin
/// at the bound; else they end there.
#[inline]
pub(super) fn is_within<M: Media, const UP: bool>(
    record: &Record<'_, M>,
    bound: Bound<&[u8]>,
    from: usize,
) -> bool {
    let beyond = if UP { Order::Greater } else { Order::Less };
    match bound {
        Bound::Unbounded => true,
        Bound::Included(key) => [beyond, Order::Equal].contains(&record.compare(key, from)),
        Bound::Excluded(key) => record.compare(key, from) == beyond,
    }
}

/// How far a batch went.
enum Shown<'g, M> {
    /// The visitor has enough, or there is no more.
    Enough,
    /// There may be more behind this one.
    UpTo(Record<'g, M>),
}

impl<M: Media, T: Techniques> Tree<M, T> {
    /// Shows the entries within `first`, from which the scan comes, and `last`, in order, until
    /// `visit` breaks.
    pub(super) fn scan<const UP: bool>(
        &self,
        cursor: &mut Cursor,
        first: Bound<&[u8]>,
        last: Bound<&[u8]>,
        visit: &mut impl FnMut(Bytes<'_>, Bytes<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let mut key = Vec::new();
        let mut has_shown = false;
        loop {
            let guard = self.pin()?;
            let first = if has_shown { Bound::Excluded(&key[..]) } else { first };
            match self.show::<UP>(&guard, cursor, first, last, visit)? {
                Shown::Enough => return Ok(()),
                Shown::UpTo(record) => {
                    key.clear();
                    record.copy_key(&mut key);
                    has_shown = true;
                }
            }
        }
    }

    fn show<'g, const UP: bool>(
        &self,
        guard: &'g Guard<'g, M>,
        cursor: &mut Cursor,
        first: Bound<&[u8]>,
        last: Bound<&[u8]>,
        visit: &mut impl FnMut(Bytes<'_>, Bytes<'_>) -> ControlFlow<()>,
    ) -> Result<Shown<'g, M>> {
        let media = guard.media();
        let mut shown = None;
        // What was reachable in this epoch is not used again before this pin ends.
        let mut is_fresh = cursor.epoch != guard.space().epoch() || cursor.is_spent();
        let mut refills = 0;
        loop {
            if is_fresh {
                self.refill::<UP>(guard, cursor, first)?;
                refills += 1;
            }
            let Some(&entry) = cursor.batch.get(cursor.passed) else {
                // The bound may have moved past all that an earlier call noted.
                is_fresh = shown.is_none() && refills == 0;
                if is_fresh {
                    continue;
                }
                break;
            };
            let holder = Region::new(media, entry.holder, 1)?;
            if !is_fresh && !entry.version.still_holds(&holder) {
                if shown.is_some() {
                    break;
                }
                is_fresh = true;
                continue;
            }
            is_fresh = false;
            cursor.passed += 1;
            if let Some(ahead) = cursor.batch.get(cursor.passed + DISTANCE) {
                media.prefetch(ahead.record, LINE);
            }
            let record = Record::enter(media, entry.record)?;
            // In the order of the keys: only the first ones can be what the bound has moved past.
            if shown.is_none() && !is_within::<M, UP>(&record, first, 0) {
                continue;
            }
            let ends = match UP {
                true => !is_within::<M, false>(&record, last, 0),
                false => !is_within::<M, true>(&record, last, 0),
            };
            if ends || visit(record.key(), record.value()).is_break() {
                return Ok(Shown::Enough);
            }
            shown = Some(record);
        }
        match shown {
            Some(record) => {
                cursor.forget();
                Ok(Shown::UpTo(record))
            }
            None => Ok(Shown::Enough),
        }
    }

    fn refill<'g, const UP: bool>(
        &self,
        guard: &'g Guard<'g, M>,
        cursor: &mut Cursor,
        first: Bound<&[u8]>,
    ) -> Result<()> {
        cursor.forget();
        cursor.epoch = guard.space().epoch();
        cursor.want = if cursor.want == 0 { 1 } else { AHEAD };
        let mut walk = Walk::<M, T, UP>::new(self, self.root(guard)?, first)?;
        walk.note(&mut cursor.batch, cursor.want)?;
        let soon = cursor.batch.iter().take(DISTANCE + 1);
        soon.for_each(|entry| guard.media().prefetch(entry.record, LINE));
        Ok(())
    }
}

impl Cursor {
    fn is_spent(&self) -> bool {
        self.passed == self.batch.len()
    }

    fn forget(&mut self) {
        self.batch.clear();
        self.passed = 0;
    }
}
