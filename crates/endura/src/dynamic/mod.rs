//! Maps whose types are known only at run time: the basis of the command and of the bindings for other languages.
//!
//! Keys and values are passed as they are stored: as *encodings*. These sort as the values do, so that bounds, prefixes
//! and comparisons work on bytes. Each method checks its arguments. A [`Type`] is the parsed name of a type; it
//! converts between encodings and a [`Datum`].

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

pub use crate::tree::byte_range::behind;
pub use datum::Datum;
pub use encoding::{Encoding, word};
pub use form::Form;
pub use map::DynamicMap;
pub use range::{DynamicKeys, DynamicRange, DynamicValues};
pub use types::Type;
pub use untyped::UntypedMap;
