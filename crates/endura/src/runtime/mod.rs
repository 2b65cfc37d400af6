//! Volatile state that every operation touches: who is inside an operation ([`epoch`]), which thread this is
//! ([`thread`]), nodes of structures that live beside the pool ([`arena`]). One of the doors for `unsafe`.

pub(crate) mod arena;
pub(crate) mod epoch;
#[cfg(all(test, loom))]
mod loom;
pub(crate) mod once_slice;
pub(crate) mod retired;
pub(crate) mod thread;
mod thread_numbers;
