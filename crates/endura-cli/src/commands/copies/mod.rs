//! Commands on checkpoints and copies of a pool.

pub(crate) mod backup;
pub(crate) mod checkpoint;
pub(crate) mod compact;
pub(crate) mod restore;
