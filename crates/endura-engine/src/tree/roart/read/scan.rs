//! Scans, in both directions, that read some entries ahead.
//!
//! A walk ([`key_walk`](crate::tree::roart::read::key_walk)) goes through the tree from the bound on. It notes the next
//! records, each with the node or array that holds it and the version of that holder. A noted record is shown if its
//! holder still has that version: the record was in the map at that moment. If not, another walk starts after the last
//! key shown. So no key is shown twice, and no key that stayed in the map is skipped. Nothing is pinned between two
//! calls ([`one_by_one`](crate::tree::roart::read::one_by_one) shows how an entry is read without a pin), and no pin
//! lasts longer than it takes to show [`AT_MOST`] entries.
//!
//! Each record has its own lines, which are prefetched some entries before the record is due, so that they arrive in
//! time. For the same reason the walk stays ahead: the next array is read while the last records of the one before
//! arrive.

use std::ops::{Bound, ControlFlow};

use crate::media::Media;
use crate::space::{Guard, Seat};
use crate::{Error, Result};

use crate::tree::records::bound::is_within;
use crate::tree::records::record::Record;
use crate::tree::roart::read::key_walk::KeyWalk;
use crate::tree::roart::read::noted::{Batch, BatchShown};
use crate::tree::roart::techniques::Techniques;
use crate::tree::roart::tree::Tree;

/// The least number of entries noted at a time. (An array is always noted whole.)
const AHEAD: usize = 16;

/// The least number of entries that each walk of a cursor notes first, except its first walk: another walk costs a
/// search from the root, and mostly a pin.
const AFTER_PAUSE: usize = 64;

/// The approximate number of entries shown in one pin.
const AT_MOST: usize = 1024;

/// A position in a scan in one direction. A new cursor starts at the bounds of its first call.
#[derive(Default)]
pub struct Cursor {
    pub(crate) batch: Batch,
    /// Valid while the noted records can be used.
    pub(crate) noted: Seat<()>,
    /// Whether the cursor has begun a walk before.
    goes_on: bool,
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

impl<M: Media, T: Techniques> Tree<M, T> {
    /// Shows the entries within the bound at which the scan starts, in order, until `visit` breaks.
    pub(crate) fn scan<const UP: bool>(
        &self,
        cursor: &mut Cursor,
        first: Bound<&[u8]>,
        visit: &mut impl FnMut(&Record<'_, M>) -> ControlFlow<()>,
    ) -> Result<()> {
        let mut key = Vec::new();
        let mut has_shown = false;
        loop {
            let guard = self.open.pin()?;
            let first = if has_shown { Bound::Excluded(&key[..]) } else { first };
            match self.show_in_pin::<UP>(&guard, cursor, first, visit)? {
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
    fn begin<'g, 'b, const UP: bool>(
        &'g self,
        guard: &'g Guard<'g, M>,
        batch: &mut Batch,
        goes_on: &mut bool,
        first: Bound<&'b [u8]>,
    ) -> Result<Option<KeyWalk<'g, 'b, M, T, UP>>> {
        let mut begun = KeyWalk::<M, T, UP>::new(self, self.root(guard)?, first)?;
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

    fn show_in_pin<'g, const UP: bool>(
        &'g self,
        guard: &'g Guard<'g, M>,
        cursor: &mut Cursor,
        first: Bound<&[u8]>,
        visit: &mut impl FnMut(&Record<'_, M>) -> ControlFlow<()>,
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
            // A record noted by a walk of this call was in the map at a moment of the call.
            let are_new = walk.is_some() && shown.is_none();
            // In key order, only the first records can be outside of a bound that has moved.
            let is_outside = |record| Ok(!lies_within::<M, UP>(media, record, first)?);
            if shown.is_none() && batch.skip(is_outside)? {
                if walk.is_none() {
                    // What was noted is no longer valid: a key may have been inserted after the skipped records.
                    batch.clear();
                }
                continue;
            }
            let since = batch.passed();
            let seen = batch.show_runs(media, until, are_new, &mut *visit)?;
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
        ended::<M, UP>(media, shown, first)
    }
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

#[cfg(all(test, not(loom)))]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::media::Heap;
    use crate::space::{PAGE, Session, Space};
    use crate::tree::roart::nodes::array::Array;
    use crate::tree::roart::nodes::word::LinkKind;
    use crate::tree::{ByteChange, ByteIndex};

    fn opened(heap: &Arc<Heap>, generation: u64) -> Tree<Arc<Heap>> {
        let session = Session { generation, clean: generation == 1, read_only: false };
        let space = Arc::new(Space::mount(Arc::clone(heap), session).unwrap());
        Tree::open(&space, "map").unwrap()
    }

    /// Whether the only child of the root, an array, has its order in this session.
    fn is_ordered(tree: &Tree<Arc<Heap>>, generation: u64) -> bool {
        let guard = tree.open.pin().unwrap();
        let root = tree.root(&guard).unwrap();
        let (_, _, link) = root.next_child::<true>(0).unwrap();
        let LinkKind::Array(kind) = link.kind().unwrap() else { panic!("no array") };
        let array = Array::enter(tree.open.space().media(), link.at(), kind).unwrap();
        array.version().is_ordered(generation)
    }

    /// The keys, in the order in which a scan shows them.
    fn scan(tree: &Tree<Arc<Heap>>) -> Vec<Vec<u8>> {
        let mut keys = Vec::new();
        tree.scan::<true>(&mut Cursor::default(), Bound::Unbounded, &mut |record| {
            keys.push(record.key().to_vec());
            ControlFlow::Continue(())
        })
        .unwrap();
        keys
    }

    /// A session that only reads sorts an array once. Its first scan stores the order, and so begins a version of the
    /// array. It notes the records under that version, so that one walk shows all of them.
    #[test]
    fn a_scan_leaves_the_order_of_an_array_that_no_writer_of_the_session_has_locked() {
        let heap = Arc::new(Heap::new(16 * PAGE));
        Space::format(&heap).unwrap();
        let keys: Vec<Vec<u8>> = (0..20).map(|n: u8| vec![b'k', n * 7 % 20]).collect();
        let mut sorted = keys.clone();
        sorted.sort();
        let tree = opened(&heap, 1);
        for key in &keys {
            tree.modify(key, |_| ByteChange::Put(key.clone().into())).unwrap();
        }
        drop(tree);
        for generation in 2..5 {
            let tree = opened(&heap, generation);
            assert!(!is_ordered(&tree, generation));
            let guard = tree.open.pin().unwrap();
            let (mut batch, mut goes_on) = (Batch::default(), false);
            tree.begin::<true>(&guard, &mut batch, &mut goes_on, Bound::Unbounded)
                .unwrap()
                .unwrap();
            let mut shown = Vec::new();
            let seen = batch.show_runs(guard.media(), usize::MAX, false, |record| {
                shown.push(record.key().to_vec());
                ControlFlow::Continue(())
            });
            assert!(matches!(seen.unwrap(), BatchShown::Some));
            assert_eq!(shown, sorted);
            assert!(is_ordered(&tree, generation));
            drop(guard);
            assert_eq!(scan(&tree), sorted);
            assert_eq!(tree.exact_len().unwrap(), keys.len() as u64, "each record counts once");
            tree.modify(b"kz", |_| ByteChange::Put(b"".into())).unwrap();
            assert!(!is_ordered(&tree, generation));
            tree.modify(b"kz", |_| ByteChange::Remove).unwrap();
        }
    }
}
