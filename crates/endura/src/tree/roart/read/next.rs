//! The next entry of a scan whose caller takes them one by one.
//!
//! Most are copied without a pin. The scan ([`scan`](crate::tree::roart::read::scan)) has noted some records, and takes a
//! seat as it does so. A step looks at the next of them as a scan of numbers looks at its leaf:
//!
//! 1. it reads the lengths in the record, and then the holder's version: if that is the one noted, the record is in the
//!    map at this moment of the call;
//! 2. it reads the epoch: if that covers the seat, both chunks were what they had been, and the lengths are true;
//! 3. it copies the record, and reads the epoch again: if that still covers the seat, no thread had used the chunk for
//!    something else by then, and a record does not change as long as it is one.
//!
//! Where any of it fails the step is a scan that shows one entry, in a pin. So nothing is handed out that the map did
//! not hold during the call, and a map that was dropped, or a pool that was closed, is noticed by the next step.

use std::ops::{Bound, ControlFlow};

use crate::Result;
use crate::media::{Media, Ordering, Region};
use crate::sync::fence;
use crate::tree::Entry;

use crate::tree::roart::nodes::record::Record;
use crate::tree::roart::read::bound::has_passed;
use crate::tree::roart::read::scan::Cursor;
use crate::tree::roart::techniques::Techniques;
use crate::tree::roart::tree::Tree;

/// A larger record is copied in a pin: the copy might take so long that it is in vain.
const LARGE: u64 = 64 << 10;

impl<M: Media, T: Techniques> Tree<M, T> {
    /// Copies the next entry within `first`, at which the scan starts, and `last`; returns whether there is one.
    pub(crate) fn next<const UP: bool>(
        &self,
        cursor: &mut Cursor,
        (first, last): (Bound<&[u8]>, Bound<&[u8]>),
        with_value: bool,
        entry: &mut Entry,
    ) -> Result<bool> {
        let is_copied = self.copy_noted(cursor, with_value, entry);
        if !is_copied || !has_passed::<UP>(entry.key(), first) {
            if is_copied {
                // The bound has moved beyond what was noted: a key may have been inserted there since.
                cursor.batch.clear();
            }
            let mut is_there = false;
            self.scan::<UP>(cursor, first, &mut |record| {
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

    /// Copies the next of the noted records, and passes it; `false` if that takes a pin.
    #[inline(always)]
    fn copy_noted(&self, cursor: &mut Cursor, with_value: bool, entry: &mut Entry) -> bool {
        let Cursor { batch, noted, .. } = cursor;
        let Some((at, holder, version)) = batch.next() else { return false };
        let (open, media) = (&self.open, self.open.space().media());
        let found = noted.look(open.space(), |()| {
            let record = Record::within(media, at)?;
            let holder = Region::within(media, holder, 1)?;
            // Its fence is behind the load of the lengths, and pairs with `before_reuse`.
            version.still_holds(&holder).then_some(record)
        });
        let Some(record) = found.filter(|record| record.bytes() <= LARGE) else { return false };
        if !open.admits_readers() {
            return false;
        }
        record.copy_to(with_value, entry);
        // Behind the loads of the copy. Pairs with `before_reuse`.
        fence(Ordering::Acquire);
        let is_covered = noted.look(open.space(), |()| Some(())).is_some();
        if is_covered {
            batch.pass(record.bytes(), media);
        }
        is_covered
    }
}
