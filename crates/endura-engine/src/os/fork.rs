//! Whether this process is still the one that opened the pool.
//!
//! A forked child inherits the mapping of every pool, and must not touch any. A process detects with one load that it
//! is such a child: it loads a word from a page that the kernel zeroes in the child (`MADV_WIPEONFORK`). The process id
//! would show the same, at the price of a system call per operation.
//!
//! At the fork itself [`pthread_atfork`](libc::pthread_atfork) handlers run: the child closes the descriptors of the
//! pools' locks ([`descriptors`]). `fork` runs them in the child before any other code. A raw `clone` does not run
//! them, but the kernel zeroes the page there too.

use std::ptr;
use std::sync::Once;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

use super::descriptors;
use crate::sync::Backoff;

/// The word that a fork zeroes: the number of this process, which differs from those of its forebears; 0 = none yet.
static PROCESS: AtomicPtr<AtomicU64> = AtomicPtr::new(ptr::null_mut());
/// Stands in for the wiped page on kernels before 4.14; the handler in the child zeroes it.
static UNWIPED: AtomicU64 = AtomicU64::new(0);
/// The last number given to a process. A child inherits it, and takes the next one.
static LAST: AtomicU64 = AtomicU64::new(0);
/// Forks begun, and forks ended, in this process.
static BEGUN: AtomicU64 = AtomicU64::new(0);
static OVER: AtomicU64 = AtomicU64::new(0);

/// The process in which a pool was opened.
#[derive(Debug, Clone, Copy)]
pub struct ForkGuard {
    process: &'static AtomicU64,
    number: u64,
}

impl ForkGuard {
    /// The calling process.
    pub(crate) fn here() -> Self {
        let process = process();
        let named = process.load(Ordering::Acquire);
        if named != 0 {
            return Self { process, number: named };
        }
        // Incremented before the number is used, so that a child forked at this very moment takes another number.
        let fresh = LAST.fetch_add(1, Ordering::SeqCst) + 1;
        // One thread sets the number of the process, and all others use that number.
        let number = match process.compare_exchange(0, fresh, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => fresh,
            Err(named) => named,
        };
        Self { process, number }
    }

    /// The number of the process. Its forebears and children have other numbers.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Whether the calling process is a fork of the recorded one.
    #[inline(always)]
    pub fn is_elsewhere(&self) -> bool {
        // A fork zeroes the word before the child runs, so there is nothing to pair with.
        self.process.load(Ordering::Relaxed) != self.number
    }
}

/// The word of [`PROCESS`], made on first use together with the handlers.
fn process() -> &'static AtomicU64 {
    let known = PROCESS.load(Ordering::Acquire);
    let word = if known.is_null() { first_use() } else { known };
    // SAFETY: the pointer comes from `wiped_page` or is that of a static; both last for ever and are only ever accessed
    // as an atomic word.
    unsafe { &*word }
}

fn first_use() -> *mut AtomicU64 {
    static HANDLERS: Once = Once::new();
    HANDLERS.call_once(|| {
        // SAFETY: the handlers are functions of this program that touch nothing but atomics and `close`, which is
        // allowed in the child of a process with many threads.
        unsafe { libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child)) };
    });
    let page = wiped_page();
    let word = page.unwrap_or(ptr::from_ref(&UNWIPED).cast_mut());
    // Pairs with the load in `process`. If two threads are here at once, one wins.
    match PROCESS.compare_exchange(ptr::null_mut(), word, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => word,
        Err(theirs) => {
            if let Some(page) = page {
                // SAFETY: this thread has just made the page, and no other has seen it.
                let _ = unsafe { munmap(page.cast(), 4096) };
            }
            theirs
        }
    }
}

/// A page of zeros that is zeros again in every forked child.
fn wiped_page() -> Option<*mut AtomicU64> {
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new anonymous mapping at an address of the kernel's choice; the advice is for that mapping alone, which
    // is unmapped if the kernel refuses the advice.
    unsafe {
        let page = mmap_anonymous(ptr::null_mut(), 4096, protection, MapFlags::PRIVATE).ok()?;
        match madvise(page, 4096, Advice::LinuxWipeOnFork) {
            Ok(()) => Some(page.cast()),
            Err(_) => {
                let _ = munmap(page, 4096);
                None
            }
        }
    }
}

extern "C" fn before() {
    BEGUN.fetch_add(1, Ordering::SeqCst);
}

extern "C" fn in_parent() {
    OVER.fetch_add(1, Ordering::SeqCst);
}

extern "C" fn in_child() {
    OVER.store(BEGUN.load(Ordering::SeqCst), Ordering::SeqCst);
    UNWIPED.store(0, Ordering::SeqCst);
    descriptors::let_go_in_child();
}

/// Runs `work`, and repeats it until a run was not disturbed by a fork. Returns the outcome of that run. The outcomes
/// of earlier runs are dropped.
pub(super) fn undisturbed<T>(work: impl Fn() -> T) -> T {
    process();
    let mut backoff = Backoff::default();
    loop {
        let begun = BEGUN.load(Ordering::SeqCst);
        if OVER.load(Ordering::SeqCst) == begun {
            let outcome = work();
            if BEGUN.load(Ordering::SeqCst) == begun {
                return outcome;
            }
        }
        backoff.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(not(loom))]
    #[test]
    fn a_real_time_thread_lets_an_ordinary_one_end_its_fork() {
        use crate::os::real_time::{TOO_LONG, beside, work_for};

        process();
        let fork = |ready: &dyn Fn()| {
            before();
            ready();
            work_for(std::time::Duration::from_millis(5));
            in_parent();
        };
        if let Some((_, time)) = beside(fork, || undisturbed(|| ())) {
            assert!(time < TOO_LONG, "{time:?}");
        }
    }

    #[test]
    fn a_child_knows_that_it_is_one() {
        let here = ForkGuard::here();
        assert!(!here.is_elsewhere());
        // SAFETY: the child only reads and writes atomics and leaves by `_exit`.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let strange = here.is_elsewhere();
            let own = ForkGuard::here();
            let fine = strange && !own.is_elsewhere() && here.is_elsewhere();
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(i32::from(!fine)) };
        }
        let mut status = -1;
        // SAFETY: waits for the child made above.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "{status:#x}");
        assert!(!here.is_elsewhere());
    }
}
