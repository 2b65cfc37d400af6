//! Records: a key and a value in a chunk of their own, to which a tree leads. Every tree with values of any length uses
//! them. The write loop of a tree that leads from each key to an offset is in [`linking`].
//!
//! A write that links a record does it in this order: write the record and start its write-back ([`draft`], or [`filling`]
//! for a value that a closure writes); fence; store the word that leads to it; make that word durable; retire the record
//! that the word led to before. A record never changes once it is linked, and its chunk is not reused before all pins have
//! ended that began before it was unlinked. So inside a pin the same offset means the same key and the same value
//! ([`basis`]).
//!
//! This module may use what `tree` may use, but no tree.

pub(crate) mod basis;
pub(crate) mod bound;
pub(crate) mod draft;
pub(crate) mod filling;
pub(crate) mod fingerprint;
pub(crate) mod fresh;
pub(crate) mod leaf_texts;
pub(crate) mod linking;
pub(crate) mod record;
pub(crate) mod record_walk;
pub(crate) mod scan;
