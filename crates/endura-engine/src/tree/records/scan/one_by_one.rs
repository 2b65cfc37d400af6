//! The next entry of a scan whose caller takes the entries one by one.
//!
//! Most entries are copied without a pin. The [scan](crate::tree::records::scan::scan) has noted some records,
//! and has taken a seat at that time. A step reads the next of these records as a scan of numbers reads its leaf:
//!
//! 1. it reads the lengths in the record, and then the holder's version: if that is the one noted, the record is in the
//!    map at this moment of the call;
//! 2. it copies the record;
//! 3. it reads the epoch: if that covers the seat, no thread had used either chunk for something else by then. So the
//!    lengths were true, and a record does not change before its chunk is reused.
//!
//! If any of these checks fails, the step is a scan in a pin that shows one entry. So the caller gets nothing that the
//! map did not hold during the call. A map that was dropped, or a pool that was closed, is noticed by the next step.

use std::ops::{Bound, ControlFlow};

use crate::Result;
use crate::media::{Ordering, Region};
use crate::sync::fence;
use crate::tree::Entry;

use crate::tree::records::bound::has_passed;
use crate::tree::records::record::Record;
use crate::tree::records::scan::noted::offset_of;
use crate::tree::records::scan::scan::{Cursor, Walked, scan};

/// A record of more bytes is copied in a pin: without a pin, the copy might take so long that it is in vain. Besides,
/// before a chunk is known to be a record, its words may claim any length.
const LARGE: u64 = 64 << 10;

/// Copies the next entry that is within both bounds: `first`, at which the scan starts, and `last`. Returns whether there
/// is one.
pub(crate) fn next<T: Walked, const UP: bool>(
    tree: &T,
    cursor: &mut Cursor<T::Version>,
    (first, last): (Bound<&[u8]>, Bound<&[u8]>),
    with_value: bool,
    entry: &mut Entry,
) -> Result<bool> {
    let is_copied = copy_noted(tree, cursor, with_value, entry);
    if !is_copied || !has_passed::<UP>(entry.key(), first) {
        if is_copied {
            // The bound has moved beyond what was noted: a key may have been inserted there since.
            cursor.batch.clear();
        }
        let mut is_there = false;
        scan::<T, UP>(tree, cursor, first, &mut |record: &Record<'_, T::Medium>| {
            record.copy_to(with_value, entry);
            is_there = true;
            ControlFlow::Break(())
        })?;
        if !is_there {
            return Ok(false);
        }
    }
    Ok(match UP {
        true => has_passed::<false>(entry.key(), last),
        false => has_passed::<true>(entry.key(), last),
    })
}

/// Copies the next of the noted records, and passes it. Returns `false` if this needs a pin.
#[inline(always)]
fn copy_noted<T: Walked>(
    tree: &T,
    cursor: &mut Cursor<T::Version>,
    with_value: bool,
    entry: &mut Entry,
) -> bool {
    let Cursor { batch, noted, .. } = cursor;
    let Some((record, holder, version)) = batch.next() else { return false };
    let (open, media) = (tree.open_map(), tree.open_map().space().media());
    let copied = noted.look(open.space(), |()| {
        let (noted, record) = (record, Record::within(media, offset_of(record))?);
        let holder = Region::within(media, holder, 1)?;
        if !tree.still_holds(&holder, version, noted)
            || record.bytes() > LARGE
            || !open.admits_readers()
        {
            return None;
        }
        record.copy_to(with_value, entry);
        // The fence comes after the loads of the copy, which are not ordered by themselves. It pairs with
        // `before_reuse`.
        fence(Ordering::Acquire);
        Some(record.bytes())
    });
    if let Some(bytes) = copied {
        batch.pass(bytes, media);
    }
    copied.is_some()
}
