//! The order of a leaf's keys, as the last scan found it: one line, so that scans of a leaf that no insert has changed
//! do not sort it again.
//!
//! # Which order it is
//!
//! An order belongs to a number of claimed slots. A slot that is claimed stays claimed, and each claim raises the number
//! by one. So while the leaf is OPEN a number says which slots were claimed. An order is kept only if none of these can
//! become an entry that it lacks
//! ([`is_decided`](crate::tree::nbtree::read::lookup::Place::is_decided)): it then has all entries until the next
//! claim. It may also have slots whose entry was removed, which a scan notices.
//!
//! # Who writes
//!
//! Any scan, if the order that it found is of more claims than the one that is kept. It first marks the line as BUSY by
//! an exchange; a scan that finds BUSY leaves the line alone. So a thread that is suspended here costs the others the
//! sort, and nothing else. The number only rises while the leaf is the same. So a reader that finds one number before
//! and after the slots has read the slots of one writer.

use crate::sync::{AtomicU64, Ordering, fence};

/// Slots in the order of their keys, one byte each, then [`NO_PLACE`](crate::cpu::small_sort::NO_PLACE), at the latest in
/// the last byte.
pub(crate) type Slots = [u8; 64];

/// The byte of the last word that has the number of claims.
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

    /// Copies the order for this number of claims, if it is known. Otherwise the copy means nothing. Into place, by the
    /// words in which it is read: a wider load of the copy would wait for these.
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
        // Pairs with the fence in `keep`: if a slot above was stored there, the load below finds BUSY, or what came
        // after it.
        fence(Ordering::Acquire);
        self.0[7].load(Ordering::Relaxed) == last
    }

    /// Keeps the order for this number of claims, unless one of as many or more is known or another thread is writing.
    pub(crate) fn keep(&self, claims: usize, slots: &Slots) {
        let last = self.0[7].load(Ordering::Relaxed);
        // BUSY is more, too. Acquire: the stores below come after those of the thread that wrote `last`. (Not seen by
        // loom, which lets a thread read an older store, but none that was made after a newer one.)
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
            // One of fewer claims comes too late, and so does another of as many.
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

/// Read and written at once, in all executions: only memory orders keep an order whole.
#[cfg(all(test, loom))]
mod loom {
    use std::sync::Arc;

    use super::*;
    use crate::sync::loom::{Fault, check, check_finds, spawn};

    /// Of each number of claims another order.
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

    /// The second one finds the line BUSY, or the first one's number.
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
