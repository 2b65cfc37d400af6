//! The file of a pool.

pub(crate) mod create;
pub(crate) mod pool_file;
pub mod superblock;
