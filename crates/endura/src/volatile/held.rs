//! Descriptors that carry the locks of pools, where a forked child can find and close them.
//!
//! A lock belongs to the open file description, which a child shares: it would keep the pool locked
//! after its parent died. The child therefore closes them in its fork handler. Nothing but atomics
//! may be touched there (any mutex may be held for ever by a thread that the child does not have),
//! so the descriptors stand in a list of slots that is never freed.

use std::fs::File;
use std::io;
use std::os::fd::{BorrowedFd, IntoRawFd};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{FlockOperation, flock};

use super::fork::{self, Birthplace};
use super::slots::Slots;

/// One place for a descriptor.
#[derive(Debug, Default)]
struct Slot {
    /// 0 = free, else a ticket in the upper half and descriptor + 1 in the lower.
    taken: AtomicU64,
}

static SLOTS: Slots<Slot> = Slots::new([const { Slot { taken: AtomicU64::new(0) } }; 64]);
/// Tells apart the successive users of one slot and one descriptor number, across forks too.
static TICKET: AtomicU64 = AtomicU64::new(0);

/// A descriptor whose lock ends with this process, even where a child outlives it. Of a child made by a raw
/// `clone` that holds only once the child has dropped its copy: no handler runs there.
#[derive(Debug)]
pub(crate) struct Held {
    slot: &'static Slot,
    taken: u64,
    birthplace: Birthplace,
}

impl Held {
    /// Takes over what `open` gives. It is called again if the process forked meanwhile.
    pub(crate) fn new(open: impl Fn() -> io::Result<File>) -> io::Result<Self> {
        fork::undisturbed(|| open().map(Self::keep))
    }

    fn keep(file: File) -> Self {
        let descriptor = file.into_raw_fd() as u64;
        let ticket = TICKET.fetch_add(1, Ordering::Relaxed);
        let taken = (ticket << 32) | (descriptor + 1);
        let birthplace = Birthplace::here();
        let slot = SLOTS.take(|slot| {
            // Pairs with `let_go_in_child`, which runs in the thread that forked: any order does.
            let (order, relaxed) = (Ordering::AcqRel, Ordering::Relaxed);
            slot.taken.compare_exchange(0, taken, order, relaxed).ok().map(|_| slot)
        });
        Self { slot, taken, birthplace }
    }

    /// False in a child: the handler emptied the slot, or, where a raw `clone` ran none, the birthplace
    /// is another.
    fn is_ours(&self) -> bool {
        !self.birthplace.is_elsewhere() && self.slot.taken.load(Ordering::Acquire) == self.taken
    }

    /// The descriptor; none in a forked child.
    pub(crate) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        // SAFETY: the slot still carries our ticket, so that the descriptor is open: it is closed
        // only by dropping `self`, or in a child, where the slot is empty before anyone can ask.
        self.is_ours().then(|| unsafe { BorrowedFd::borrow_raw(descriptor(self.taken)) })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let descriptor = descriptor(self.taken);
        if self.is_ours() {
            // SAFETY: the slot carries our ticket, hence the descriptor is open and ours.
            // Also a child of a raw `clone` has it, and closing ours alone would leave the lock to that one.
            let _ = unsafe { flock(BorrowedFd::borrow_raw(descriptor), FlockOperation::Unlock) };
        }
        // In a forked child the slot was emptied, and may since hold a pool of the child's own. In that of a
        // raw `clone` the descriptor is a copy, which is closed; the lock is the parent's, and stays.
        let (order, relaxed) = (Ordering::AcqRel, Ordering::Relaxed);
        if self.slot.taken.compare_exchange(self.taken, 0, order, relaxed).is_ok() {
            // SAFETY: the slot carried our ticket until this moment, hence the descriptor is open in this
            // process and ours; nobody uses it again.
            unsafe { libc::close(descriptor) };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_reused_and_never_run_out() {
        let open = || File::open("/dev/null");
        let many: Vec<_> = (0..200).map(|_| Held::new(open).unwrap()).collect();
        assert!(many.iter().all(|held| held.descriptor().is_some()));
        let blocks_then = SLOTS.blocks().count();
        assert!(blocks_then >= 4);
        drop(many);
        let again: Vec<_> = (0..200).map(|_| Held::new(open).unwrap()).collect();
        assert_eq!(SLOTS.blocks().count(), blocks_then);
        drop(again);
    }

    /// A child of that moment has a descriptor that its handler could not find.
    #[test]
    fn a_descriptor_opened_during_a_fork_is_opened_again() {
        let calls = std::cell::Cell::new(0);
        let held = Held::new(|| {
            calls.set(calls.get() + 1);
            let file = File::open("/dev/null");
            if calls.get() == 1 {
                // SAFETY: the child leaves at once by `_exit`, and its parent waits for it.
                unsafe {
                    match libc::fork() {
                        0 => libc::_exit(0),
                        child => libc::waitpid(child, std::ptr::null_mut(), 0),
                    };
                }
            }
            file
        });
        assert!(held.unwrap().descriptor().is_some());
        assert!(calls.get() >= 2, "other tests may fork as well");
    }
}
