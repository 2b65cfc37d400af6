//! Lookups and scans.

pub(crate) mod ends;
pub(crate) mod leaf_walk;
pub(crate) mod lookup;
pub(crate) mod many;
pub(crate) mod texts;
