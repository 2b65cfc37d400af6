//! One node: its words, its lock, and how entries move in it.

pub(crate) mod header;
pub(crate) mod lock_word;
pub(crate) mod locked;
pub(crate) mod node;
pub(crate) mod search;
pub(crate) mod shift;
