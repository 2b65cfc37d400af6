//! Calls to the operating system: memory and its mappings, files and their blocks, locks, forks, signals. One
//! of the doors for `unsafe`. Code that differs from system to system is in a folder of that system.

pub(crate) mod barrier;
pub(crate) mod bus_error;
pub(crate) mod claims;
mod descriptors;
pub(crate) mod door;
pub(crate) mod fork;
mod linux;
pub(crate) mod lock;
mod locked_file;
pub(crate) mod new_file;
mod number_owner;
pub(crate) mod own_file;
mod slots;
pub(crate) mod thread_end;

#[cfg(all(test, not(loom)))]
pub(crate) use linux::real_time;
pub(crate) use linux::{
    boot, disk, extents, file_identity, filesystem, futex, identity, lease, memory, mounted, pmem,
    read_ahead, session_mark, whereabouts,
};
