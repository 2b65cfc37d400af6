//! The kinds of index that a map of a pool can have.
//!
//! The rest of the store knows two forms of index ([`Tree`]), one of words and one of byte strings, and one trait for
//! work on whole maps ([`Structure`](structure::Structure)). A new kind of index needs a file here, a row of [`table`], a variant of
//! [`WordTree`] or [`ByteTree`], and a [`Kind`](crate::Kind).

mod bytes;
mod fast_fair;
mod leak_recovery;
mod nbtree;
mod roart;
mod sizes;
mod structure;
pub(crate) mod table;
mod tree;
mod void_locks;
mod words;

pub(crate) use bytes::{ByteTree, Strings};
pub(crate) use leak_recovery::Background;
pub use sizes::{NarrowLeaves, NbTree, NodeLayout, Wide, default_layout};
pub(crate) use tree::Tree;
pub(crate) use void_locks::ready_locks;
pub(crate) use words::{WordTree, Words};
