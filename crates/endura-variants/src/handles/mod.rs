//! Maps over a tree on any medium: for the lab, and for tests of what lies below a `Map`.

mod byte_map;
mod byte_range;
mod word_map;
mod word_range;

pub use byte_map::ByteMap;
pub use byte_range::{ByteEntry, ByteRange};
pub use word_map::WordMap;
pub use word_range::WordRange;
