//! Pages by themselves: what their words say, and which of their units are free.

pub(crate) mod header;
pub(crate) mod runs;
pub(crate) mod table;
pub(crate) mod units;
