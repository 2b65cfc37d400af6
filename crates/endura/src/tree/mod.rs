//! The papers' indexes, over any medium.

pub mod fast_fair;
