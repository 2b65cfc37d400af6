//! The records of a leaf array in key order.
//!
//! The sort works on numbers of eight bytes: seven bytes of a key, and below them the number of the slot. If keys agree
//! in seven bytes, it compares the next seven.

use crate::Result;
use crate::media::Media;

use crate::tree::records::record::Record;
use crate::tree::roart::nodes::array::Array;
use crate::tree::roart::nodes::word::Slot;

/// Bytes of a key that are compared at a time.
const STEP: usize = 7;

/// The occupied slots of an array in key order. A walk has one `Sorted` for all its arrays: its memory grows to what
/// the largest array needs, and is kept for the next array.
#[derive(Default)]
pub(crate) struct Sorted {
    /// All slots of the array.
    slots: Vec<Slot>,
    order: Vec<u64>,
}

impl Sorted {
    /// Reads the records of an array, whose keys agree in their first `from` bytes, and replaces the previous contents.
    pub(crate) fn take<M: Media>(&mut self, array: &Array<'_, M>, from: usize) -> Result<()> {
        let (media, capacity) = (array.words().media(), array.kind().capacity());
        self.slots.clear();
        self.order.clear();
        self.slots.reserve(capacity);
        self.order.reserve(capacity);
        for number in 0..capacity {
            let slot = array.load(number);
            self.slots.push(slot);
            if !slot.is_empty() {
                // The keys of all records are prefetched at once, so that the misses overlap.
                Record::prefetch_key(media, slot.at());
                self.order.push(number as u64);
            }
        }
        let slots = &self.slots;
        let key =
            |entry: u64, from| Record::sort_key(media, slots[usize::from(entry as u8)].at(), from);
        sort(&mut self.order, from, &key)
    }

    /// The offsets of the records, in order.
    pub(crate) fn records(&self) -> impl ExactSizeIterator<Item = u64> {
        self.numbers().map(|number| self.slots[usize::from(number)].at())
    }

    /// The numbers of the slots of the records, in order.
    pub(crate) fn numbers(&self) -> impl ExactSizeIterator<Item = u8> {
        self.order.iter().map(|&entry| entry as u8)
    }
}

/// Sorts entries whose keys agree in their first `from` bytes. The lowest byte of an entry selects its key: `key(entry,
/// from)` returns eight bytes of the key from byte `from` on, and its length.
fn sort(
    entries: &mut [u64],
    mut from: usize,
    key: &impl Fn(u64, usize) -> Result<(u64, usize)>,
) -> Result<()> {
    while entries.len() > 1 {
        let mut longest = 0;
        for entry in &mut *entries {
            let (bytes, length) = key(*entry, from)?;
            longest = longest.max(length);
            *entry = bytes & !0xFF | *entry & 0xFF;
        }
        entries.sort_unstable();
        from += STEP;
        let agree = |a: &u64, b: &u64| a >> 8 == b >> 8;
        if longest <= from {
            // Keys that still agree differ only in zeros at their end.
            for same in entries.chunk_by_mut(agree).filter(|same| same.len() > 1) {
                for entry in &mut *same {
                    *entry = (key(*entry, from)?.1 as u64) << 8 | *entry & 0xFF;
                }
                same.sort_unstable();
            }
            return Ok(());
        }
        if entries.first().zip(entries.last()).is_some_and(|(a, b)| agree(a, b)) {
            // A loop, not a recursion: keys may agree in thousands of bytes.
            continue;
        }
        // Most keys differ by now.
        if entries.windows(2).any(|pair| agree(&pair[0], &pair[1])) {
            return entries.chunk_by_mut(agree).try_for_each(|same| sort(same, from, key));
        }
        return Ok(());
    }
    Ok(())
}
