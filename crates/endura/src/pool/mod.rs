//! Space and lifetime: what lies where in a pool, who may use a chunk, and when it is free again.

mod alloc;
mod chunk_set;
mod collect;
mod create;
mod directory;
mod drops;
mod entry;
mod file;
mod gate;
mod guard;
mod layout;
mod lengths;
mod limbo;
#[cfg(all(test, loom))]
mod loom;
mod map;
mod partition;
mod reclaim;
mod save;
mod seat;
mod space;
mod stamps;
mod stock;
#[doc(hidden)]
pub mod superblock;
#[cfg(test)]
mod tests;

pub use crate::runtime::thread::Worker;
pub use crate::sync::set_waiting;
pub use alloc::PartlyUsed;
pub use collect::{Collection, CollectionState, Collector, Step, Walk};
pub(crate) use file::{Access, PoolFile};
pub use gate::Quiesced;
pub use guard::Guard;
pub(crate) use layout::LOCK_TURN;
pub use layout::PAGE;
pub use map::{Counted, MapState};
pub use partition::{Partition, Shares};
pub(crate) use seat::Seat;
pub use space::{Session, Space, SpaceStats};
