//! Checkpoints of an open pool, and the way back to one.
//!
//! | file | what |
//! | --- | --- |
//! | [`mod@file`] | one file of checkpoints: roots, runs, slots; how the next one is written |
//! | [`copy`] | a round: what has changed, copied out of an open pool |
//! | [`ahead`] | what a round copies beside writers, before it holds them |
//! | [`lineage`] | which checkpoint belongs to which pool |
//! | [`pieces`] | several pieces of a file are worked on at once |
//! | [`restore`] | a torn pool is made what a checkpoint is |
//! | [`beside`] | the file beside a pool: found, locked, made |
//! | [`kept`] | that file while the pool is open: whether it is still there |

mod ahead;
pub(crate) mod beside;
pub(crate) mod copy;
pub(crate) mod file;
pub(crate) mod kept;
mod lineage;
mod pieces;
pub(crate) mod restore;

pub(crate) use file::Failure;
pub(crate) use lineage::{Relation, Said};
