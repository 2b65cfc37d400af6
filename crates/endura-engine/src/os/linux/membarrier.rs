//! `membarrier(2)`: every running thread of the process executes a full fence.

const QUERY: libc::c_int = 0;
const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;

fn membarrier(command: libc::c_int) -> libc::c_long {
    // SAFETY: the call takes two integers and touches no memory of this process.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) }
}

/// Whether this kernel offers the expedited barrier of one process.
pub(crate) fn is_offered() -> bool {
    membarrier(QUERY) & libc::c_long::from(PRIVATE_EXPEDITED) != 0
}

/// Registers the process for [`fence_all`]; repeated calls do no harm. Returns `false` if the kernel refused.
pub(crate) fn register() -> bool {
    membarrier(REGISTER_PRIVATE_EXPEDITED) == 0
}

/// Returns once all running threads have executed a full fence; `false` if the kernel refused.
pub(crate) fn fence_all() -> bool {
    membarrier(PRIVATE_EXPEDITED) == 0
}
