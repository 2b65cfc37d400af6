//! Writes, and the structure changes that they cause.

pub(crate) mod entry;
pub(crate) mod merge;
pub(crate) mod post;
pub(crate) mod split;
