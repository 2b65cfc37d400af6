//! Walks over the whole tree: counting, leak recovery, checking, dropping.

pub(crate) mod check;
pub(crate) mod count;
pub(crate) mod inventory;
pub(crate) mod mark;
