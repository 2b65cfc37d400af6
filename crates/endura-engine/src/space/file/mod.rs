//! The file of a pool: its creation, its superblock and marks, how a session begins and ends, and whether a pool may be
//! torn.

pub(crate) mod create;
pub(crate) mod doubt;
mod end_mark;
pub(crate) mod entrance;
pub(crate) mod newest_number;
pub(crate) mod own;
pub(crate) mod own_blocks;
pub(crate) mod pool_file;
pub(crate) mod schedule;
pub(crate) mod sessions;
pub mod superblock;
