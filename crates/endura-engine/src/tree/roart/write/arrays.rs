//! New arrays.

use crate::Result;
use crate::media::Media;
use crate::space::Guard;

use crate::tree::records::fresh::Fresh;
use crate::tree::roart::nodes::array::Array;
use crate::tree::roart::nodes::publish::in_order;
use crate::tree::roart::nodes::word::{ArrayKind, Link, Slot};
use crate::tree::roart::techniques::Techniques;

/// The smallest kind of array for `records` records. `None` if no array holds that many.
pub(crate) fn array_for<T: Techniques>(records: usize) -> Option<ArrayKind> {
    ArrayKind::for_records(records).filter(|_| records <= T::LARGEST_ARRAY)
}

/// Writes an array that is not linked yet, and returns the word for it (under byte 0).
pub(crate) fn create_array<'g, T: Techniques, M: Media>(
    guard: &'g Guard<'g, M>,
    kind: ArrayKind,
    slots: &[Slot],
    fresh: &mut Fresh<'g, M>,
) -> Result<Link> {
    let at = fresh.alloc(Array::<M>::bytes_of(kind))?;
    in_order::<T>(guard.media());
    Array::create(guard, at, kind, slots)?;
    Ok(Link::array(at, kind, 0))
}
