//! The metadata layer, made anew.

pub(crate) mod chain;
pub(crate) mod partition;
