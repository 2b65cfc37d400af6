//! The tree of byte strings: its interface, and what only it does.

mod entry;
mod index;
mod texts;
pub(crate) mod tree;
pub(crate) mod upkeep;
pub(crate) mod walk;
