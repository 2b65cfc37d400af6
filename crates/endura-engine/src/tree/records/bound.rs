//! The comparison of a key with the bound of a scan.

use std::cmp::Ordering as Order;
use std::ops::Bound;

use crate::media::Media;

use crate::tree::records::record::Record;

/// Whether the key of `record` is within `bound`, given that the two agree in their first `from` bytes. With `UP`, the
/// bound is a lower bound, otherwise an upper bound.
#[inline]
pub(crate) fn is_within<M: Media, const UP: bool>(
    record: &Record<'_, M>,
    bound: Bound<&[u8]>,
    from: usize,
) -> bool {
    let beyond = if UP { Order::Greater } else { Order::Less };
    match bound {
        Bound::Unbounded => true,
        Bound::Included(key) => [beyond, Order::Equal].contains(&record.compare(key, from)),
        Bound::Excluded(key) => record.compare(key, from) == beyond,
    }
}

/// Does what [`is_within`] does, for the copy of a key.
#[inline(always)]
pub(crate) fn has_passed<const UP: bool>(key: &[u8], bound: Bound<&[u8]>) -> bool {
    let beyond = if UP { Order::Greater } else { Order::Less };
    match bound {
        Bound::Unbounded => true,
        Bound::Included(bound) => [beyond, Order::Equal].contains(&key.cmp(bound)),
        Bound::Excluded(bound) => key.cmp(bound) == beyond,
    }
}
