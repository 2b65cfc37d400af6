//! What checkpoints of a pool on an ordinary disk cost: how long they hold writers, how long a single update takes at
//! most, how much throughput they take away, and how long the way back from one is.

mod bed;
mod holds;
mod longest;
mod restore;
#[cfg(test)]
mod tests;
mod throughput;
mod writers;

pub use bed::Bed;
pub use holds::{Holds, HoldsPlan, Round, holds};
pub use longest::{Longest, LongestPlan, LongestTurn, longest};
pub use restore::{Restore, restore};
pub use throughput::{Pace, Throughput, ThroughputPlan, ThroughputTurn, throughput};

/// Told what is being done.
pub type Watch<'w> = dyn Fn(String) + 'w;

/// Bytes of a page, as checkpoints have them.
const PAGE: u64 = endura::lab::media::DIRTY_GRAIN;
