//! Lookups and scans.

pub(crate) mod ends;
pub(crate) mod lookup;
pub(crate) mod many;
pub(crate) mod scan;
