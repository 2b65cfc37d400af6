//! Scans between two bounds: `first`, at which the scan starts, and `last`. With `UP` = false, `first` is the upper one.

use std::ops::{Bound, ControlFlow};

use crate::Result;
use crate::tree::records::bound::is_within;
use crate::tree::records::record::Record;
use crate::tree::records::scan::copies::Copies;
use crate::tree::records::scan::scan::{Cursor, Walked, scan};
use crate::tree::{Bytes, EntryVisitor};

/// Passes the entries to `visit`, in order, until it breaks.
pub(crate) fn visit<T: Walked, const UP: bool>(
    tree: &T,
    cursor: &mut Cursor<T::Version>,
    (first, last): (Bound<&[u8]>, Bound<&[u8]>),
    mut visit: impl FnMut(Bytes<'_>, Bytes<'_>) -> ControlFlow<()>,
) -> Result<()> {
    scan::<T, UP>(tree, cursor, first, &mut |record: &Record<'_, T::Medium>| {
        let is_due = match UP {
            true => is_within::<_, false>(record, last, 0),
            false => is_within::<_, true>(record, last, 0),
        };
        if is_due { visit(record.key(), record.value()) } else { ControlFlow::Break(()) }
    })
}

/// Does what [`visit`](visit()) does, with a copy of each entry, for a closure of the user. So the code of a scan is compiled once for all visitors.
pub(crate) fn copy<T: Walked, const UP: bool>(
    tree: &T,
    cursor: &mut Cursor<T::Version>,
    (first, last): (Bound<&[u8]>, Bound<&[u8]>),
    visit: EntryVisitor<'_>,
) -> Result<()> {
    let mut copies = Copies::<_, UP>::new(tree.open_map(), last, visit);
    scan::<T, UP>(tree, cursor, first, &mut copies)
}
