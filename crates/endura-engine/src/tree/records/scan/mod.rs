//! Scans of a tree with records, in both directions, that read some entries ahead.

pub(crate) mod between;
pub(crate) mod copies;
pub(crate) mod noted;
pub(crate) mod one_by_one;
#[expect(clippy::module_inception, reason = "what the folder is about")]
pub(crate) mod scan;
