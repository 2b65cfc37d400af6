//! Writes, and the structure changes that they cause.

pub(crate) mod arrays;
pub(crate) mod entry;
pub(crate) mod insert;
pub(crate) mod new_record;
pub(crate) mod shrink;
pub(crate) mod split;
