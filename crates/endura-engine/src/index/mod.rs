//! The kinds of index that a map of a pool can have, without types of keys and values.
//!
//! The layers above know two forms of index ([`Tree`]), one of words and one of byte strings, and one trait for work on
//! whole maps ([`Structure`](structure::Structure)). A new kind of index needs a file here, a row of [`table`], a
//! variant of [`WordTree`] or [`ByteTree`], and a [`Kind`](crate::Kind).
//!
//! This module may use `tree`, `checkpoint` and `space`, and the modules below these. After a change run `.ci/quick`
//! and `cargo test -p endura-tests --test map`. A change of the sizes of nodes needs a further row of [`table`], so
//! that existing maps can still be opened.

mod bytes;
pub mod commit;
mod fast_fair;
mod fast_fair_bytes;
mod form;
mod leak_recovery;
mod nbtree;
mod nbtree_bytes;
mod recorded;
pub mod replay;
mod roart;
mod room;
mod sizes;
mod structure;
pub(crate) mod table;
#[cfg(all(test, not(loom)))]
mod tests;
mod tree;
mod void_locks;
mod words;

pub use bytes::{ByteTree, Strings};
pub use form::Entries;
pub(crate) use leak_recovery::Background;
pub use sizes::{FairBytes, NarrowLeaves, NbBytes, NbTree, NodeLayout, Wide, default_layout};
pub use tree::Tree;
pub(crate) use void_locks::ready_locks;
pub use words::{WordTree, Words};
