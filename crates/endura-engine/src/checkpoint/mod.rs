//! Checkpoints of an open pool, and how a torn pool is restored from one.
//!
//! Here live the format of the file of checkpoints, the rounds that write it, the thread that makes rounds, backups and
//! restores. This module may use `space`, `media` and `os`, besides `sync` and `error`.
//!
//! | after a change of | run |
//! | --- | --- |
//! | anything here | `.ci/quick`; `cargo test -p endura-tests --test faults --test damage` |
//! | the hold, or what runs beside writers | `RUSTFLAGS="--cfg loom" cargo test -p endura-engine --lib loom` |
//!
//! `cargo test -p endura-engine --lib checkpoint`, a part of `.ci/quick`, cuts the power, kills the process and fails
//! calls at every step of a round, and leaves out each sync of the round.
//!
//! | file | what |
//! | --- | --- |
//! | [`mod@file`] | one file of checkpoints: roots, runs, slots; how the next checkpoint is written |
//! | [`copy`] | a round: the pages that have changed, copied out of an open pool |
//! | [`ahead`] | the part of a round that runs beside writers, before it holds them |
//! | [`choice`] | the choices of a program: when, and in which file |
//! | [`found`] | an open that finds a checkpoint: whether it belongs to the pool, and whether to restore it |
//! | [`told`] | what a session that writes nothing, or an error, says about the checkpoint |
//! | [`why`] | why a checkpoint cannot be used, in words |
//! | [`aside`] | keeps a copy of a torn pool before it is restored |
//! | [`keeper`] | makes checkpoints while a pool is open: on demand, by a thread, at the close |
//! | [`rounds`] | the rounds of one session: what may prevent them, and their results |
//! | [`timing`] | when the next round is due |
//! | [`stats`] | what the API reports about checkpoints |
//! | [`backup`] | copies of whole pools, and restores by hand |
//! | [`lineage`] | which checkpoint belongs to which pool |
//! | [`pieces`] | work on several pieces of a file at once |
//! | [`restore`] | writes a checkpoint over a torn pool |
//! | [`beside`] | the file of checkpoints beside a pool: finding, locking and creating it |
//! | [`kept`] | the file of checkpoints while the pool is open: whether it is still there |

mod ahead;
mod aside;
pub mod backup;
pub(crate) mod beside;
mod choice;
pub mod copy;
pub mod file;
pub mod found;
pub(crate) mod keeper;
pub(crate) mod kept;
mod lineage;
mod pieces;
pub mod restore;
mod rounds;
mod stats;
mod timing;
pub(crate) mod told;
pub(crate) mod why;

pub use choice::{Checkpoints, scheduled_as};
pub(crate) use file::Failure;
pub use found::Restored;
pub(crate) use kept::Kept;
pub(crate) use lineage::{Relation, Said};
pub use stats::{Checkpoint, CheckpointFailure, CheckpointStats};
