//! Calls to the operating system: memory and its mappings, files and their blocks, locks, forks, signals.
//!
//! This is one of the four modules where `unsafe` is allowed (the others are `cpu`, `media` and `runtime`). Code that
//! differs from system to system is in a folder of that system, today only `linux/`. This module may use `cpu`, besides
//! `sync` and `error`.
//!
//! After a change run `.ci/quick`. Also run
//!
//! * for locks, claims, descriptors and forks: `cargo test -p endura-tests --test locks --test files`
//! * for mappings, blocks and identities of files: `cargo test -p endura-tests --test faults`
//! * for [`barrier`]: `RUSTFLAGS="--cfg loom" cargo test -p endura-engine --lib loom`

pub(crate) mod barrier;
pub(crate) mod bus_error;
pub(crate) mod claims;
mod descriptors;
pub mod door;
pub mod fork;
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
