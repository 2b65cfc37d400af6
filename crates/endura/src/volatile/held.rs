//! Descriptors that carry the locks of pools, where a forked child can find and close them.
//!
//! A lock belongs to the open file description, which a child shares: it would keep the pool locked
//! after its parent died. The child therefore closes them in its fork handler. Nothing but atomics
//! may be touched there (any mutex may be held for ever by a thread that the child does not have),
//! so the descriptors stand in a list of slots that is never freed.
//!
//! The same slots tell one process about its own pools, for file systems whose locks do not hold
//! between two opens of one process.

use std::fs::File;
use std::io;
use std::os::fd::{BorrowedFd, IntoRawFd};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering, fence};

use rustix::fs::{FlockOperation, flock};

use super::fork;

/// One place for a descriptor.
struct Slot {
    /// 0 = free, else a ticket in the upper half and descriptor + 1 in the lower.
    taken: AtomicU64,
    device: AtomicU64,
    inode: AtomicU64,
    /// 0 = the two words above mean nothing yet, 1 = shared, 2 = exclusive.
    claim: AtomicU64,
}

impl Slot {
    const fn free() -> Self {
        Self {
            taken: AtomicU64::new(0),
            device: AtomicU64::new(0),
            inode: AtomicU64::new(0),
            claim: AtomicU64::new(0),
        }
    }
}

const SHARED: u64 = 1;
const EXCLUSIVE: u64 = 2;

/// Some slots, and where there are more.
struct Slots {
    slots: [Slot; 64],
    more: AtomicPtr<Slots>,
}

impl Slots {
    const fn new() -> Self {
        Self { slots: [const { Slot::free() }; 64], more: AtomicPtr::new(ptr::null_mut()) }
    }
}

static FIRST: Slots = Slots::new();
/// Tells apart the successive users of one slot and one descriptor number, across forks too.
static TICKET: AtomicU64 = AtomicU64::new(0);

fn blocks() -> impl Iterator<Item = &'static Slots> {
    std::iter::successors(Some(&FIRST), |block| {
        // SAFETY: `more` is null or a leaked block. Pairs with the exchange in `append`.
        unsafe { block.more.load(Ordering::Acquire).as_ref() }
    })
}

fn slots() -> impl Iterator<Item = &'static Slot> {
    blocks().flat_map(|block| &block.slots)
}

/// A descriptor whose lock ends with this process, even where a child outlives it.
#[derive(Debug)]
pub(crate) struct Held {
    slot: &'static Slot,
    taken: u64,
}

impl std::fmt::Debug for Slot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Slot").field(&self.taken).finish()
    }
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
        loop {
            // Pairs with `let_go_in_child`, which runs in the thread that forked: any order does.
            let free = slots().find(|slot| {
                slot.taken.compare_exchange(0, taken, Ordering::AcqRel, Ordering::Relaxed).is_ok()
            });
            match free {
                Some(slot) => return Self { slot, taken },
                None => append(),
            }
        }
    }

    fn is_ours(&self) -> bool {
        self.slot.taken.load(Ordering::Acquire) == self.taken
    }

    /// The descriptor; none in a forked child.
    pub(crate) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        // SAFETY: the slot still carries our ticket, so that the descriptor is open: it is closed
        // only by dropping `self`, or in a child, where the slot is empty before anyone can ask.
        self.is_ours().then(|| unsafe { BorrowedFd::borrow_raw(descriptor(self.taken)) })
    }

    /// Announces which file this is, and says whether another pool of this process excludes it.
    /// Of two that come at once at least one is told.
    pub(crate) fn is_excluded(&self, device: u64, inode: u64, exclusive: bool) -> bool {
        self.slot.device.store(device, Ordering::Relaxed);
        self.slot.inode.store(inode, Ordering::Relaxed);
        let claim = if exclusive { EXCLUSIVE } else { SHARED };
        self.slot.claim.store(claim, Ordering::Release);
        // Pairs with itself in the other thread: each announces first and looks afterwards.
        fence(Ordering::SeqCst);
        slots().filter(|slot| !ptr::eq(*slot, self.slot)).any(|slot| {
            let theirs = slot.claim.load(Ordering::Acquire);
            theirs != 0
                && (exclusive || theirs == EXCLUSIVE)
                && slot.device.load(Ordering::Relaxed) == device
                && slot.inode.load(Ordering::Relaxed) == inode
        })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // In a forked child the slot was emptied, and may since hold a pool of the child's own.
        if !self.is_ours() {
            return;
        }
        let descriptor = descriptor(self.taken);
        // SAFETY: the slot carries our ticket, hence the descriptor is open and ours; it is not
        // used again.
        unsafe {
            // Also for a child of a raw `clone`, whose handler never ran.
            let _ = flock(BorrowedFd::borrow_raw(descriptor), FlockOperation::Unlock);
            self.slot.claim.store(0, Ordering::Release);
            self.slot.taken.store(0, Ordering::Release);
            libc::close(descriptor);
        }
    }
}

fn descriptor(taken: u64) -> i32 {
    (taken as u32 - 1) as i32
}

/// Adds a block of slots at the end of the list.
fn append() {
    let block = Box::into_raw(Box::new(Slots::new()));
    let mut end = &FIRST;
    loop {
        // Pairs with the load in `blocks`.
        match end.more.compare_exchange(ptr::null_mut(), block, Ordering::AcqRel, Ordering::Acquire)
        {
            Ok(_) => return,
            // SAFETY: a block in the list is never freed.
            Err(next) => end = unsafe { &*next },
        }
    }
}

/// Closes all descriptors, in a forked child: the locks remain with the parent, which still has
/// the same open file descriptions.
pub(super) fn let_go_in_child() {
    for slot in slots() {
        slot.claim.store(0, Ordering::Relaxed);
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
        let blocks_then = blocks().count();
        assert!(blocks_then >= 4);
        drop(many);
        let again: Vec<_> = (0..200).map(|_| Held::new(open).unwrap()).collect();
        assert_eq!(blocks().count(), blocks_then);
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
                        child => libc::waitpid(child, ptr::null_mut(), 0),
                    };
                }
            }
            file
        });
        assert!(held.unwrap().descriptor().is_some());
        assert!(calls.get() >= 2, "other tests may fork as well");
    }

    #[test]
    fn exclusion_within_the_process() {
        let open = || File::open("/dev/null");
        let (a, b) = (Held::new(open).unwrap(), Held::new(open).unwrap());
        assert!(!a.is_excluded(1_000_001, 7, false));
        assert!(!b.is_excluded(1_000_001, 8, true), "another file");
        assert!(!b.is_excluded(1_000_001, 7, false), "two readers");
        assert!(b.is_excluded(1_000_001, 7, true), "a writer beside a reader");
        drop(a);
        assert!(!b.is_excluded(1_000_001, 7, true));
    }
}
