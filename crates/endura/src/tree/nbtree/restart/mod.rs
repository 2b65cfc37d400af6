//! The metadata layer, made anew.

pub(crate) mod chain;
pub(crate) mod partition;
pub(crate) mod rebuild;
