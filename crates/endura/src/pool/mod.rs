//! Space and lifetime: what lies where in a pool, who may use a chunk, and when it is free again.

mod alloc;
mod directory;
mod gate;
mod guard;
mod layout;
mod map;
mod partition;
mod reclaim;
mod save;
mod space;
mod stock;
#[cfg(test)]
mod tests;

pub use crate::volatile::thread::Worker;
pub use gate::Quiesced;
pub use guard::Guard;
pub use layout::PAGE;
pub use map::{Counted, MapState};
pub use partition::{Partition, Shares};
pub use space::{Session, Space, SpaceStats};
