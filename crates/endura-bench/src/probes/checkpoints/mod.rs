//! What checkpoints of a pool on an ordinary disk cost: how long they hold writers, how long a single update takes at
//! most, how much throughput they take away, how that compares with others, and how long the way back from one is.

mod bed;
mod holds;
mod longest;
mod peers;
mod records;
mod restore;
#[cfg(test)]
mod tests;
mod throughput;
mod writers;

pub use bed::{Bed, Place, Watch};
pub use holds::{Holds, HoldsPlan, Round, holds};
pub use longest::{Longest, LongestPlan, LongestTurn, longest};
pub use peers::{Peer, Peers, PeersPlan, peers};
pub use records::{Records, RecordsPlan, records};
pub use restore::{Restore, restore};
pub use throughput::{Pace, Throughput, ThroughputPlan, ThroughputTurn, throughput};
