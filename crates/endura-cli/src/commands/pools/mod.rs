//! Commands on a pool, and on its maps.

pub(crate) mod check;
pub(crate) mod count;
pub(crate) mod drop;
pub(crate) mod info;
pub(crate) mod rename;
