//! The words of a page, and which of its units are free, without regard to other pages.

pub(crate) mod header;
pub(crate) mod runs;
pub(crate) mod table;
pub(crate) mod units;
