//! Scans, in both directions, that read some entries ahead.
//!
//! A [walk](Walk), which each tree has, goes through the tree from the bound on. It notes the next records, each with the
//! chunk that holds it, such as a leaf, and the version of that holder. A noted record is shown if its holder still has
//! that version: the record was in the map at that moment. If not, another walk starts after the last key shown. So no key
//! is shown twice, and no key that stayed in the map is skipped. Nothing is pinned between two calls ([`one_by_one`](crate::tree::records::scan::one_by_one) shows
//! how an entry is read without a pin), and no pin lasts longer than it takes to show [`AT_MOST`] entries.
//!
//! Each record has its own lines, which are prefetched some entries before the record is due, so that they arrive in
//! time. For the same reason the walk stays ahead: the next holder is read while the last records of the one before
//! arrive.

use std::ops::Bound;

use crate::media::Media;
use crate::space::{Guard, OpenMap, Seat};
use crate::tree::records::bound::is_within;
use crate::tree::records::record::Record;
use crate::tree::records::scan::noted::{Batch, BatchShown, Holds, RunVisitor};
use crate::{Error, Result};

/// The least number of entries noted at a time. (A holder is always noted whole.)
const AHEAD: usize = 16;

/// The least number of entries that each walk of a cursor notes first, except its first walk: another walk costs a
/// search from the root, and mostly a pin.
const AFTER_PAUSE: usize = 64;

/// The approximate number of entries shown in one pin.
const AT_MOST: usize = 1024;

/// A walk over records in key order, in one pin, from a bound on. With `UP` = false, from the largest key down.
pub(crate) trait Walk<V> {
    /// Whether another thread has changed the path to the first records, so that the walk has to start again.
    fn has_moved(&self) -> bool;

    fn has_ended(&self) -> bool;

    /// Notes the next records: at least `want`, unless fewer are left. If the walk comes to a place that has changed, it
    /// may note fewer.
    fn note(&mut self, batch: &mut Batch<V>, want: usize) -> Result<()>;

    /// Prefetches what the next `want` records need of the tree.
    fn ask_ahead(&mut self, want: usize) -> Result<()>;
}

/// A tree with a walk.
pub(crate) trait Walked: Holds<Self::Medium, Self::Version> + 'static {
    type Medium: Media;
    type Version: Copy + Send;
    type Walk<'g, 'b, const UP: bool>: Walk<Self::Version>
    where
        Self: 'g;

    fn open_map(&self) -> &OpenMap<Self::Medium>;

    /// A walk from `first` on.
    fn walk<'g, 'b, const UP: bool>(
        &'g self,
        guard: &'g Guard<'g, Self::Medium>,
        first: Bound<&'b [u8]>,
    ) -> Result<Self::Walk<'g, 'b, UP>>;
}

/// A position in a scan in one direction. A new cursor starts at the bounds of its first call.
pub(crate) struct Cursor<V> {
    pub(crate) batch: Batch<V>,
    /// Valid while the noted records can be used.
    pub(crate) noted: Seat<()>,
    /// Whether the cursor has begun a walk before.
    goes_on: bool,
}

impl<V> Default for Cursor<V> {
    fn default() -> Self {
        Self { batch: Batch::default(), noted: Seat::default(), goes_on: false }
    }
}

/// Does what [`is_within`] does, for the record at `at`.
fn lies_within<M: Media, const UP: bool>(media: &M, at: u64, bound: Bound<&[u8]>) -> Result<bool> {
    Ok(is_within::<M, UP>(&Record::enter(media, at)?, bound, 0))
}

/// The outcome of showing records in one pin.
enum Shown<'g, M> {
    /// The visitor wants no more, or there is no more.
    Enough,
    /// There may be more after this record.
    UpTo(Record<'g, M>),
    /// Another thread has changed the path to the first record meanwhile.
    Moved,
}

/// What sees the records of a scan of the tree.
type Visits<'v, T> = &'v mut dyn RunVisitor<<T as Walked>::Medium, <T as Walked>::Version, T>;

/// Shows the entries within the bound at which the scan starts, in order, until `visitor` breaks.
pub(crate) fn scan<T: Walked, const UP: bool>(
    tree: &T,
    cursor: &mut Cursor<T::Version>,
    first: Bound<&[u8]>,
    visitor: Visits<'_, T>,
) -> Result<()> {
    let mut key = Vec::new();
    let mut has_shown = false;
    loop {
        let guard = tree.open_map().pin()?;
        let first = if has_shown { Bound::Excluded(&key[..]) } else { first };
        match show_in_pin::<T, UP>(tree, &guard, cursor, first, visitor)? {
            Shown::Enough => return Ok(()),
            // Retries with a new pin.
            Shown::Moved => {}
            Shown::UpTo(record) => {
                key.clear();
                record.copy_key(&mut key);
                has_shown = true;
            }
        }
    }
}

