//! Keys and values, as they are typed and shown.

pub(crate) mod datum;
pub(crate) mod entries;
pub(crate) mod escape;
