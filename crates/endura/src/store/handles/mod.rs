//! Handles of single indexes, over any medium: for the lab, and for tests of what lies below a [`Map`](crate::Map).

mod any;
mod byte_map;
mod byte_range;
mod handle;
mod open;
mod word_map;
mod word_range;

pub use any::{AnyCursor, AnyIndex, AnyMap};
pub use byte_map::ByteMap;
pub use byte_range::{ByteEntry, ByteRange};
pub use open::{FastFair, FastFairIndex, Handles, NbTree, Roart, RoartIndex};
pub use word_map::{OrderedMap, WordMap};
pub use word_range::WordRange;

pub use crate::store::nbtree::NbTreeIndex;
