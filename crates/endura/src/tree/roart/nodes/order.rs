//! The order of the keys in a leaf array, remembered: scans need not sort it again, nor look at a key
//! before its turn.
//!
//! The slots stand in an array in no order. A scan that has sorted them leaves their numbers, one byte
//! each, [`END`] behind the last, and says so in the lock word. It does so under the lock, if that is
//! free at once, and of an array that a writer of this session has made ready: scans of what nobody
//! writes to leave its lines clean. The order it leaves is that of the version it has sorted. It stays
//! right when records are replaced and when slots are emptied, which scans skip. Whoever enters a key
//! says that it is gone.
//!
//! Volatile in meaning, as fingerprints are: never flushed, and void in the next session.

use crate::Result;
use crate::media::{Media, Ordering};
use crate::pool::Space;

use crate::tree::roart::nodes::array::{Array, FINGERPRINTS};
use crate::tree::roart::nodes::lock::{LockWord, Locked};
use crate::tree::roart::nodes::sort::Sorted;
use crate::tree::roart::nodes::word::{ArrayKind, Slot};

/// Leaves the order of an array for the next scan, if that disturbs nobody.
pub(crate) fn remember<M: Media>(
    space: &Space<M>,
    array: &Array<'_, M>,
    seen: LockWord,
    sorted: &Sorted,
) {
    // One or none need no order. And a panic that is none of the pool's must not find it locked.
    if sorted.numbers().len() < 2 || std::thread::panicking() {
        return;
    }
    space.try_mut(|guard| {
        // What is locked or gone has no order for long.
        if let Some(mut lock) = Locked::try_acquire(guard, array.words(), seen) {
            array.keep_order(&mut lock, sorted.numbers());
        }
    });
}

/// Behind the last number, where there are fewer than slots.
const END: u8 = 0xFF;

impl<'m, M: Media> Array<'m, M> {
    /// Where the order begins: word and byte in it.
    fn order_place(&self) -> (usize, usize) {
        let byte = self.kind().capacity();
        (FINGERPRINTS + byte / 8, byte % 8)
    }

    /// Calls `visit` with the occupied slots in key order. `false` if it is not remembered; then, or
    /// if a writer came by, what was visited means nothing.
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
            // Relaxed: came before the lock word, which was read with Acquire; else the version has changed.
            let word = self.words().load(place, Ordering::Relaxed).to_le_bytes();
            for number in &word[inside..] {
                match usize::from(*number) {
                    number if number < capacity => {
                        // Durable if the version holds: a tag goes before the lock does.
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

    /// Leaves the order for later scans. `numbers` are the occupied slots by their keys.
    pub(crate) fn keep_order(&self, lock: &mut Locked<'_, M>, numbers: impl Iterator<Item = u8>) {
        let capacity = self.kind().capacity();
        let (first, inside) = self.order_place();
        let mut order = [END; ArrayKind::MOST + 8];
        if inside > 0 {
            // The fingerprints of an array of 4, in the same word.
            let shared = self.words().load(first, Ordering::Relaxed).to_le_bytes();
            order[..inside].copy_from_slice(&shared[..inside]);
        }
        order[inside..].iter_mut().zip(numbers).for_each(|(byte, number)| *byte = number);
        for (word, &bytes) in order.as_chunks().0.iter().take(capacity.div_ceil(8)).enumerate() {
            // Release: pairs with the fence in `still_holds`. Whoever reads a number of a later order than
            // the one it confirms sees that the version has moved.
            // equivalent mutant, relaxed: who leaves an order has seen the version that it is of, and so has, on
            // every machine, whoever sees the order; the language asks for the Release.
            self.words().store(first + word, u64::from_le_bytes(bytes), Ordering::Release);
        }
        lock.set_ordered(true);
    }
}
