//! The file of a pool.

pub(crate) mod create;
pub(crate) mod doubt;
pub(crate) mod newest_number;
pub(crate) mod own;
pub(crate) mod pool_file;
pub(crate) mod schedule;
pub mod superblock;
