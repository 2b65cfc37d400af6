//! Values of any type with serde.

use std::borrow::Cow;
use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::BoxError;
#[cfg(feature = "json")]
use crate::store::encoding::json_text;
use crate::store::encoding::readable::{self, Reading};
use crate::store::encoding::serde_names;
use crate::store::encoding::value::{KeyBound, Value};
#[cfg(feature = "json")]
use crate::tree::Bytes;

/// Values of type `T`, stored as JSON: readable, and open to new fields with `#[serde(default)]`.
///
/// The pool records `json` and the name that serde knows `T` by: `json<User>`. Arguments of generic types are not
/// recorded, for the text tells what it is: it fails to decode as a type that it does not fit.
///
/// # What is refused
///
/// What JSON would not give back fails with [`Error::Encode`](crate::Error::Encode): NaN and infinity, `Some(None)`
/// and `Some(())`, and more than 127 arrays and objects in each other. A value with fields that were left out
/// (`skip_serializing_if`) is decoded before it is stored; in builds with debug assertions every value is.
///
/// # Equality
///
/// [`compare_exchange`](crate::Map::compare_exchange) takes objects as equal whatever the order of their fields, so
/// that a `HashMap` is equal to itself. The elements of an array have an order: use a `BTreeSet` in place of a `HashSet`.
#[cfg(feature = "json")]
pub struct Json<T>(PhantomData<fn() -> T>);

/// Values of type `T`, stored as [postcard](https://postcard.jamesmunns.com): small and fast; its fields must
/// not change.
///
/// The pool records `postcard` and the name that serde knows `T` by; of generic types the arguments as well, and of
/// types without such a name all of it, by their Rust names without paths: `postcard<User>`, `postcard<Page<u32>>`,
/// `postcard<Vec<User>>`. What the fields of a struct are is not recorded.
///
/// # What is refused
///
/// Postcard has neither names nor types in it, so it cannot read what asks for them: `#[serde(untagged)]`,
/// `#[serde(tag)]`, `#[serde(flatten)]`, `serde_json::Value`, and fields that are left out (`skip_serializing_if`). A
/// value with a field left out fails with [`Error::Encode`](crate::Error::Encode). In builds with debug assertions
/// every value is decoded before it is stored, which shows the rest; release builds store such values, and fail
/// where they read them. Use [`Json`] for these types.
///
/// # Equality
///
/// [`compare_exchange`](crate::Map::compare_exchange) compares encodings. Those of a `HashMap` or `HashSet` have any
/// order: use a `BTreeMap` or `BTreeSet`.
#[cfg(feature = "postcard")]
pub struct Postcard<T>(PhantomData<fn() -> T>);

/// Fails unless `T` reads what was just written, where that is in doubt.
fn verify<V: Value + ?Sized>(reading: Reading, encoded: &[u8]) -> Result<(), BoxError> {
    if reading == Reading::InDoubt || cfg!(debug_assertions) {
        V::decode(encoded).map_err(|error| {
            format!("it could not be read again ({error}): see what its type says of serde")
        })?;
    }
    Ok(())
}

#[cfg(feature = "json")]
impl<T: Serialize + DeserializeOwned + 'static> Value for Json<T> {
    type Ref<'a> = &'a T;
    type Owned = T;

    fn type_name() -> Cow<'static, str> {
        match serde_names::name_of::<T>() {
            Some(name) => format!("json<{name}>").into(),
            None => "json".into(),
        }
    }

    fn lend(owned: &T) -> &T {
        owned
    }

    fn encode(value: &T, out: &mut Vec<u8>) -> Result<(), BoxError> {
        let (reading, start) = (readable::by_json(value)?, out.len());
        serde_json::to_writer(&mut *out, value)?;
        verify::<Self>(reading, &out[start..])
    }

    fn decode(bytes: &[u8]) -> Result<T, BoxError> {
        Ok(serde_json::from_slice(bytes)?)
    }

    fn is_another_encoding_of(stored: Bytes<'_>, encoded: &[u8]) -> bool {
        json_text::are_equal(&stored.to_vec(), encoded)
    }
}

#[cfg(feature = "postcard")]
impl<T: Serialize + DeserializeOwned + 'static> Value for Postcard<T> {
    type Ref<'a> = &'a T;
    type Owned = T;

    fn type_name() -> Cow<'static, str> {
        format!("postcard<{}>", serde_names::full_name_of::<T>()).into()
    }

    fn lend(owned: &T) -> &T {
        owned
    }

    fn encode(value: &T, out: &mut Vec<u8>) -> Result<(), BoxError> {
        let (reading, start) = (readable::by_postcard(value)?, out.len());
        postcard::to_io(value, &mut *out)?;
        verify::<Self>(reading, &out[start..])
    }

    fn decode(bytes: &[u8]) -> Result<T, BoxError> {
        match postcard::take_from_bytes(bytes)? {
            (value, []) => Ok(value),
            (_, rest) => Err(format!("{} bytes too many", rest.len()).into()),
        }
    }
}

macro_rules! bounds {
    ($($feature:literal $codec:ident)*) => { $(
        #[cfg(feature = $feature)]
        impl<T: Serialize + DeserializeOwned + 'static> KeyBound<$codec<T>> for &T {
            fn lent(&self) -> &T { self }
        }
    )* };
}

bounds! { "json" Json "postcard" Postcard }
