//! Restart: rebuilding the metadata layer.

pub(crate) mod chain;
pub(crate) mod partition;
