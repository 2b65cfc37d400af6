//! A sort of a few numbers.

mod order;
mod ranks;

pub(crate) use order::{MOST, NO_PLACE, order};
