//! The key order of a leaf's slots, as a scan found it. It takes one cache line, and saves later scans the sort until
//! an insert changes the leaf.
//!
//! # Which order it is
//!
//! An order belongs to a number of claimed slots. A claimed slot stays claimed, and each claim raises the number by
//! one. So while the leaf is OPEN, the number determines which slots are claimed. An order is kept only if none of
//! these slots can become an entry that the order lacks
//! ([`is_decided`](crate::tree::nbtree::read::lookup::CurrentLeaf::is_decided)): the order then has all entries until
//! the next claim. It may also have slots whose entry was removed, which a scan notices.
//!
//! # Who writes
//!
//! A scan stores the order that it found if this order belongs to more claims than the kept order. The scan first marks
//! the line as BUSY by an exchange; a scan that finds BUSY does not store. So a thread that is suspended in a store
//! costs other scans only the sort. The number only rises while the line belongs to the same leaf. So a reader that
//! finds the same number before and after it reads the slots has read the slots of one writer.

use crate::sync::{AtomicU64, Ordering, fence};

/// Slots in the order of their keys, one byte each, then [`NO_PLACE`](crate::cpu::small_sort::NO_PLACE), at the latest in
/// the last byte.
pub(crate) type Slots = [u8; 64];

/// The shift of the byte of the last word that has the number of claims.
const SHIFT: u32 = 56;
/// More than all numbers of claims.
const BUSY: u64 = 0xff << SHIFT;
/// The last byte of [`Slots`].
const END: u64 = 0xff << SHIFT;

/// 63 slots, one byte each, and the number of claims in the last byte; 0: no order is known.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct KeyOrder([AtomicU64; 8]);

impl KeyOrder {
    /// Forgets the order of a leaf that no other thread uses. Relaxed: the leaf is published with it.
    pub(crate) fn clear(&self) {
        self.0[7].store(0, Ordering::Relaxed);
    }

    /// Copies the order for this number of claims to `copy`. Returns whether that order is known. If not, `copy` has no
    /// meaning. The copy is made directly in its final place, in the words that its reader loads: a wider load would
    /// have to wait for several stores.
    #[inline(always)]
    pub(crate) fn recall(&self, claims: usize, copy: &mut Slots) -> bool {
        // Acquire: pairs with the last store in `keep`.
        let last = self.0[7].load(Ordering::Acquire);
        if last >> SHIFT != claims as u64 || claims == 0 {
            return false;
        }
        let (words, _) = copy.as_chunks_mut();
        for (copy, word) in words.iter_mut().zip(&self.0[..7]) {
            *copy = word.load(Ordering::Relaxed).to_le_bytes();
        }
        words[7] = (last | END).to_le_bytes();
        // Pairs with the fence in `keep`: if a word read above was stored there, the load below finds BUSY, or a later
        // value.
        fence(Ordering::Acquire);
        self.0[7].load(Ordering::Relaxed) == last
    }

    /// Keeps the order for this number of claims, unless one for as many or more claims is kept, or another thread is
    /// writing.
    pub(crate) fn keep(&self, claims: usize, slots: &Slots) {
        let last = self.0[7].load(Ordering::Relaxed);
        // BUSY is more than all numbers. Acquire: the stores below come after those of the thread that wrote `last`.
        // (Loom does not show this: it lets a thread read an old store, but never orders a store before one that was
        // made earlier.)
        let is_ours = last >> SHIFT < claims as u64
            && self.0[7].compare_exchange(last, BUSY, Ordering::Acquire, Ordering::Relaxed).is_ok();
        if !is_ours {
            return;
        }
        // Release: a thread that reads one of the stores below sees BUSY.
        fence(Ordering::Release);
        let (words, _) = slots.as_chunks();
        for (word, slots) in self.0[..7].iter().zip(words) {
            word.store(u64::from_le_bytes(*slots), Ordering::Relaxed);
        }
        let last = u64::from_le_bytes(words[7]) & !BUSY | (claims as u64) << SHIFT;
        // Release: pairs with the first load in `recall`.
        self.0[7].store(last, Ordering::Release);
    }
}

#[cfg(test)]
fn recalled(order: &KeyOrder, claims: usize) -> Option<Slots> {
    let mut slots = [0; 64];
    order.recall(claims, &mut slots).then_some(slots)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn slots(first: u8, count: u8) -> Slots {
        std::array::from_fn(|at| if at < count.into() { first ^ at as u8 } else { u8::MAX })
    }

    #[test]
    fn an_order_is_known_for_its_number_of_claims_and_no_other() {
        let order = KeyOrder::default();
        assert_eq!(recalled(&order, 0), None);
        for claims in 1..=63_u8 {
            order.keep(claims.into(), &slots(1, claims));
            // An order for fewer claims comes too late, and so does another for as many.
            order.keep(usize::from(claims) - 1, &slots(2, 3));
            order.keep(claims.into(), &slots(2, 3));
            for other in 0..=64 {
                let want = (other == usize::from(claims)).then(|| slots(1, claims));
                assert_eq!(recalled(&order, other), want);
            }
        }
        order.clear();
        assert!((0..=64).all(|claims| recalled(&order, claims).is_none()));
    }

    #[test]
    fn a_thread_that_writes_keeps_others_from_reading_and_writing() {
        let order = KeyOrder::default();
        order.keep(3, &slots(1, 3));
        order.0[7].store(BUSY, Ordering::Relaxed);
        order.keep(4, &slots(1, 4));
        assert!((0..=64).all(|claims| recalled(&order, claims).is_none()));
    }
}

/// All executions of concurrent reads and writes, because only memory orders keep an order whole.
#[cfg(all(test, loom))]
mod loom {
    use std::sync::Arc;

    use super::*;
    use crate::sync::loom::{Fault, check, check_finds, spawn};

    /// A different order for each number of claims.
    fn slots(claims: usize) -> Slots {
        let mut slots = [claims as u8; 64];
        slots[63] = u8::MAX;
        slots
    }

    fn an_order_is_read_whole() {
        let order = Arc::new(KeyOrder::default());
        order.keep(1, &slots(1));
        let written = Arc::clone(&order);
        let writer = spawn(move || written.keep(2, &slots(2)));
        for claims in [1, 2] {
            let found = recalled(&order, claims);
            assert!(found.is_none_or(|found| found == slots(claims)));
        }
        writer.join().unwrap();
        assert_eq!(recalled(&order, 2), Some(slots(2)));
    }

    #[test]
    fn loom_an_order_is_read_whole_beside_its_writer() {
        check(Some(3), an_order_is_read_whole);
        check_finds(Fault::NoFences, Some(3), an_order_is_read_whole);
    }

    /// The second writer finds the line BUSY, or the number of the first.
    #[test]
    fn loom_an_order_is_of_one_of_two_writers() {
        check(Some(3), || {
            let order = Arc::new(KeyOrder::default());
            let other = Arc::clone(&order);
            let writer = spawn(move || other.keep(1, &slots(1)));
            order.keep(2, &slots(2));
            writer.join().unwrap();
            let found = [1, 2]
                .map(|claims| recalled(&order, claims).filter(|found| *found == slots(claims)));
            assert_eq!(found.iter().flatten().count(), 1);
        });
    }
}
