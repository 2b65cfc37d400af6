//! Scans, in both directions, some entries ahead of what is shown.
//!
//! A walk ([`walk`](crate::tree::roart::read::walk)) goes through the tree from the bound on and notes the records that come
//! next, with the node or array that holds them and the version of that. A noted record is shown if its
//! holder is still of that version: it was in the map at that moment. If not, another walk begins behind
//! the last key that was shown. So no key comes twice, and none that stayed in the map is passed over.
//! Nothing is pinned between two calls, nor for longer than it takes to show [`AT_MOST`] entries.
//!
//! Each record is in lines of its own, which are asked for some entries before their turn. For the same
//! reason the walk stays ahead of what is shown: an array that comes next is read while the last records
//! of the one before arrive.

use std::ops::{Bound, ControlFlow};

use crate::media::Media;
use crate::pool::{Guard, Seat};
use crate::tree::Bytes;
use crate::{Error, Result};

use crate::tree::roart::nodes::record::Record;
use crate::tree::roart::read::batch::{Batch, Seen};
use crate::tree::roart::read::bound::is_within;
use crate::tree::roart::read::walk::KeyWalk;
use crate::tree::roart::techniques::Techniques;
use crate::tree::roart::tree::Tree;

/// How many entries are noted at a time, or more: an array is noted whole.
const AHEAD: usize = 16;

/// How many where a scan goes on after its caller has had some: then a pin and a walk from the root
/// come with them.
const AFTER_PAUSE: usize = 64;

/// About how many entries are shown with one pin.
const AT_MOST: usize = 1024;

/// A place in a scan in one direction. Begins wherever the first call says.
#[derive(Default)]
pub struct Cursor {
    batch: Batch,
    /// Until when it can be gone on with.
    noted: Seat<()>,
    /// Whether this is not the first walk.
    goes_on: bool,
}

/// As [`is_within`], of the record at `at`. Not inlined, and told where the record is: a scan without an end keeps
/// all of it in registers.
#[inline(never)]
fn lies_within<M: Media, const UP: bool>(media: &M, at: u64, bound: Bound<&[u8]>) -> Result<bool> {
    Ok(is_within::<M, UP>(&Record::enter(media, at)?, bound, 0))
}

/// How far a batch went.
enum Shown<'g, M> {
    /// The visitor has enough, or there is no more.
    Enough,
    /// There may be more behind this one.
    UpTo(Record<'g, M>),
    /// Others have changed the way to the first one meanwhile.
    Moved,
}

impl<M: Media, T: Techniques> Tree<M, T> {
    /// Shows the entries within `first`, from which the scan comes, and `last`, in order, until
    /// `visit` breaks.
    pub(crate) fn scan<const UP: bool>(
        &self,
        cursor: &mut Cursor,
        first: Bound<&[u8]>,
        last: Bound<&[u8]>,
        visit: &mut impl FnMut(Bytes<'_>, Bytes<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let mut key = Vec::new();
        let mut has_shown = false;
        loop {
            let guard = self.open.pin()?;
            let first = if has_shown { Bound::Excluded(&key[..]) } else { first };
            match self.show::<UP>(&guard, cursor, first, last, visit)? {
                Shown::Enough => return Ok(()),
                // Again, with a new pin.
                Shown::Moved => {}
                Shown::UpTo(record) => {
                    key.clear();
                    record.copy_key(&mut key);
                    has_shown = true;
                }
            }
        }
    }

    /// A walk that has noted its first entries; none if others have changed the way to them.
    fn begin<'g, 'b, const UP: bool>(
        &'g self,
        guard: &'g Guard<'g, M>,
        batch: &mut Batch,
        goes_on: &mut bool,
        first: Bound<&'b [u8]>,
    ) -> Result<Option<KeyWalk<'g, 'b, M, T, UP>>> {
        let mut begun = KeyWalk::<M, T, UP>::new(self, self.root(guard)?, first)?;
        // Short scans are to stay cheap.
        begun.note(batch, if *goes_on { AFTER_PAUSE } else { 1 })?;
        if begun.has_moved() {
            batch.clear();
            return Ok(None);
        }
        *goes_on = true;
        batch.ask_for(0, guard.media());
        Ok(Some(begun))
    }

    fn show<'g, const UP: bool>(
        &'g self,
        guard: &'g Guard<'g, M>,
        cursor: &mut Cursor,
        first: Bound<&[u8]>,
        last: Bound<&[u8]>,
        visit: &mut impl FnMut(Bytes<'_>, Bytes<'_>) -> ControlFlow<()>,
    ) -> Result<Shown<'g, M>> {
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
                let Some(begun) = self.begin::<UP>(guard, batch, goes_on, first)? else {
                    return Ok(Shown::Moved);
                };
                walk = Some(begun);
            }
            let until = match &mut walk {
                Some(_) if is_fresh => 1,
                Some(walk)
                    if !walk.has_ended() && (shown.is_none() || batch.passed() < AT_MOST) =>
                {
                    note_ahead(walk, batch, media)?;
                    batch.look_ahead()
                }
                _ => batch.len(),
            };
            // What a walk of this call has noted was in the map at a moment of it.
            let are_new = walk.is_some() && shown.is_none();
            // In the order of the keys: only the first ones can be what the bound has moved past.
            let is_outside = |record| Ok(!lies_within::<M, UP>(media, record, first)?);
            if shown.is_none() && batch.skip(is_outside)? {
                if walk.is_none() {
                    // What was skipped no longer vouches for its holder: a key may have come behind it.
                    batch.clear();
                }
                continue;
            }
            let since = batch.passed();
            let seen = batch.show_run(media, until, are_new, |record| {
                let is_inside = match last {
                    Bound::Unbounded => true,
                    _ if UP => lies_within::<M, false>(media, record.at(), last)?,
                    _ => lies_within::<M, true>(media, record.at(), last)?,
                };
                let enough = ControlFlow::Break(());
                Ok(if is_inside { visit(record.key(), record.value()) } else { enough })
            })?;
            shown = batch.last_since(since).or(shown);
            match seen {
                Seen::Enough => return Ok(Shown::Enough),
                Seen::All => break,
                Seen::Changed => {
                    batch.clear();
                    walk = None;
                    if shown.is_some() {
                        break;
                    }
                }
                Seen::Some => {}
            }
        }
        ended::<M, UP>(media, shown, first)
    }
}

/// What to do after a pin in which the record at `shown` was the last.
fn ended<'g, M: Media, const UP: bool>(
    media: &'g M,
    shown: Option<u64>,
    first: Bound<&[u8]>,
) -> Result<Shown<'g, M>> {
    let Some(at) = shown else { return Ok(Shown::Enough) };
    let record = Record::enter(media, at)?;
    // Else a damaged pool could be scanned for ever.
    if is_within::<M, UP>(&record, first, 0) {
        Ok(Shown::UpTo(record))
    } else {
        Err(Error::Corrupt { offset: at, what: "keys that are not in order" })
    }
}

/// Notes what comes next if little is left to show, and asks for what comes then.
fn note_ahead<M: Media, T: Techniques, const UP: bool>(
    walk: &mut KeyWalk<'_, '_, M, T, UP>,
    batch: &mut Batch,
    media: &M,
) -> Result<()> {
    if batch.passed() >= batch.look_ahead() {
        let noted = batch.len();
        walk.note(batch, AHEAD)?;
        batch.ask_for(noted, media);
    }
    walk.ask_ahead(AHEAD)
}
