//! Pools: the class, its options, its statistics as objects, and its events as records of `logging`.

mod class;
mod events;
mod options;
mod report;

pub(crate) use class::Pool;
pub(crate) use events::{end_events, forget_threads};
