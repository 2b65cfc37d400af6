//! The records of a leaf array in the order of their keys.
//!
//! Sorted are numbers of eight bytes: seven of a key, and below them the number of the slot. Where keys
//! agree in seven bytes, the next seven decide.

use crate::Result;
use crate::media::Media;

use super::array::Array;
use super::record::Record;
use super::word::{ArrayKind, Slot};

/// Bytes of a key that are compared at a time.
const STEP: usize = 7;

/// The occupied slots of an array by their keys.
pub(super) struct Sorted {
    slots: [Slot; ArrayKind::MOST],
    order: [u64; ArrayKind::MOST],
    len: usize,
}

impl Sorted {
    /// The records of an array, whose keys agree in their first `from` bytes.
    pub(super) fn of<M: Media>(array: &Array<'_, M>, from: usize) -> Result<Self> {
        let mut sorted = Self { slots: [Slot(0); _], order: [0; _], len: 0 };
        for number in 0..array.kind().capacity() {
            let slot = array.load(number);
            if !slot.is_empty() {
                sorted.slots[number] = slot;
                sorted.order[sorted.len] = number as u64;
                sorted.len += 1;
            }
        }
        let (slots, media) = (&sorted.slots, array.words().media());
        let record = |entry: u64| Record::enter(media, slots[usize::from(entry as u8)].at());
        let order = &mut sorted.order[..sorted.len];
        // All misses at once.
        order.iter().for_each(|&entry| Record::prefetch_key(media, slots[entry as usize].at()));
        sort(order, from, &record)?;
        Ok(sorted)
    }

    /// The records, in order.
    pub(super) fn records(&self) -> impl Iterator<Item = u64> {
        self.numbers().map(|number| self.slots[usize::from(number)].at())
    }

    /// The numbers of their slots.
    pub(super) fn numbers(&self) -> impl ExactSizeIterator<Item = u8> {
        self.order[..self.len].iter().map(|&entry| entry as u8)
    }
}

/// Sorts entries whose lowest byte is what `record` tells a record by, and whose keys agree in their
/// first `from` bytes.
fn sort<'m, M: Media + 'm>(
    entries: &mut [u64],
    mut from: usize,
    record: &impl Fn(u64) -> Result<Record<'m, M>>,
) -> Result<()> {
    while entries.len() > 1 {
        let mut longest = 0;
        for entry in &mut *entries {
            let key = record(*entry)?;
            longest = longest.max(key.key_len());
            *entry = key.sort_key(from) & !0xFF | *entry & 0xFF;
        }
        entries.sort_unstable();
        from += STEP;
        let agree = |a: &u64, b: &u64| a >> 8 == b >> 8;
        if longest <= from {
            // Those that agree differ in nothing but zeros at their end.
            for same in entries.chunk_by_mut(agree).filter(|same| same.len() > 1) {
                for entry in &mut *same {
                    *entry = (record(*entry)?.key_len() as u64) << 8 | *entry & 0xFF;
                }
                same.sort_unstable();
            }
            return Ok(());
        }
        if entries.first().zip(entries.last()).is_some_and(|(a, b)| agree(a, b)) {
            // No deeper call: keys may agree in thousands of bytes.
            continue;
        }
        return entries.chunk_by_mut(agree).try_for_each(|same| sort(same, from, record));
    }
    Ok(())
}
