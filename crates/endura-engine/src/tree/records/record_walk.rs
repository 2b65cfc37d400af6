//! A walk over all records of a tree for a leak recovery, while other threads change the tree.

use std::ops::{Bound, ControlFlow};

use crate::media::Media;
use crate::space::{Guard, LeakWalk, OpenMap};
use crate::tree::records::record::Record;
use crate::tree::records::scan::scan::{Cursor, Walked, scan};
use crate::{Error, Result};

/// Shows records until it is told to stop.
type Visitor<'v, M> = &'v mut dyn FnMut(&Record<'_, M>) -> ControlFlow<()>;

/// A walk over all records. The nodes have walks of their own.
///
/// It is a scan. A record that stays linked during the whole walk is the record of a key that stays in the map, and a scan
/// skips none of these. A record that was linked since the walk began is a fresh chunk, or one that a leak recovery keeps
/// for another reason: its writer holds the pin in which the record was allocated. What the scan returns is durable, and so
/// is what it passes: otherwise a power loss could bring back an older record, whose chunk was freed.
pub(crate) struct RecordWalk<M: Media, S> {
    open: OpenMap<M>,
    /// Goes on with the scan.
    scan: S,
}

impl<M: Media, S: FnMut(Visitor<'_, M>) -> Result<()> + Send> RecordWalk<M, S> {
    pub(crate) fn new(open: &OpenMap<M>, scan: S) -> Self {
        Self { open: open.clone(), scan }
    }
}

/// A walk over all records of a tree with a [walk](Walked). Each step goes on behind the last key shown.
pub(crate) fn walk_over_records<T>(tree: &T) -> Box<dyn LeakWalk<T::Medium>>
where
    T: Walked + Clone + Send,
{
    let (tree, mut cursor, mut last) = (tree.clone(), Cursor::default(), None::<Vec<u8>>);
    let open = tree.open_map().clone();
    Box::new(RecordWalk::new(&open, move |visit| {
        let mut shown = last.clone();
        let first = last.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let scanned =
            scan::<_, true>(&tree, &mut cursor, first, &mut |record: &Record<'_, T::Medium>| {
                let key = shown.get_or_insert_default();
                key.clear();
                record.copy_key(key);
                visit(record)
            });
        last = shown;
        scanned
    }))
}

impl<M: Media, S: FnMut(Visitor<'_, M>) -> Result<()> + Send> LeakWalk<M> for RecordWalk<M, S> {
    fn step(
        &mut self,
        guard: &Guard<'_, M>,
        visit: &mut dyn FnMut(u64, u64) -> Result<()>,
        bite: usize,
    ) -> Result<bool> {
        if self.open.map().is_dropped() {
            return Ok(true);
        }
        // If a checkpoint may be replaced by what this walk finds, the walk reads records whole: in most pages that have
        // rotted, the lengths alone still look right.
        let reads_records = guard.space().makes_checkpoints();
        let (mut left, mut result) = (bite, Ok(()));
        let scanned = (self.scan)(&mut |record| {
            let checked = if reads_records { record.check_sum() } else { Ok(()) };
            result = checked.and_then(|()| visit(record.at(), record.bytes()));
            left -= 1;
            match result.is_err() || left == 0 {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        match scanned {
            // The map was dropped since the step began.
            Err(Error::Dropped) => Ok(true),
            scanned => scanned.and(result).map(|()| left > 0),
        }
    }
}
