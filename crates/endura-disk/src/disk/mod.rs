//! The disk: what is durable, what is in its volatile cache, and what a power cut leaves of that.

mod cache;
mod fuse;
mod volatile;

pub(crate) use cache::SECTOR;
pub(crate) use fuse::Fuse;
pub(crate) use volatile::{Cut, Disk, Honesty};
