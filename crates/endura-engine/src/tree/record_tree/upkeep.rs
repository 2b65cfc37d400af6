//! Walks over all records.

use std::ops::Bound;

use crate::Result;
use crate::media::Media;
use crate::space::LeakWalk;
use crate::tree::numbers::NumberTree;
use crate::tree::record_tree::scan::Cursor;
use crate::tree::record_tree::tree::{RecordTree, record_at};
use crate::tree::records::record::Record;
use crate::tree::records::record_walk::RecordWalk;

/// Checks the record at `at` of the entry with this number, whole, and passes its offset and its bytes to `visit`.
///
/// # Errors
///
/// [`Error::Corrupt`](crate::Error::Corrupt).
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

impl<M: Media, T: NumberTree<Medium = M>> RecordTree<T> {
    /// A walk over all records, for a [`LeakRecoverer`](crate::space::LeakRecoverer). The nodes have walks of their own.
    pub fn marking(&self) -> Box<dyn LeakWalk<M>> {
        let (tree, mut cursor) = (self.clone(), Cursor::default());
        let all = (Bound::Unbounded, Bound::Unbounded);
        Box::new(RecordWalk::new(self.open_map(), move |visit| {
            tree.scan_dyn::<true>(&mut cursor, all, visit)
        }))
    }
}
