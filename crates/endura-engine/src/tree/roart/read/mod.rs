//! Lookups of many keys, and scans.

pub(crate) mod ends;
pub(crate) mod key_walk;
pub(crate) mod many;
pub(crate) mod scan;
