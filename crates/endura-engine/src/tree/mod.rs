//! The indexes of the papers, over any medium.
//!
//! Here live [FAST & FAIR](fast_fair) and [NBTree](nbtree) for numbers, [ROART](roart) for byte strings, and what they
//! share. An index has a few primitives ([`Index`] for numbers, [`ByteIndex`] for byte strings); the operations of a
//! map (`Map`) are built on them. This module may use `space`, `media`, `runtime` and `cpu`, besides
//! `sync`, `error`, `kind` and `types`.
//!
//! | after a change of | run |
//! | --- | --- |
//! | one tree | `cargo test -p endura-engine --test fast_fair` (or `nbtree`, `roart`) |
//! | anything here | `.ci/quick` |
//! | a store, flush, fence or drain | `cargo test --release -p endura-sim --test mutation --test fair_bytes --test nbtree --test roart killed` |
//! | a lock word, or a memory order | `RUSTFLAGS="--cfg loom" cargo test -p endura-engine --lib loom` |

pub mod byte_range;
mod bytes;
mod check;
mod ends;
mod entry;
pub mod fast_fair;
pub mod fast_fair_bytes;
mod index;
pub mod key_word;
pub(crate) mod len;
mod lock_word;
pub mod nbtree;
pub(crate) mod numbers;
mod pops;
pub mod record_tree;
pub(crate) mod records;
pub mod roart;
#[cfg(all(test, not(loom)))]
mod tests;
pub mod word_range;
mod wrong_kind;

pub use bytes::{ByteChange, ByteIndex, Bytes, LONGEST_KEY, LONGEST_VALUE};
pub use check::{Repairs, TreeCheck};
pub use entry::Entry;
pub(crate) use entry::EntryVisitor;
pub use index::{Change, Index, Len, Near};
pub use pops::Popped;
