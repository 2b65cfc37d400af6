//! NBTree.

mod counts;
mod domains;
mod latency;
mod rows;
mod skew;
mod space;
mod threads;

pub(super) use rows::ROWS;
