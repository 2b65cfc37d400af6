//! Volatile state that every operation touches: which threads are inside an operation ([`epoch`]), numbers of threads
//! ([`thread`]), nodes of structures in DRAM ([`arena`]). One of the doors for `unsafe`.

pub(crate) mod arena;
pub(crate) mod calls;
pub(crate) mod epoch;
#[cfg(all(test, loom))]
mod loom;
pub(crate) mod once_box;
pub(crate) mod retired;
pub(crate) mod thread;
mod thread_numbers;

#[cfg(all(test, not(loom)))]
pub(crate) use thread_numbers::MANY;
