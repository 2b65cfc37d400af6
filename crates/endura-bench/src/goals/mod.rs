//! What we have set ourselves: how fast an index is to be beside a store that people would use instead,
//! and whether it is.

mod judged;
mod race;
mod races;

pub use judged::Judged;
pub use race::{Goal, Measure, Race};
pub use races::RACES;
