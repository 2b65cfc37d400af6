//! The list of descriptors that carry the locks of pools. A forked child finds and closes them there.
//!
//! A lock belongs to the open file description, which a forked child shares. The child would keep the pool locked after
//! its parent died, so it closes the descriptors in its fork handler. The handler may use only atomics: a mutex may
//! have been held by a thread that does not exist in the child. So the descriptors are in a list of slots that is never
//! freed.

use std::fs::File;
use std::os::fd::{AsRawFd, IntoRawFd};
use std::sync::atomic::{AtomicU64, Ordering};

use super::number_owner::NumberOwner;
use super::slots::Slots;

/// One place for a descriptor.
#[derive(Debug, Default)]
pub(super) struct Slot {
    /// 0 = free, [`NOT_OURS`], or a ticket in the upper half and descriptor + 1 in the lower.
    taken: AtomicU64,
    /// Device and inode of the file; zeros where they are not known yet.
    file: [AtomicU64; 2],
}

/// The value of a slot that is about to be freed, and whose descriptor is no longer ours because other code has closed
/// it.
const NOT_OURS: u64 = u64::MAX;

pub(super) static SLOTS: Slots<Slot> = Slots::new(
    [const { Slot { taken: AtomicU64::new(0), file: [const { AtomicU64::new(0) }; 2] } }; 64],
);
/// The next ticket. Tickets distinguish the successive users of one slot and one descriptor number, also across forks.
static TICKET: AtomicU64 = AtomicU64::new(0);

/// A descriptor in the list.
#[derive(Debug)]
pub(super) struct Kept {
    slot: &'static Slot,
    taken: u64,
    file: [u64; 2],
    owner: NumberOwner,
}

impl Kept {
    pub(super) fn new(file: File) -> Self {
        let id = file_of(file.as_raw_fd()).unwrap_or_default();
        let descriptor = file.into_raw_fd();
        let owner = NumberOwner::of(descriptor);
        let ticket = TICKET.fetch_add(1, Ordering::Relaxed);
        let taken = (ticket << 32) | (descriptor as u64 + 1);
        let slot = SLOTS.take(|slot| {
            // Pairs with `let_go_in_child`, which runs in the thread that forked: any order is enough.
            let (order, relaxed) = (Ordering::AcqRel, Ordering::Relaxed);
            slot.taken.compare_exchange(0, taken, order, relaxed).ok().map(|_| slot)
        });
        slot.file.iter().zip(id).for_each(|(word, id)| word.store(id, Ordering::Relaxed));
        Self { slot, taken, file: id, owner }
    }

    /// Whether the descriptor still refers to the file: other code may have closed it.
    pub(super) fn is_own(&self) -> bool {
        self.owner.is_current() && is_of(self.descriptor(), self.file)
    }

    /// Whether the descriptor is still in the list. It is not in a child, whose fork handler emptied the list.
    pub(super) fn is_there(&self) -> bool {
        self.slot.taken.load(Ordering::Acquire) == self.taken
    }

    pub(super) fn descriptor(&self) -> i32 {
        descriptor(self.taken)
    }

    /// Removes the descriptor from the list and closes it, if it is still in the list and still ours.
    pub(super) fn close(&self) {
        let (order, relaxed) = (Ordering::AcqRel, Ordering::Relaxed);
        let is_own = self.is_own();
        // A child that is forked before the slot is free closes the descriptor without a look at the file.
        let last = if is_own { self.taken } else { NOT_OURS };
        if self.slot.taken.compare_exchange(self.taken, last, order, relaxed).is_err() {
            return;
        }
        self.slot.file.iter().for_each(|word| word.store(0, relaxed));
        if self.slot.taken.compare_exchange(last, 0, order, relaxed).is_ok() && is_own {
            // SAFETY: the slot carried our ticket until this moment, and `is_own` has found our file, so the descriptor
            // is open in this process and ours; no other thread uses it again.
            unsafe { libc::close(self.descriptor()) };
        }
    }
}

fn descriptor(taken: u64) -> i32 {
    (taken as u32 - 1) as i32
}

/// Device and inode of the file that is open under this number. Safe to call in the handler of a fork.
fn file_of(descriptor: i32) -> Option<[u64; 2]> {
    let mut facts = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the call writes the facts, or fails.
    let done = unsafe { libc::fstat(descriptor, facts.as_mut_ptr()) } == 0;
    // SAFETY: the call has written the facts.
    let facts = done.then(|| unsafe { facts.assume_init() })?;
    Some([facts.st_dev, facts.st_ino])
}

fn is_of(descriptor: i32, file: [u64; 2]) -> bool {
    file_of(descriptor) == Some(file)
}

/// Closes all descriptors in a forked child. The parent keeps the locks, because it still has the same open file
/// descriptions.
pub(super) fn let_go_in_child() {
    for slot in SLOTS.iter() {
        let taken = slot.taken.swap(0, Ordering::AcqRel);
        let file = slot.file.each_ref().map(|word| word.swap(0, Ordering::Relaxed));
        let is_kept = ![0, NOT_OURS].contains(&taken);
        if is_kept && (file == [0; 2] || is_of(descriptor(taken), file)) {
            // SAFETY: the descriptor was kept here and is the child's own copy; the handles that refer to it will find
            // another ticket or none.
            unsafe { libc::close(descriptor(taken)) };
        }
    }
}
