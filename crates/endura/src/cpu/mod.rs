//! Processor instructions: flushes, exchanges of two words, prefetches, checksums, and searches that compare
//! many values at once, copies. One of the doors for `unsafe`.

pub(crate) mod byte_search;
pub(crate) mod copy;
pub(crate) mod crc32c;
pub(crate) mod flush;
pub(crate) mod pair;
pub(crate) mod prefetch;
pub(crate) mod small_sort;
pub(crate) mod vectors;
