//! Lookups of many keys, and scans.

pub(crate) mod batch;
pub(crate) mod bound;
pub(crate) mod ends;
pub(crate) mod many;
pub(crate) mod next;
pub(crate) mod scan;
pub(crate) mod walk;
