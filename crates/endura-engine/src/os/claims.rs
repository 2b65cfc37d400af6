//! Claims to files within one process. They let one open of a file exclude another open by the same process. The locks
//! of some file systems do not do that, and media have no lock.
//!
//! # Protocol
//!
//! Each claim occupies a slot, together with the number of its process. Only the thread that has the turn ([`Turn`])
//! examines claims and makes them. So a thread sees only claims that were granted, and no claim is refused because of
//! another that is itself refused. A forked child inherits the claims of its parent, and perhaps the turn of a thread
//! of the parent. Both carry the parent's number and do not count in the child. So no fork handler is needed, and a raw
//! `clone` is no exception.

use std::sync::atomic::{AtomicU64, Ordering};

use super::fork::ForkGuard;
use super::slots::Slots;
use crate::sync::Backoff;

/// What a claim gives the right to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Right {
    /// To have the pool open.
    Open,
    /// To change the file's length, or to rely on it while reading the file.
    Length,
}

#[derive(Debug, Default)]
struct Slot {
    /// The number of the process, in the upper 61 bits; 0 = free. Bit 1 is the right, bit 0 whether the claim is
    /// exclusive. The other words of the slot are valid only where this one is not 0.
    owner: AtomicU64,
    device: AtomicU64,
    inode: AtomicU64,
}

static CLAIMS: Slots<Slot> = Slots::new(
    [const { Slot { owner: AtomicU64::new(0), device: AtomicU64::new(0), inode: AtomicU64::new(0) } };
        64],
);

/// The number of the process whose thread has the [`Turn`]; 0 = none.
static BUSY: AtomicU64 = AtomicU64::new(0);

/// A right to a file within this process. It ends when this value is dropped.
#[derive(Debug)]
pub(crate) struct Claim {
    slot: &'static Slot,
    birthplace: ForkGuard,
}

impl Claim {
    /// Claims the file. `None` if another claim to the same right excludes this one: an exclusive claim and any other
    /// claim exclude each other.
    pub(crate) fn new(right: Right, device: u64, inode: u64, exclusive: bool) -> Option<Self> {
        let birthplace = ForkGuard::here();
        let process = birthplace.number() << 3;
        let own = process | u64::from(right == Right::Length) << 1 | u64::from(exclusive);
        let _turn = Turn::take(birthplace.number());
        // Relaxed: turns order all accesses except the end of a claim, which may be seen late.
        let is_excluded = CLAIMS.iter().any(|slot| {
            let theirs = slot.owner.load(Ordering::Relaxed);
            (theirs | 1) == (own | 1)
                && (theirs & 1 == 1 || exclusive)
                && slot.device.load(Ordering::Relaxed) == device
                && slot.inode.load(Ordering::Relaxed) == inode
        });
        if is_excluded {
            return None;
        }
        let slot = CLAIMS.take(|slot| {
            // Pairs with the store in `drop`: the last owner no longer reads or writes the slot.
            let owner = slot.owner.load(Ordering::Acquire);
            (owner >> 3 != process >> 3).then_some(slot)
        });
        slot.device.store(device, Ordering::Relaxed);
        slot.inode.store(inode, Ordering::Relaxed);
        slot.owner.store(own, Ordering::Release);
        Some(Self { slot, birthplace })
    }

