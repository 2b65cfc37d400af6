//! Values of any type with serde.
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, DeserializeOwned, Visitor};
use serde::{Serialize, forward_to_deserialize_any};

use crate::BoxError;
use crate::store::encoding::value::Value;

#[cfg(feature = "json")]
/// Values of type `T`, stored as JSON: readable, and open to new fields with `#[serde(default)]`.
pub struct Json<T>(PhantomData<fn() -> T>);

#[cfg(feature = "postcard")]
/// Values of type `T`, stored as [postcard](https://postcard.jamesmunns.com): small and fast; its fields must
/// not change.
pub struct Postcard<T>(PhantomData<fn() -> T>);

macro_rules! codecs {
    ($($feature:literal: $codec:ident, $name:literal, $encode:expr, $decode:expr;)*) => { $(
        #[cfg(feature = $feature)]
        impl<T: Serialize + DeserializeOwned + 'static> Value for $codec<T> {
            type Ref<'a> = &'a T;
            type Owned = T;

            fn type_name() -> Cow<'static, str> {
                match name_of::<T>() {
                    Some(name) => format!(concat!($name, "<{}>"), name).into(),
                    None => $name.into(),
                }
            }

            fn lend(owned: &T) -> &T { owned }

            fn encode(value: &T, out: &mut Vec<u8>) -> Result<(), BoxError> { $encode(value, out) }

            fn decode(bytes: &[u8]) -> Result<T, BoxError> { $decode(bytes) }
        }

        #[cfg(feature = $feature)]
        impl<T: Serialize + DeserializeOwned + 'static> crate::store::encoding::value::KeyBound<$codec<T>> for &T {
            fn lent(&self) -> &T { self }
        }
    )* };
}

codecs! {
    "json": Json, "json", |value, out| Ok(serde_json::to_writer(out, value)?), |bytes| Ok(serde_json::from_slice(bytes)?);
    "postcard": Postcard, "postcard",
        |value, out: &mut Vec<u8>| Ok(postcard::to_io(value, out).map(|_| ())?),
        |bytes| match postcard::take_from_bytes(bytes)? {
            (value, []) => Ok(value),
            (_, rest) => Err(format!("{} bytes too many", rest.len()).into()),
        };
}

/// The name that serde knows a type by: of its struct or enum, or as `#[serde(rename)]` says.
fn name_of<T: DeserializeOwned>() -> Option<&'static str> {
    let mut name = None;
    let _ = T::deserialize(Asks(&mut name));
    name
}

/// A deserializer that has nothing but notes what it is asked for.
struct Asks<'a>(&'a mut Option<&'static str>);

#[derive(Debug)]
struct Nothing;

impl fmt::Display for Nothing {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

impl std::error::Error for Nothing {}

impl de::Error for Nothing {
    fn custom<M: fmt::Display>(_: M) -> Self {
        Self
    }
}

macro_rules! named {
    ($($method:ident($($more:ident: $type:ty),*);)*) => { $(
        fn $method<V: Visitor<'de>>(self, name: &'static str, $($more: $type,)* _: V) -> Result<V::Value, Nothing> {
            *self.0 = Some(name);
            $(let _ = $more;)*
            Err(Nothing)
        }
    )* };
}

macro_rules! unnamed {
    ($($method:ident $name:literal)*) => { $(
        fn $method<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Nothing> {
            *self.0 = Some($name);
            Err(Nothing)
        }
    )* };
}

impl<'de> de::Deserializer<'de> for Asks<'_> {
    type Error = Nothing;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Nothing> {
        Err(Nothing)
    }

    named! {
        deserialize_unit_struct();
        deserialize_newtype_struct();
        deserialize_tuple_struct(len: usize);
        deserialize_struct(fields: &'static [&'static str]);
        deserialize_enum(variants: &'static [&'static str]);
    }

    unnamed! {
        deserialize_str "str" deserialize_string "str" deserialize_bool "bool" deserialize_char "char"
        deserialize_u8 "u8" deserialize_u16 "u16" deserialize_u32 "u32" deserialize_u64 "u64"
        deserialize_i8 "i8" deserialize_i16 "i16" deserialize_i32 "i32" deserialize_i64 "i64"
        deserialize_f32 "f32" deserialize_f64 "f64" deserialize_seq "seq" deserialize_map "map"
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, Nothing> {
        *self.0 = Some("tuple");
        Err(Nothing)
    }

    forward_to_deserialize_any! { i128 u128 bytes byte_buf option unit identifier ignored_any }
}
