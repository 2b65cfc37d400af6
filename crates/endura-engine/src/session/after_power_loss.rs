//! What a power loss would leave of a pool.

use std::fmt;
use std::time::SystemTime;

use crate::CheckpointProblem;
use crate::checkpoint::CheckpointStats;
use crate::error::since;

/// What a power loss now would leave of a pool: [`Stats::after_power_loss`](crate::Stats::after_power_loss).
///
/// # Example
///
/// ```
/// use endura::{AfterPowerLoss, Pool};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("data.endura");
/// let pool = Pool::open(&path)?;
/// pool.checkpoint()?;
/// match pool.stats()?.after_power_loss {
///     AfterPowerLoss::Survived | AfterPowerLoss::Kept => println!("nothing would be lost"),
///     AfterPowerLoss::Checkpoint { made } => println!("what was written since {made:?} would be lost"),
///     other => println!("{other}"), // for example: the pool would be refused: no checkpoint was made yet
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AfterPowerLoss {
    /// All of it: the pool is in persistent memory.
    Survived,
    /// All of it: the pool is closed, and is on a disk.
    Kept,
    /// The state of the newest checkpoint.
    Checkpoint {
        /// When that was made.
        made: SystemTime,
    },
    /// A pool that opens refuse, because it may be torn and there is nothing to go back to.
    Refused {
        /// Why there is not.
        why: CheckpointProblem,
    },
    /// Nothing: the pool is in memory, and has no checkpoint on a disk.
    Gone,
}

/// Where a pool is.
pub(super) enum Place {
    /// In persistent memory.
    PowerSafe,
    /// In memory that a power loss clears.
    Memory,
    /// On a disk, below the page cache.
    Disk {
        /// Whether its last session has closed it, and no later one writes.
        is_closed: bool,
    },
}

impl AfterPowerLoss {
    pub(super) fn of(place: Place, checkpoints: Option<&CheckpointStats>) -> Self {
        let is_in_memory = checkpoints.is_some_and(|kept| kept.in_memory);
        let made = checkpoints.and_then(|kept| kept.newest).filter(|_| !is_in_memory);
        match (place, made) {
            (Place::PowerSafe, _) => Self::Survived,
            (Place::Disk { is_closed: true }, _) => Self::Kept,
            (_, Some(made)) => Self::Checkpoint { made },
            (Place::Memory, None) => Self::Gone,
            (Place::Disk { .. }, None) => Self::Refused {
                why: match checkpoints {
                    None => CheckpointProblem::Off,
                    Some(kept) => kept.problem.clone().unwrap_or(CheckpointProblem::InMemory),
                },
            },
        }
    }

    /// The state as one word, which does not change when texts do: `survived`, `kept`, `checkpoint`, `refused` or
    /// `gone`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Survived => "survived",
            Self::Kept => "kept",
            Self::Checkpoint { .. } => "checkpoint",
            Self::Refused { .. } => "refused",
            Self::Gone => "gone",
        }
    }
}

impl fmt::Display for AfterPowerLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Survived => f.write_str("nothing is lost: persistent memory"),
            Self::Kept => f.write_str("nothing is lost: the pool is closed"),
            Self::Checkpoint { made } => {
                write!(f, "back to the checkpoint of {} ago", since(*made))
            }
            Self::Refused { why } => write!(f, "the pool would be refused: {why}"),
            Self::Gone => f.write_str("all is lost: the pool is in memory"),
        }
    }
}
