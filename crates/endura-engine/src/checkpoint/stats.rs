//! What the API reports about checkpoints.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use crate::CheckpointProblem;

/// A checkpoint that was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checkpoint {
    /// When writers were held for it: the moment to which a power loss takes the pool back.
    pub at: SystemTime,
    /// How long the checkpoint took, from its start until it was durable. If that is longer than the interval, the next
    /// one follows at once, and a power loss costs up to twice this time.
    pub took: Duration,
    /// How long writers were held: of several tries, the longest.
    pub held: Duration,
    /// How long writers were kept from beginning operations before they were held, some milliseconds at a time, because
    /// they changed pages faster than the disk took them. Zero if writers were not slowed down.
    pub slowed: Duration,
    /// Bytes of pages that were copied while writers were held.
    pub copied_bytes: u64,
    /// Bytes that were written to the file.
    pub written_bytes: u64,
    /// How many times a hold of the writers was tried. A try fails if a writer is at work for too long.
    pub tries: u32,
}

/// An attempt to make a checkpoint that failed. The newest checkpoint stayed what it was.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckpointFailure {
    /// When it failed.
    pub at: SystemTime,
    /// [`Error::code`](crate::Error::code) of the reason.
    pub code: &'static str,
    /// The reason, in a sentence for a person.
    pub reason: String,
}

/// The checkpoints of a pool: [`Stats::checkpoints`](crate::Stats::checkpoints).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckpointStats {
    /// The path of the file of checkpoints.
    pub path: PathBuf,
    /// How long after the last checkpoint the next one is made, if anything was written. `None` if time is no reason to
    /// make one.
    pub every: Option<Duration>,
    /// After how many bytes of changed pages the next checkpoint is made. `None` if the number of bytes is no reason to
    /// make one.
    pub after_bytes: Option<u64>,
    /// When the checkpoint was made to which a power loss now would take the pool back. `None` if there is none:
    /// [`problem`](Self::problem) says why.
    pub newest: Option<SystemTime>,
    /// Why there is no such checkpoint, or why the next one could not be made. `None` while all is well.
    pub problem: Option<CheckpointProblem>,
    /// Whether the file of checkpoints is in memory (tmpfs), so that a power loss takes it too.
    pub in_memory: bool,
    /// The last checkpoint that this session made.
    pub last: Option<Checkpoint>,
    /// The last attempt of this session that failed, even if a later one has succeeded.
    pub last_failure: Option<CheckpointFailure>,
    /// How many attempts have failed since the last success: 0 while all is well.
    pub failures_in_a_row: u32,
    /// Bytes that the file of checkpoints takes on its disk.
    pub bytes: u64,
    /// Bytes of pages that have changed since the newest checkpoint.
    pub changed_bytes: u64,
}
