//! Maps whose types are known only at run time: what the command and the bindings of other languages are made of.
//!
//! Keys and values go in and come out as they are stored: as *encodings*, which sort as the values do, so that every
//! bound, prefix and comparison is one of bytes. What goes in is checked. A [`Type`] is the parsed name of a type; it
//! converts between encodings and a [`Datum`].

mod datum;
mod encoding;
mod ends;
mod many;
mod map;
mod point;
mod range;
mod types;
mod untyped;
mod walk;

pub use datum::Datum;
pub use encoding::{Encoding, word};
pub use map::DynamicMap;
pub use range::{DynamicKeys, DynamicRange, DynamicValues};
pub use types::Type;
pub use untyped::UntypedMap;
