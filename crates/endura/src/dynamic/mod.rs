//! Maps whose types are known only at run time.
//!
//! This module may use `batch`, `map`, `pool`, `encoding`, `index` and `tree`, and the modules below these.
//!
//! | after a change of | run |
//! | --- | --- |
//! | anything here | `cargo test -p endura-tests --test map dynamic`, then `.ci/quick` |
//! | `copy.rs`, or how damage is met | `cargo test -p endura-tests --test faults` |
//! | `datum.rs`, `types.rs` or `walk.rs` | `cargo test -p endura-cli --bin endura --test types` |
//!
//! The command and the bindings for other languages are built on these maps. Keys and values are passed as they are
//! stored: as *encodings*. These sort as the values do, so that bounds, prefixes and comparisons work on bytes. A
//! [`DynamicMap`] checks the keys and values that it gets. A [`Type`] is the parsed name of a type; it converts between
//! encodings and a [`Datum`].

mod batch;
mod copy;
mod datum;
mod encoding;
mod ends;
mod form;
mod many;
mod map;
mod point;
mod range;
mod types;
mod untyped;
mod walk;

pub use datum::Datum;
pub use encoding::{Encoding, word};
pub use endura_engine::tree::byte_range::behind;
pub use form::Form;
pub use map::DynamicMap;
pub use range::{DynamicKeys, DynamicRange, DynamicValues};
pub use types::Type;
pub use untyped::UntypedMap;
