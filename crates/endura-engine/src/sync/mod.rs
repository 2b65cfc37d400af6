//! The atomics and locks of volatile state, and the ways to wait for another thread.
//!
//! The types are those of `std`, or with `--cfg loom` those of `loom`, for tests that run every interleaving of a few
//! threads. Persistent words never use these types: they are words of a [`Media`]. Statics use those of `std` in every
//! build, because they outlive an execution of a model.
//!
//! This module uses nothing of the library. After a change run `.ci/quick`, `cargo test -p endura-engine --test waits`, and
//! `RUSTFLAGS="--cfg loom" cargo test -p endura-engine --lib loom`.
//!
//! [`Media`]: crate::media::Media

mod backoff;
mod fence;
#[cfg(all(test, loom))]
pub(crate) mod loom;
#[cfg(not(all(test, loom)))]
mod mutex;
mod waiting;

pub(crate) use backoff::Backoff;
pub(crate) use fence::fence_behind_exchange;
pub(crate) use std::sync::OnceLock;
pub(crate) use std::sync::atomic::compiler_fence;
pub use waiting::set_waiting;
pub(crate) use waiting::{is_scheduled, rest};

#[cfg(all(test, loom))]
pub(crate) use self::loom::{Mutex, MutexGuard, fence};
#[cfg(all(test, loom))]
pub(crate) use ::loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
#[cfg(not(all(test, loom)))]
pub(crate) use mutex::{Mutex, MutexGuard};
#[cfg(not(all(test, loom)))]
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
