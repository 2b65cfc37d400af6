//! Lookups and scans.

pub(crate) mod lookup;
pub(crate) mod many;
pub(crate) mod order;
pub(crate) mod scan;
