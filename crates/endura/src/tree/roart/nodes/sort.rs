//! The records of a leaf array in the order of their keys.
//!
//! Sorted are numbers of eight bytes: seven of a key, and below them the number of the slot. Where keys
//! agree in seven bytes, the next seven decide.

use crate::Result;
use crate::media::Media;

use crate::tree::roart::nodes::array::Array;
use crate::tree::roart::nodes::record::Record;
use crate::tree::roart::nodes::word::{ArrayKind, Slot};

/// Bytes of a key that are compared at a time.
const STEP: usize = 7;

/// The occupied slots of an array by their keys.
pub(crate) struct Sorted {
    slots: [Slot; ArrayKind::MOST],
    order: [u64; ArrayKind::MOST],
    len: usize,
}

impl Sorted {
    /// Of no array.
    pub(crate) fn empty() -> Self {
        Self { slots: [Slot(0); _], order: [0; _], len: 0 }
    }

    /// Takes the records of an array, whose keys agree in their first `from` bytes, in place of what was there.
    pub(crate) fn take<M: Media>(&mut self, array: &Array<'_, M>, from: usize) -> Result<()> {
        self.len = 0;
        let media = array.words().media();
        for number in 0..array.kind().capacity() {
            let slot = array.load(number);
            if !slot.is_empty() {
                // All misses at once.
                Record::prefetch_key(media, slot.at());
                self.slots[number] = slot;
                self.order[self.len] = number as u64;
                self.len += 1;
            }
        }
        let slots = &self.slots;
        let key =
            |entry: u64, from| Record::sort_key(media, slots[usize::from(entry as u8)].at(), from);
        sort(&mut self.order[..self.len], from, &key)
    }

    /// The records, in order.
    pub(crate) fn records(&self) -> impl ExactSizeIterator<Item = u64> {
        self.numbers().map(|number| self.slots[usize::from(number)].at())
    }

    /// The numbers of their slots.
    pub(crate) fn numbers(&self) -> impl ExactSizeIterator<Item = u8> {
        self.order[..self.len].iter().map(|&entry| entry as u8)
    }
}

/// Sorts entries by whose lowest byte `key` finds a key, all of which agree in their first `from` bytes: `key`
/// gives eight bytes from some byte on, and how many there are in all.
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
            // Those that agree differ in nothing but zeros at their end.
            for same in entries.chunk_by_mut(agree).filter(|same| same.len() > 1) {
                for entry in &mut *same {
                    *entry = (key(*entry, from)?.1 as u64) << 8 | *entry & 0xFF;
                }
                same.sort_unstable();
            }
            return Ok(());
        }
        if entries.first().zip(entries.last()).is_some_and(|(a, b)| agree(a, b)) {
            // No deeper call: keys may agree in thousands of bytes.
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
