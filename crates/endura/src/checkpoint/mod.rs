//! Checkpoints of an open pool, and the way back to one.
//!
//! | file | what |
//! | --- | --- |
//! | [`mod@file`] | one file of checkpoints: roots, runs, slots; how the next one is written |
//! | [`copy`] | a round: what has changed, copied out of an open pool |
//! | [`ahead`] | what a round copies beside writers, before it holds them |
//! | [`choice`] | what a program chooses: when, and in which file |
//! | [`found`] | what an open finds beside the pool, and what follows from it |
//! | [`aside`] | a pool that is taken back is kept under another name |
//! | [`keeper`] | the thread that makes rounds while a pool is open |
//! | [`rounds`] | rounds of one session: what stands in their way, and what is known of them |
//! | [`timing`] | when the next round is due |
//! | [`stats`] | what is told of checkpoints |
//! | [`backup`] | copies of whole pools, and restores by hand |
//! | [`lineage`] | which checkpoint belongs to which pool |
//! | [`pieces`] | several pieces of a file are worked on at once |
//! | [`restore`] | a torn pool is made what a checkpoint is |
//! | [`beside`] | the file beside a pool: found, locked, made |
//! | [`kept`] | that file while the pool is open: whether it is still there |

mod ahead;
mod aside;
pub(crate) mod backup;
pub(crate) mod beside;
mod choice;
pub(crate) mod copy;
pub(crate) mod file;
pub(crate) mod found;
pub(crate) mod keeper;
pub(crate) mod kept;
mod lineage;
mod pieces;
pub(crate) mod restore;
mod rounds;
mod stats;
mod timing;

pub use choice::Checkpoints;
pub(crate) use file::Failure;
pub use found::Restored;
pub(crate) use kept::Kept;
pub(crate) use lineage::{Relation, Said};
pub use stats::{Checkpoint, CheckpointFailure, CheckpointStats};
