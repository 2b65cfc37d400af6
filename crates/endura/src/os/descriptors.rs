//! Descriptors that carry the locks of pools, where a forked child can find and close them.
//!
//! A lock belongs to the open file description, which a forked child shares. The child would keep the pool locked
//! after its parent died, so it closes the descriptors in its fork handler. The handler may use only atomics: a mutex
//! may be held for ever by a thread that the child does not have. So the descriptors are in a list of slots that is
//! never freed.

use std::fs::File;
use std::os::fd::IntoRawFd;
use std::sync::atomic::{AtomicU64, Ordering};

use super::slots::Slots;

/// One place for a descriptor.
#[derive(Debug, Default)]
pub(super) struct Slot {
    /// 0 = free, else a ticket in the upper half and descriptor + 1 in the lower.
    taken: AtomicU64,
}

pub(super) static SLOTS: Slots<Slot> =
    Slots::new([const { Slot { taken: AtomicU64::new(0) } }; 64]);
/// Tells apart the successive users of one slot and one descriptor number, across forks too.
static TICKET: AtomicU64 = AtomicU64::new(0);

/// A descriptor in the list.
#[derive(Debug)]
pub(super) struct Kept {
    slot: &'static Slot,
    taken: u64,
}

impl Kept {
    pub(super) fn new(file: File) -> Self {
        let descriptor = file.into_raw_fd() as u64;
        let ticket = TICKET.fetch_add(1, Ordering::Relaxed);
        let taken = (ticket << 32) | (descriptor + 1);
        let slot = SLOTS.take(|slot| {
            // Pairs with `let_go_in_child`, which runs in the thread that forked: any order does.
            let (order, relaxed) = (Ordering::AcqRel, Ordering::Relaxed);
            slot.taken.compare_exchange(0, taken, order, relaxed).ok().map(|_| slot)
        });
        Self { slot, taken }
    }

    /// Whether it stands there still; not so in a child whose handler emptied the list.
    pub(super) fn is_there(&self) -> bool {
        self.slot.taken.load(Ordering::Acquire) == self.taken
    }

    pub(super) fn descriptor(&self) -> i32 {
        descriptor(self.taken)
    }

    /// Takes it off the list and closes it, where it stands there still.
    pub(super) fn close(&self) {
        let (order, relaxed) = (Ordering::AcqRel, Ordering::Relaxed);
        if self.slot.taken.compare_exchange(self.taken, 0, order, relaxed).is_ok() {
            // SAFETY: the slot carried our ticket until this moment, hence the descriptor is open in this
            // process and ours; no other thread uses it again.
            unsafe { libc::close(self.descriptor()) };
        }
    }
}

fn descriptor(taken: u64) -> i32 {
    (taken as u32 - 1) as i32
}

/// Closes all descriptors, in a forked child: the locks remain with the parent, which still has
/// the same open file descriptions.
pub(super) fn let_go_in_child() {
    for slot in SLOTS.iter() {
        let taken = slot.taken.swap(0, Ordering::AcqRel);
        if taken != 0 {
            // SAFETY: the descriptor was kept here and is the child's own copy; the handles that
            // refer to it find another ticket or none.
            unsafe { libc::close(descriptor(taken)) };
        }
    }
}
