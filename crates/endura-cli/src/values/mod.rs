//! Keys and values, as they are typed, shown and stored.
//!
//! | from | to | by |
//! | --- | --- | --- |
//! | text: arguments, files | a [`Datum`](endura::dynamic::Datum), which holds it exactly | [`notation`], [`json`], [`scalar`] |
//! | a datum | the encoding that a map stores | the library, by the [`Type`](endura::dynamic::Type) |
//! | the first entry of a new map | its types | [`guess`] |

mod decimal;
pub(crate) mod escape;
pub(crate) mod guess;
pub(crate) mod json;
pub(crate) mod map;
pub(crate) mod notation;
pub(crate) mod scalar;
#[cfg(test)]
mod tests;
