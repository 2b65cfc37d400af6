//! The only door to persistent memory: bytes that outlive a crash, seen as 64-bit words. [`Media`] defines when stores
//! become durable, [`Domain`] which instructions that takes on a machine.

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
