//! Who is inside of an operation, and until when what was reached there is what it was.

pub(crate) mod guard;
pub(crate) mod pin;
pub(crate) mod quiesce;
pub(crate) mod seat;
