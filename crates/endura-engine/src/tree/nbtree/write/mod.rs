//! Writes, and the structure changes that they cause.

pub(crate) mod change;
pub(crate) mod insert;
pub(crate) mod merge;
pub(crate) mod settle;
pub(crate) mod smo;
pub(crate) mod update;
