//! One node: its words, its lock, its search, and the shifts of its entries.

pub(crate) mod header;
pub(crate) mod lock_word;
pub(crate) mod locked;
pub(crate) mod node;
pub(crate) mod search;
pub(crate) mod shift;
