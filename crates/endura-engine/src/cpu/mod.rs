//! Processor instructions: flushes, exchanges of two words, prefetches, checksums, copies, and searches and sorts that
//! compare many values at once.
//!
//! This is one of the four modules where `unsafe` is allowed. It may use only `sync` and `error`.
//!
//! After a change run `.ci/quick`. Also run
//!
//! * for searches, sorts and vectors: `cargo test -p endura-engine --test nbtree vectors`
//! * for anything with code for AArch64: `.ci/hours aarch64`

pub(crate) mod byte_search;
pub(crate) mod copy;
pub mod crc32c;
pub(crate) mod flush;
pub(crate) mod pair;
pub(crate) mod prefetch;
pub(crate) mod small_sort;
pub mod vectors;