    /// Claims the file, and waits while other claims exclude this one.
    pub(crate) fn wait(right: Right, device: u64, inode: u64, exclusive: bool) -> Self {
        let mut backoff = Backoff::default();
        loop {
            match Self::new(right, device, inode, exclusive) {
                Some(claim) => return claim,
                None => backoff.wait(),
            }
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // In a child the slot may meanwhile hold a claim of the child's own.
        if !self.birthplace.is_elsewhere() {
            self.slot.owner.store(0, Ordering::Release);
        }
    }
}

/// The right to examine and make claims. At most one thread of the process has it.
struct Turn;

impl Turn {
    /// Waits until no thread of this process has the turn. The wait is short: a turn lasts for one pass over the slots.
    /// A turn with the number of another process belongs to a thread of a parent, which does not exist in this process.
    fn take(process: u64) -> Self {
        let mut backoff = Backoff::default();
        loop {
            // Relaxed: the exchange decides.
            let holder = BUSY.load(Ordering::Relaxed);
            // Pairs with the store in `drop`.
            let (acquire, relaxed) = (Ordering::Acquire, Ordering::Relaxed);
            if holder != process && BUSY.compare_exchange(holder, process, acquire, relaxed).is_ok()
            {
                return Self;
            }
            backoff.wait();
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        // Pairs with the exchange in `take`. A store is enough: no other process runs in this memory.
        BUSY.store(0, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_exclusive_claim_or_many_shared_ones() {
        let claim = |inode, exclusive| Claim::new(Right::Open, 1_000_001, inode, exclusive);
        let first = claim(7, false).unwrap();
        let second = claim(7, false).unwrap();
        assert!(claim(7, true).is_none(), "a writer beside readers");
        assert!(claim(8, true).is_some(), "another file");
        assert!(Claim::new(Right::Length, 1_000_001, 7, true).is_some(), "another right");
        drop((first, second));
        let writer = claim(7, true).unwrap();
        assert!(claim(7, false).is_none(), "a reader beside a writer");
        drop(writer);
        assert!(claim(7, false).is_some());
        let many: Vec<_> = (0..200).map(|inode| claim(inode, true).unwrap()).collect();
        assert!((0..200).all(|inode| claim(inode, false).is_none()));
        drop(many);
        assert!((0..200).all(|inode| claim(inode, false).is_some()));
    }

    /// One thread has the file, and another tries to get it exclusively. The attempts that are refused exclude nobody.
    #[test]
    fn who_is_refused_excludes_nobody() {
        let claim = |exclusive| Claim::new(Right::Open, 1_000_002, 7, exclusive);
        let reader = claim(false).unwrap();
        let stop = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    assert!(claim(true).is_none());
                }
            });
            let refused = (0..20_000).filter(|_| claim(false).is_none()).count();
            stop.store(true, Ordering::Relaxed);
            assert_eq!(refused, 0);
        });
        drop(reader);
    }

    /// The length of a file has one owner at a time, and each thread that waits gets it.
    #[test]
    fn who_waits_gets_it() {
        let inside = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let claim = Claim::wait(Right::Length, 1_000_003, 7, true);
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        inside.fetch_sub(1, Ordering::SeqCst);
                        drop(claim);
                    }
                });
            }
        });
    }

    #[cfg(not(loom))]
    #[test]
    fn a_real_time_thread_lets_an_ordinary_owner_run() {
        use crate::os::real_time::{TOO_LONG, beside, work_for};
        use std::time::Duration;

        let claim = || Claim::wait(Right::Length, 1_000_005, 7, true);
        let hold = |ready: &dyn Fn()| {
            let _claim = claim();
            ready();
            work_for(Duration::from_millis(5));
        };
        if let Some((_, time)) = beside(hold, claim) {
            assert!(time < TOO_LONG, "a claim: {time:?}");
        }
        let take = || Turn::take(ForkGuard::here().number());
        let hold = |ready: &dyn Fn()| {
            let _turn = take();
            ready();
            work_for(Duration::from_millis(5));
        };
        if let Some((_, time)) = beside(hold, take) {
            assert!(time < TOO_LONG, "a turn: {time:?}");
        }
    }

    #[test]
    fn a_child_inherits_none() {
        let own = Claim::new(Right::Open, 1_000_004, 7, true).unwrap();
        // SAFETY: the child touches atomics and leaves by `_exit`; the parent waits for it.
        let status = unsafe {
            let child = libc::fork();
            if child == 0 {
                let theirs = Claim::new(Right::Open, 1_000_004, 7, true);
                drop(own);
                // Dropping the parent's claim did not end the child's own.
                let again = Claim::new(Right::Open, 1_000_004, 7, true);
                libc::_exit(i32::from(theirs.is_none() || again.is_some()));
            }
            let mut status = -1;
            libc::waitpid(child, &raw mut status, 0);
            status
        };
        assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "{status:#x}");
        assert!(Claim::new(Right::Open, 1_000_004, 7, false).is_none());
        drop(own);
    }
}
