//! Persistent memory: bytes that outlive a crash, accessed as 64-bit words. [`Media`] defines when stores become
//! durable, [`Domain`] which instructions that takes on a machine, and [`Mapped`] maps and extends the file of a pool.
//!
//! All code above accesses persistent memory through this module only. It is one of the four modules where `unsafe` is
//! allowed. It may use `cpu` and `os`, besides `sync` and `error`.
//!
//! After a change run `.ci/quick`. Also run
//!
//! * for growth, holes and ends of files: `cargo test -p endura-tests --test faults`
//! * for [`DirtyPages`]: `RUSTFLAGS="--cfg loom" cargo test -p endura-engine --lib the_copier`
//! * for stores, flushes and fences: `cargo test --release -p endura-sim --test mutation`

mod dirty_pages;
mod domain;
mod heap;
mod holes;
#[cfg(all(test, loom))]
pub(crate) mod loom;
mod mapped;
mod medium;
mod placement;
mod shared;
mod span;

pub use dirty_pages::{DIRTY_GRAIN, DirtyPages};
pub use domain::Domain;
pub use heap::Heap;
pub use mapped::{Mapped, Mapping, STEP};
pub use medium::{Mark, Media};
pub use placement::{MediaChoice, Placement};
pub use span::{Region, Span};

#[cfg(all(test, not(loom)))]
pub(crate) use crate::cpu::flush::WRITTEN_BACK;
pub use crate::cpu::flush::{FlushInstruction, LINE};
pub use crate::cpu::pair::has_pair_exchange;
pub use crate::os::bus_error::explain_bus_errors;
pub use crate::os::memory::Reservation;

pub use std::sync::atomic::Ordering;
