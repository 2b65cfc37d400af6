//! [`Map`]: operations on one key, ranges, and passes over many entries.
//!
//! This module may use `pool`, `encoding`, `index` and `tree`, and the modules below these. A new or changed method
//! also belongs in `dynamic/`. After a change run `.ci/quick`. Also run
//!
//! * for any operation: `cargo test -p endura-tests --test map`
//! * for the public API: `ENDURA_BLESS=1 cargo test -p endura --test architecture surface`

pub(crate) mod convert;
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
pub(crate) use handle::shared;
pub use open::MapOptions;
pub(crate) use open::check_names;
pub use range::{Keys, Range, Values};
pub use visit::Visit;
