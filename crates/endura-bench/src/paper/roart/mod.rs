//! ROART.

mod compare;
mod counts;
mod recovery;
mod rows;
mod skew;
mod space;
mod techniques;
mod trees;

pub(super) use rows::ROWS;
