//! What the tests of the tree share.

pub(crate) mod history;
pub(crate) mod map;
pub(crate) mod ops;
pub(crate) mod stage;
pub(crate) mod world;
