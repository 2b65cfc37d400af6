//! Commands on the entries of a map.

pub(crate) mod batch;
pub(crate) mod del;
pub(crate) mod export;
pub(crate) mod get;
pub(crate) mod import;
pub(crate) mod put;
pub(crate) mod scan;
