//! The stored order of the keys in a leaf array. With it, scans need not sort the array again, and need not read a key
//! before it is due.
//!
//! The slots of an array are unsorted. A scan that has sorted them stores their numbers, one byte each, with [`END`]
//! after the last one, and sets a bit in the lock word. It does so under the lock, if that is free at once. If no
//! thread has locked the array in this session, the scan makes the array ready, as a writer would: otherwise a session
//! that only reads would sort at every scan. So the first scan over an array may dirty the array's lines. The stored
//! order belongs to the version that the scan has sorted. It stays valid when records are replaced, and when slots are
//! emptied, because scans skip empty slots. A writer that inserts a key clears the bit.
//!
//! The order is volatile, as fingerprints are: it is never flushed, and void in the next session. Nothing is written to
//! a pool that is open for reading only, so every scan of such a pool sorts.

use crate::Result;
use crate::media::{Media, Ordering};

use crate::tree::roart::nodes::array::{Array, FINGERPRINTS};
use crate::tree::roart::nodes::lock::{LockWord, Locked};
use crate::tree::roart::nodes::word::{ArrayKind, Slot};

/// The mark after the last number, if there are fewer numbers than slots.
const END: u8 = 0xFF;

impl<'m, M: Media> Array<'m, M> {
    /// The start of the order: a word, and a byte in it.
    fn order_place(&self) -> (usize, usize) {
        let byte = self.kind().capacity();
        (FINGERPRINTS + byte / 8, byte % 8)
    }

    /// Calls `visit` with the occupied slots in key order. Returns `false` if the order is not stored, or if a writer
    /// intervened: then the visited slots are invalid.
    pub(crate) fn in_order(
        &self,
        version: LockWord,
        generation: u64,
        mut visit: impl FnMut(Slot),
    ) -> Result<bool> {
        if !version.is_ordered(generation) {
            return Ok(false);
        }
        let capacity = self.kind().capacity();
        let (first, inside) = self.order_place();
        for place in first..first + capacity.div_ceil(8) {
            // Relaxed: the order was stored before the lock word, and the lock word was read with Acquire. If this load
            // reads a later order, the version has changed.
            let word = self.words().load(place, Ordering::Relaxed).to_le_bytes();
            for number in &word[inside..] {
                match usize::from(*number) {
                    number if number < capacity => {
                        // The slot is durable if the version still holds: a writer clears the tag before it unlocks.
                        let slot = self.peek(number);
                        if !slot.is_empty() {
                            visit(slot);
                        }
                    }
                    number if number == usize::from(END) => break,
                    _ => return Err(self.corrupt("a slot beyond the end of its array")),
                }
            }
        }
        Ok(version.still_holds(&self.words()))
    }

    /// Stores the order for later scans. `numbers` are the occupied slots in key order.
    pub(crate) fn keep_order(&self, lock: &mut Locked<'_, M>, numbers: impl Iterator<Item = u8>) {
        let capacity = self.kind().capacity();
        let (first, inside) = self.order_place();
        let mut order = [END; ArrayKind::MOST + 8];
        if inside > 0 {
            // The fingerprints of an array of 4 are in the same word.
            let shared = self.words().load(first, Ordering::Relaxed).to_le_bytes();
            order[..inside].copy_from_slice(&shared[..inside]);
        }
        order[inside..].iter_mut().zip(numbers).for_each(|(byte, number)| *byte = number);
        for (word, &bytes) in order.as_chunks().0.iter().take(capacity.div_ceil(8)).enumerate() {
            // Release: pairs with the fence in `still_holds`. Suppose that a reader checks the version of one order,
            // and has read a number of a later order: then it sees that the version has changed.
            // equivalent mutant, relaxed: the writer of an order has seen the version to which the order belongs, and
            // on real hardware so has every reader of that order. Only the language needs the Release.
            self.words().store(first + word, u64::from_le_bytes(bytes), Ordering::Release);
        }
        lock.set_ordered(true);
    }
}
