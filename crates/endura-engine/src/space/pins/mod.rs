//! Pins: which threads are inside an operation, and for how long a place that was reached there stays valid.

pub(crate) mod claims;
pub(crate) mod guard;
mod held;
pub(crate) mod park;
pub(crate) mod pin;
pub(crate) mod quiesce;
pub(crate) mod seat;
pub(crate) mod slow;
