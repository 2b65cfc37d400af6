//! Checkpoints of a pool, as a program sees them.

mod aside;
pub(super) mod backup;
mod choice;
pub(super) mod found;
pub(super) mod keeper;
mod rounds;
mod stats;
#[cfg(test)]
mod tests;

pub use choice::Checkpoints;
pub use found::Restored;
pub use stats::{Checkpoint, CheckpointFailure, CheckpointStats};
