//! The path from the root to the node that covers a key.

pub(crate) mod descend;
pub(crate) mod lock;
pub(crate) mod repair;
pub(crate) mod root;
pub(crate) mod slots;
pub(crate) mod trail;
