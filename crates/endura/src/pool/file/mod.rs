//! The file of a pool.

pub(crate) mod create;
mod doubt;
pub(crate) mod pool_file;
pub mod superblock;
