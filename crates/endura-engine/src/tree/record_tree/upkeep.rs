//! Walks over all records.

use std::ops::{Bound, ControlFlow};

use crate::media::Media;
use crate::space::{Guard, LeakWalk};
use crate::tree::numbers::NumberTree;
use crate::tree::record_tree::scan::Cursor;
use crate::tree::record_tree::tree::{RecordTree, record_at};
use crate::tree::records::record::Record;
use crate::{Error, Result};

/// Checks the record at `at` of the entry with this number, whole, and passes its offset and its bytes to `visit`.
///
/// # Errors
///
/// [`Error::Corrupt`].
pub(crate) fn check_record<M: Media>(
    media: &M,
    (number, at): (u64, u64),
    visit: &mut dyn FnMut(u64, u64),
) -> Result<()> {
    let record = record_at(media, at, number)?;
    visit(at, record.bytes());
    record.check_sum()
}

/// Passes the record at `at` of a map that was dropped to `note`, which remembers a chunk that is none.
pub(crate) fn note_record<M: Media>(
    media: &M,
    at: u64,
    note: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<()> {
    let record = Record::enter(media, at)?;
    note(at, record.bytes());
    Ok(())
}

/// A walk over all records for a leak recovery, while other threads change the tree. The nodes have walks of their own.
///
/// It is a scan. A record that stays linked during the whole walk is the record of a key that stays in the map, and a scan
/// skips none of these. A record that was linked since the walk began is a fresh chunk, or one that a leak recovery keeps
/// for another reason: its writer holds the pin in which the record was allocated. What the scan returns is durable, and so
/// is what it passes: otherwise a power loss could bring back an older record, whose chunk was freed.
struct RecordWalk<T, C> {
    tree: RecordTree<T>,
    cursor: Cursor<C>,
}

impl<M: Media, T: NumberTree<Medium = M>> RecordTree<T> {
    /// A walk over all records, for a [`LeakRecoverer`](crate::space::LeakRecoverer).
    pub fn marking(&self) -> Box<dyn LeakWalk<M>> {
        Box::new(RecordWalk { tree: self.clone(), cursor: Cursor::default() })
    }
}

impl<M: Media, T: NumberTree<Medium = M>> LeakWalk<M> for RecordWalk<T, T::Cursor> {
    fn step(
        &mut self,
        guard: &Guard<'_, M>,
        visit: &mut dyn FnMut(u64, u64) -> Result<()>,
        bite: usize,
    ) -> Result<bool> {
        if self.tree.open_map().map().is_dropped() {
            return Ok(true);
        }
        // If a checkpoint may be replaced by what this walk finds, the walk reads records whole: in most pages that have
        // rotted, the lengths alone still look right.
        let reads_records = guard.space().makes_checkpoints();
        let (mut left, mut result) = (bite, Ok(()));
        let all = (Bound::Unbounded, Bound::Unbounded);
        let scanned = self.tree.scan::<true>(&mut self.cursor, all, &mut |record| {
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
