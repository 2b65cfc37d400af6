//! Keys and values, as they are typed, shown and stored.

pub(crate) mod datum;
mod decimal;
pub(crate) mod escape;
pub(crate) mod guess;
pub(crate) mod json;
pub(crate) mod map;
pub(crate) mod notation;
pub(crate) mod scalar;
#[cfg(test)]
mod tests;
pub(crate) mod types;
