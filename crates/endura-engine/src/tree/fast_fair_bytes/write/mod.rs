//! Writes, and the changes of the tree's shape that they cause.

pub(crate) mod build;
pub(crate) mod entry;
pub(crate) mod merge;
pub(crate) mod post;
pub(crate) mod prefix;
pub(crate) mod replace;
pub(crate) mod settle;
pub(crate) mod split;
