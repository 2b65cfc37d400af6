//! A file whose lock ends with the process that took it.

use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;

use rustix::fs::{FlockOperation, flock};

use super::descriptors::Kept;
use super::fork::{self, ForkGuard};

/// A descriptor whose lock ends with this process, even if a child outlives the process: the fork handler of the child
/// closes the child's copy. A child made by a raw `clone` has run no fork handler. If the parent of such a child dies
/// without dropping this value, the lock lasts until the child closes its copy.
#[derive(Debug)]
pub(crate) struct LockedFile {
    kept: Kept,
    process: ForkGuard,
}

impl LockedFile {
    /// Takes over the file that `open` returns. `open` is called again if the process forked meanwhile.
    pub(crate) fn new(open: impl Fn() -> io::Result<File>) -> io::Result<Self> {
        let kept = |file| Self { kept: Kept::new(file), process: ForkGuard::here() };
        fork::undisturbed(|| open().map(kept))
    }

    /// Whether this process has the lock. A child does not have it. In the child of a fork, the handler has removed the
    /// descriptor from the list. In the child of a raw `clone` no handler has run, but `process` shows that this is
    /// another process.
    fn is_ours(&self) -> bool {
        !self.process.is_elsewhere() && self.kept.is_there()
    }

    /// The descriptor; `None` in a forked child.
    pub(crate) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        // SAFETY: the descriptor is still in the list. So this library closes it only when `self` is dropped, or in the
        // fork handler of a child, which empties the list before any other code of the child runs. If the host closed
        // the descriptor, its number refers to another file or to none.
        self.is_ours().then(|| unsafe { BorrowedFd::borrow_raw(self.kept.descriptor()) })
    }
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        if let Some(descriptor) = self.descriptor().filter(|_| self.kept.is_own()) {
            // A child of a raw `clone` has the descriptor as well. Closing only ours would leave the lock to the child.
            let _ = flock(descriptor, FlockOperation::Unlock);
        }
        // `close` closes only a descriptor that is still in the list. In a forked child it is not, because the handler
        // has emptied the list, which may now hold the descriptor of a pool that the child opened. In a child of a raw
        // `clone` the call closes the child's copy of the descriptor, and the parent keeps the lock.
        self.kept.close();
    }
}

#[cfg(test)]
mod tests {
    use super::super::descriptors::SLOTS;
    use super::*;

    #[test]
    fn slots_are_reused_and_never_run_out() {
        let open = || File::open("/dev/null");
        let many: Vec<_> = (0..200).map(|_| LockedFile::new(open).unwrap()).collect();
        assert!(many.iter().all(|held| held.descriptor().is_some()));
        let blocks_then = SLOTS.blocks().count();
        assert!(blocks_then >= 4);
        drop(many);
        let again: Vec<_> = (0..200).map(|_| LockedFile::new(open).unwrap()).collect();
        assert_eq!(SLOTS.blocks().count(), blocks_then);
        drop(again);
    }

    /// A child that is forked while the file is being opened has a descriptor that its fork handler could not find.
    #[test]
    fn a_descriptor_opened_during_a_fork_is_opened_again() {
        let calls = std::cell::Cell::new(0);
        let held = LockedFile::new(|| {
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
