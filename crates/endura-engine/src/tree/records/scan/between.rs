//! Scans between two bounds: `first`, at which the scan starts, and `last`. With `UP` = false, `first` is the upper one.

use std::ops::{Bound, ControlFlow};

use crate::Result;
use crate::tree::records::bound::{has_passed, is_within};
use crate::tree::records::scan::scan::{Cursor, Walked, scan};
use crate::tree::{Bytes, Entry, EntryVisitor};

/// Passes the entries to `visit`, in order, until it breaks.
pub(crate) fn visit<T: Walked, const UP: bool>(
    tree: &T,
    cursor: &mut Cursor<T::Version>,
    (first, last): (Bound<&[u8]>, Bound<&[u8]>),
    mut visit: impl FnMut(Bytes<'_>, Bytes<'_>) -> ControlFlow<()>,
) -> Result<()> {
    scan::<T, UP>(tree, cursor, first, &mut |record| {
        let is_due = match UP {
            true => is_within::<_, false>(record, last, 0),
            false => is_within::<_, true>(record, last, 0),
        };
        if is_due { visit(record.key(), record.value()) } else { ControlFlow::Break(()) }
    })
}

/// Does what [`visit`](visit()) does, with a copy of each entry. So the code of a scan is compiled once for all visitors.
pub(crate) fn copy<T: Walked, const UP: bool>(
    tree: &T,
    cursor: &mut Cursor<T::Version>,
    (first, last): (Bound<&[u8]>, Bound<&[u8]>),
    visit: EntryVisitor<'_>,
) -> Result<()> {
    let mut entry = Entry::default();
    scan::<T, UP>(tree, cursor, first, &mut |record| {
        record.copy_to(true, &mut entry);
        let is_due = match UP {
            true => has_passed::<false>(entry.key(), last),
            false => has_passed::<true>(entry.key(), last),
        };
        if is_due { visit(entry.key(), entry.value()) } else { ControlFlow::Break(()) }
    })
}
