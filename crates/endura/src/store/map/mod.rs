//! [`Map`]: the one type of maps.

mod convert;
mod ends;
mod handle;
mod large;
mod many;
mod open;
mod point;
mod range;
pub(crate) mod untyped;
mod visit;

pub use handle::Map;
pub use open::MapOptions;
pub use range::{Keys, Range, Values};
pub use visit::Visit;
