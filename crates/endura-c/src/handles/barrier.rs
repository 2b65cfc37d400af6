//! The barriers between a use of a handle and its release.
//!
//! Where the kernel offers `membarrier(2)`, the release pays for both: the system call returns after each running thread
//! of the process has executed a full fence. A use then only keeps the compiler from swapping its store and its load.

use std::sync::LazyLock;
use std::sync::atomic::{Ordering, compiler_fence, fence};

const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;

fn membarrier(command: libc::c_int) -> bool {
    // SAFETY: the call takes numbers, and touches no memory of this process.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// Whether uses leave their fence to the kernel. Fixed before the first use, because both sides must agree.
static IS_ASYMMETRIC: LazyLock<bool> = LazyLock::new(|| membarrier(REGISTER_PRIVATE_EXPEDITED));

pub(super) fn is_asymmetric() -> bool {
    *IS_ASYMMETRIC
}

/// The barrier of a use.
#[inline(always)]
pub(super) fn light(needs_fence: bool) {
    // Pairs with `heavy`.
    if needs_fence { fence(Ordering::SeqCst) } else { compiler_fence(Ordering::SeqCst) }
}

/// The barrier of a release. Returns `false` if the kernel refused it: then no announcement may be relied on.
pub(super) fn heavy() -> bool {
    // Pairs with `light`.
    fence(Ordering::SeqCst);
    !is_asymmetric()
        || membarrier(PRIVATE_EXPEDITED)
        // A forked child may have lost the registration.
        || membarrier(REGISTER_PRIVATE_EXPEDITED) && membarrier(PRIVATE_EXPEDITED)
}
