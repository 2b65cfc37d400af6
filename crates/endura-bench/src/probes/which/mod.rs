//! Which index for which keys and values: every operation of the indexes that can hold them, beside LMDB.
//!
//! Keys are made before anything is timed, in the order in which they are used. A round opens every contender on an empty
//! file, one after the other, and the next round turns the order around. Times are those of the thread's own processor
//! time, so that a busy machine disturbs them less.

mod keys;
mod map;
mod measure;

pub use keys::KeySet;
pub use map::{Candidate, Medium};
pub use measure::{Case, Figures, OPERATIONS, measure};
