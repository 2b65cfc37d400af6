//! The path from the root to the node that covers a key.

pub(crate) mod aim;
pub(crate) mod descend;
pub(crate) mod lock;
pub(crate) mod repair;
pub(crate) mod right;
pub(crate) mod route;
pub(crate) mod trail;
