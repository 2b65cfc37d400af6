//! The papers' indexes, over any medium.
//!
//! An index offers a few primitives ([`Index`] for numbers, [`ByteIndex`] for byte strings); what a
//! map offers is made of them above ([`Map`](crate::Map)).

pub(crate) mod byte_range;
mod bytes;
mod check;
mod ends;
pub mod fast_fair;
mod index;
mod len;
mod lock_word;
pub mod nbtree;
mod pops;
pub mod roart;
#[cfg(all(test, not(loom)))]
mod tests;
pub(crate) mod word_range;
mod wrong_kind;

pub use bytes::{ByteChange, ByteIndex, Bytes, LONGEST_KEY, LONGEST_VALUE};
pub use check::{Repairs, TreeCheck};
pub use index::{Change, Index, Len, Near};
pub use pops::Popped;
