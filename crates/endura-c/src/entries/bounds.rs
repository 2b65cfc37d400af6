//! Flags and bounds of what has an order.

use std::ops::Bound;

use crate::failure::{Failure, Outcome};
use crate::memory::{Slice, bytes_or_none};

/// From the largest key down.
pub const DESCENDING: u32 = 1;
/// The key at which a range begins is not in it.
pub const FROM_AFTER: u32 = 2;
/// The key at which a range ends is in it.
pub const TO_INCLUDED: u32 = 4;
/// Values are not read.
pub const KEYS_ONLY: u32 = 8;

/// Refuses flags that a function has no use for.
#[inline]
pub(super) fn check(flags: u32, usable: u32) -> Outcome<()> {
    match flags & !usable {
        0 => Ok(()),
        other => Err(Failure::argument(format!(
            "this function has no use for the flags {other:#x}: leave them out"
        ))),
    }
}

/// A range of encodings.
pub(super) type Bounds<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);

/// The bounds of a range, from what C gives.
pub(super) fn bounds<'a>(from: *const Slice, to: *const Slice, flags: u32) -> Outcome<Bounds<'a>> {
    let (from, to) = (bytes_or_none(from, "from")?, bytes_or_none(to, "to")?);
    let from = from.map_or(Bound::Unbounded, |from| match flags & FROM_AFTER {
        0 => Bound::Included(from),
        _ => Bound::Excluded(from),
    });
    let to = to.map_or(Bound::Unbounded, |to| match flags & TO_INCLUDED {
        0 => Bound::Excluded(to),
        _ => Bound::Included(to),
    });
    Ok((from, to))
}
