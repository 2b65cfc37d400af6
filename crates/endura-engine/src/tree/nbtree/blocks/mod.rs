//! The part in the pool: blocks of unsorted entries.

pub(crate) mod block;
pub(crate) mod chunks;
pub(crate) mod claims;
