//! A serializer that writes nothing: it detects values that a codec would not read back unchanged.

use std::cell::Cell;
use std::fmt;

use serde::ser::{self, Serialize, Serializer};

use crate::BoxError;

/// Whether a codec can decode what it writes for a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// The codec can decode the value, if it supports the type at all.
    AsEver,
    /// Only an attempt to decode shows it, for one of three reasons. Fields were left out, and the type may have no
    /// defaults for them. The value has an integer of 128 bits, which serde cannot read inside `untagged`, `tag` and
    /// `flatten`. Or the value has a map of unknown length: serde writes a struct with `flatten` as such a map, in
    /// which a name may occur twice.
    InDoubt,
}

/// Fails if JSON would not read the value back unchanged.
#[cfg(feature = "json")]
pub(crate) fn by_json<T: Serialize + ?Sized>(value: &T) -> Result<Reading, BoxError> {
    check(value, Codec::Json)
}

/// Fails if postcard would not read the value back unchanged.
#[cfg(feature = "postcard")]
pub(crate) fn by_postcard<T: Serialize + ?Sized>(value: &T) -> Result<Reading, BoxError> {
    check(value, Codec::Postcard)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, reason = "each is made with its feature")]
enum Codec {
    Json,
    Postcard,
}

/// The depth of nested arrays and objects up to which `serde_json` decodes.
const DEEPEST: u32 = 127;

fn check<T: Serialize + ?Sized>(value: &T, codec: Codec) -> Result<Reading, BoxError> {
    let doubt = Cell::new(false);
    value.serialize(Check { codec, doubt: &doubt, depth: 0, is_some: false })?;
    Ok(if doubt.get() { Reading::InDoubt } else { Reading::AsEver })
}

/// Why a value is refused.
#[derive(Debug)]
struct Refusal(String);

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refusal {}

impl ser::Error for Refusal {
    fn custom<M: fmt::Display>(message: M) -> Self {
        Self(message.to_string())
    }
}

fn refuse<R>(why: &str) -> Result<R, Refusal> {
    Err(Refusal(why.to_owned()))
}

/// The check of one place in a value.
#[derive(Clone, Copy)]
struct Check<'c> {
    codec: Codec,
    /// Set to true if the [`Reading`] is in doubt.
    doubt: &'c Cell<bool>,
    depth: u32,
    /// Whether this is the value inside a `Some`.
    is_some: bool,
}

impl Check<'_> {
    /// The check of a place that is `levels` arrays and objects deeper.
    fn enter(self, levels: u32) -> Result<Self, Refusal> {
        let depth = self.depth + levels;
        if self.codec == Codec::Json && depth > DEEPEST {
            return refuse(
                "JSON is read up to 127 arrays and objects in each other, and it has more",
            );
        }
        Ok(Self { depth, is_some: false, ..self })
    }

    fn float(self, is_finite: bool) -> Result<(), Refusal> {
        match self.codec {
            Codec::Json if !is_finite => {
                refuse("JSON has no NaN and no infinity: an `Option` says that there is no number")
            }
            _ => Ok(()),
        }
    }

    /// A value that JSON writes as `null`.
    fn nothing(self) -> Result<(), Refusal> {
        match self.codec {
            Codec::Json if self.is_some => refuse(
                "JSON would read `Some(None)`, or `Some(())`, as `None`: make it an enum or a struct",
            ),
            _ => Ok(()),
        }
    }

    fn skip(self) -> Result<(), Refusal> {
        match self.codec {
            Codec::Postcard => refuse(
                "postcard cannot leave out a field (`skip_serializing_if`): store all of them, or use `Json`",
            ),
            Codec::Json => {
                self.doubt.set(true);
                Ok(())
            }
        }
    }

    /// Marks the reading as doubtful for JSON. Postcard stores no names, which could occur twice, and refuses maps of
    /// unknown length.
    fn in_doubt(self) {
        if self.codec == Codec::Json {
            self.doubt.set(true);
        }
    }
}

