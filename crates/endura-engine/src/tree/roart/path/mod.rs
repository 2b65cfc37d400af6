//! The path from the root to the place of a key.

pub(crate) mod attempt;
pub(crate) mod descend;
pub(crate) mod lock;
pub(crate) mod lookup;
