//! Pools: opened, checked, closed.

pub(crate) mod check;
mod copies;
pub(crate) mod info;
mod inner;
mod listen;
mod open;
mod options;
#[expect(clippy::module_inception, reason = "the pool among what belongs to it")]
pub(crate) mod pool;
#[cfg(test)]
mod power_cuts;
mod warnings;

pub use check::{MapReport, Report};
pub use info::MapInfo;
pub use inner::Closed;
pub use options::PoolOptions;
pub use pool::{Pool, Stats};
