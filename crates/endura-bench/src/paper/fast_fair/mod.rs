//! FAST & FAIR.

mod latency;
mod node_size;
mod range;
mod rows;
mod threads;
mod tpcc;

pub(super) use rows::ROWS;
