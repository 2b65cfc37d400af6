//! Restart: how the metadata layer is rebuilt after an open.

pub(crate) mod chain;
pub(crate) mod partition;