macro_rules! plain {
    ($($method:ident: $type:ty;)*) => { $(
        fn $method(self, _: $type) -> Result<(), Refusal> { Ok(()) }
    )* };
}

impl Serializer for Check<'_> {
    type Ok = ();
    type Error = Refusal;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    plain! {
        serialize_bool: bool;
        serialize_i8: i8; serialize_i16: i16; serialize_i32: i32; serialize_i64: i64;
        serialize_u8: u8; serialize_u16: u16; serialize_u32: u32; serialize_u64: u64;
        serialize_char: char; serialize_str: &str; serialize_bytes: &[u8];
    }

    fn serialize_i128(self, _: i128) -> Result<(), Refusal> {
        self.in_doubt();
        Ok(())
    }

    fn serialize_u128(self, _: u128) -> Result<(), Refusal> {
        self.in_doubt();
        Ok(())
    }

    fn serialize_f32(self, value: f32) -> Result<(), Refusal> {
        self.float(value.is_finite())
    }

    fn serialize_f64(self, value: f64) -> Result<(), Refusal> {
        self.float(value.is_finite())
    }

    fn serialize_none(self) -> Result<(), Refusal> {
        self.nothing()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Refusal> {
        value.serialize(Self { is_some: true, ..self })
    }

    fn serialize_unit(self) -> Result<(), Refusal> {
        self.nothing()
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Refusal> {
        self.nothing()
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
    ) -> Result<(), Refusal> {
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Refusal> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Result<(), Refusal> {
        value.serialize(self.enter(1)?)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self, Refusal> {
        self.enter(1)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, Refusal> {
        self.enter(1)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, Refusal> {
        self.enter(1)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Refusal> {
        self.enter(2)
    }

    fn serialize_map(self, len: Option<usize>) -> Result<Self, Refusal> {
        if len.is_none() {
            self.in_doubt();
        }
        self.enter(1)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Refusal> {
        self.enter(1)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Refusal> {
        self.enter(2)
    }

    fn collect_str<T: fmt::Display + ?Sized>(self, _: &T) -> Result<(), Refusal> {
        Ok(())
    }

    fn is_human_readable(&self) -> bool {
        self.codec == Codec::Json
    }
}

macro_rules! elements {
    ($($of:ident $method:ident;)*) => { $(
        impl ser::$of for Check<'_> {
            type Ok = ();
            type Error = Refusal;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Refusal> {
                value.serialize(*self)
            }

            fn end(self) -> Result<(), Refusal> { Ok(()) }
        }
    )* };
}

elements! {
    SerializeSeq serialize_element;
    SerializeTuple serialize_element;
    SerializeTupleStruct serialize_field;
    SerializeTupleVariant serialize_field;
}

macro_rules! fields {
    ($($of:ident)*) => { $(
        impl ser::$of for Check<'_> {
            type Ok = ();
            type Error = Refusal;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                _: &'static str,
                value: &T,
            ) -> Result<(), Refusal> {
                value.serialize(*self)
            }

            fn skip_field(&mut self, _: &'static str) -> Result<(), Refusal> { self.skip() }

            fn end(self) -> Result<(), Refusal> { Ok(()) }
        }
    )* };
}

fields! { SerializeStruct SerializeStructVariant }

impl ser::SerializeMap for Check<'_> {
    type Ok = ();
    type Error = Refusal;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Refusal> {
        key.serialize(*self)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Refusal> {
        value.serialize(*self)
    }

    fn end(self) -> Result<(), Refusal> {
        Ok(())
    }
}

#[cfg(all(test, feature = "json", feature = "postcard"))]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_128_bits_are_in_doubt_as_json() {
        assert_eq!(by_json(&Some([1_u64])).unwrap(), Reading::AsEver);
        assert_eq!(by_json(&Some([1_u128])).unwrap(), Reading::InDoubt);
        assert_eq!(by_json(&(1_u8, -1_i128)).unwrap(), Reading::InDoubt);
        assert_eq!(by_postcard(&(1_u128, -1_i128)).unwrap(), Reading::AsEver);
    }
}
