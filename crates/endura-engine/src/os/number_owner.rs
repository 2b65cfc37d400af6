//! Owners of descriptor numbers within one process.
//!
//! Other code may close a descriptor by its number; the kernel then gives that number to the next file that is opened.
//! That may be the same file again, opened by another handle of the same pool. Device and inode do not distinguish the
//! two handles, and the first one would close the descriptor of the second and unlock its pool. So each owner of a
//! number registers it. If a number is registered again, it was closed in between, and its earlier owner has lost it.

use std::sync::atomic::{AtomicU64, Ordering};

use super::slots::Slots;

/// A slot is 0 if it is free. Otherwise it has a ticket in its upper half, and the number + 1 in its lower half.
static OWNERS: Slots<AtomicU64> = Slots::new([const { AtomicU64::new(0) }; 64]);
/// The next ticket. Tickets distinguish the successive owners of one number.
static TICKET: AtomicU64 = AtomicU64::new(0);

/// The right to close the descriptor with a number.
#[derive(Debug)]
pub(super) struct NumberOwner {
    slot: &'static AtomicU64,
    taken: u64,
}

impl NumberOwner {
    /// Registers the number of a descriptor that the caller has just opened, and owns.
    pub(super) fn of(number: i32) -> Self {
        let lower = u64::from(number as u32) + 1;
        // Pairs with the exchange of another thread that takes or frees the same slot. The order of two such exchanges
        // does not matter: the second one finds another value and fails.
        let (order, relaxed) = (Ordering::AcqRel, Ordering::Relaxed);
        for slot in OWNERS.iter() {
            let found = slot.load(Ordering::Acquire);
            if found & u64::from(u32::MAX) == lower {
                let _ = slot.compare_exchange(found, 0, order, relaxed);
            }
        }
        let taken = TICKET.fetch_add(1, Ordering::Relaxed) << 32 | lower;
        let slot =
            OWNERS.take(|slot| slot.compare_exchange(0, taken, order, relaxed).ok().map(|_| slot));
        Self { slot, taken }
    }

    /// Whether this is still the last registration of the number.
    pub(super) fn is_current(&self) -> bool {
        self.slot.load(Ordering::Acquire) == self.taken
    }
}

impl Drop for NumberOwner {
    fn drop(&mut self) {
        let _ = self.slot.compare_exchange(self.taken, 0, Ordering::AcqRel, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_one_that_registers_a_number_owns_it() {
        // No test opens this many descriptors.
        let (a, b) = (i32::MAX - 1, i32::MAX - 2);
        let first = NumberOwner::of(a);
        let other = NumberOwner::of(b);
        assert!(first.is_current() && other.is_current());
        let second = NumberOwner::of(a);
        assert!(!first.is_current() && second.is_current() && other.is_current());
        drop(first);
        assert!(second.is_current());
        drop(second);
        let third = NumberOwner::of(a);
        assert!(third.is_current());
    }
}