/// A walk that has noted its first entries; `None` if another thread has changed the path to them.
pub(crate) fn begin<'g, 'b, T: Walked, const UP: bool>(
    tree: &'g T,
    guard: &'g Guard<'g, T::Medium>,
    batch: &mut Batch<T::Version>,
    goes_on: &mut bool,
    first: Bound<&'b [u8]>,
) -> Result<Option<T::Walk<'g, 'b, UP>>> {
    let mut begun = tree.walk::<UP>(guard, first)?;
    // Short scans must stay cheap: the first walk notes as little as possible.
    begun.note(batch, if *goes_on { AFTER_PAUSE } else { 1 })?;
    if begun.has_moved() {
        batch.clear();
        return Ok(None);
    }
    *goes_on = true;
    batch.ask_for(0, guard.media());
    Ok(Some(begun))
}

fn show_in_pin<'g, T: Walked, const UP: bool>(
    tree: &'g T,
    guard: &'g Guard<'g, T::Medium>,
    cursor: &mut Cursor<T::Version>,
    first: Bound<&[u8]>,
    visitor: Visits<'_, T>,
) -> Result<Shown<'g, T::Medium>> {
    let media = guard.media();
    let Cursor { batch, noted, goes_on } = cursor;
    if noted.within(guard).is_none() {
        batch.clear();
    }
    let (mut walk, mut shown) = (None, None);
    loop {
        let is_fresh = walk.is_none() && shown.is_none() && batch.is_spent();
        if is_fresh {
            batch.clear();
            *noted = Seat::take(guard, ());
            let Some(begun) = begin::<T, UP>(tree, guard, batch, goes_on, first)? else {
                return Ok(Shown::Moved);
            };
            walk = Some(begun);
        }
        let until = match &mut walk {
            Some(_) if is_fresh => 1,
            Some(walk) if !walk.has_ended() && (shown.is_none() || batch.passed() < AT_MOST) => {
                note_ahead(walk, batch, media)?;
                batch.look_ahead()
            }
            _ => batch.len(),
        };
        // A record noted by a walk of this call was in the map at a moment of the call.
        let are_new = walk.is_some() && shown.is_none();
        // In key order, only the first records can be outside of a bound that has moved.
        let is_outside = |record| Ok(!lies_within::<T::Medium, UP>(media, record, first)?);
        if shown.is_none() && batch.skip(is_outside)? {
            if walk.is_none() {
                // What was noted is no longer valid: a key may have been inserted after the skipped records.
                batch.clear();
            }
            continue;
        }
        let since = batch.passed();
        let seen = batch.show_runs((tree, media), until, are_new, visitor)?;
        shown = batch.last_since(since).or(shown);
        match seen {
            BatchShown::Enough => return Ok(Shown::Enough),
            BatchShown::All => break,
            BatchShown::Changed => {
                batch.clear();
                walk = None;
                if shown.is_some() {
                    break;
                }
            }
            BatchShown::Some => {}
        }
    }
    ended::<T::Medium, UP>(media, shown, first)
}

/// The outcome of a pin in which the record at `shown` was the last one shown.
fn ended<'g, M: Media, const UP: bool>(
    media: &'g M,
    shown: Option<u64>,
    first: Bound<&[u8]>,
) -> Result<Shown<'g, M>> {
    let Some(at) = shown else { return Ok(Shown::Enough) };
    let record = Record::enter(media, at)?;
    // Without this check, a scan of a damaged pool might never end.
    if is_within::<M, UP>(&record, first, 0) {
        Ok(Shown::UpTo(record))
    } else {
        Err(Error::Corrupt { offset: at, what: "keys that are not in order" })
    }
}

/// Notes the next records if few are left to show, and prefetches those after them.
fn note_ahead<V: Copy>(
    walk: &mut impl Walk<V>,
    batch: &mut Batch<V>,
    media: &impl Media,
) -> Result<()> {
    if batch.passed() >= batch.look_ahead() {
        let noted = batch.len();
        walk.note(batch, AHEAD)?;
        batch.ask_for(noted, media);
    }
    walk.ask_ahead(AHEAD)
}
