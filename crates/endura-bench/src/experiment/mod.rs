//! Any index over any medium, and mixed work on it: what the papers' experiments are run on.

mod drive;
mod media;
mod subject;

pub use drive::{OperationMix, Rate, Work, drive, load, median};
pub use media::{adr, mapped, page_cache, room};
pub use subject::Subject;
