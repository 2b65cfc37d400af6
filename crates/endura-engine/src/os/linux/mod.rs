//! What is particular to Linux: system calls, `/proc`, `/sys`, and facts about its file systems. A port to another
//! system adds a folder beside this one.

pub(crate) mod boot;
pub(crate) mod disk;
pub(crate) mod extents;
pub(crate) mod file_identity;
pub(crate) mod filesystem;
pub(crate) mod futex;
pub(crate) mod identity;
pub(crate) mod lease;
pub(crate) mod membarrier;
pub(crate) mod memory;
pub(crate) mod mounted;
pub(crate) mod pmem;
pub(crate) mod read_ahead;
#[cfg(all(test, not(loom)))]
pub(crate) mod real_time;
pub(crate) mod session_mark;
pub(crate) mod whereabouts;
