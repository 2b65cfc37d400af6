//! [`Map`]: the one type of maps.

mod convert;
mod ends;
pub(crate) mod handle;
mod large;
mod many;
mod open;
mod point;
mod range;
mod runs;
mod unread;
mod visit;

pub use handle::Map;
pub use open::MapOptions;
pub(crate) use open::check_names;
pub use range::{Keys, Range, Values};
pub use visit::Visit;
