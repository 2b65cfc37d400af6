//! Values of any type with serde.

use std::borrow::Cow;
use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::BoxError;
#[cfg(feature = "json")]
use crate::encoding::json_text;
use crate::encoding::readable::{self, Reading};
use crate::encoding::serde_names;
use crate::encoding::value::{KeyBound, Value};
#[cfg(feature = "json")]
use endura_engine::tree::Bytes;

/// Values of type `T`, stored as JSON: readable, and open to new fields with `#[serde(default)]`.
///
/// The pool records `json` and the name by which serde knows `T`: `json<User>`. Arguments of generic types are not
/// recorded, because the text describes itself: decoding it as a type that does not fit fails.
///
/// # Refused values
///
/// A value that JSON would not give back unchanged fails with [`Error::Encode`](crate::Error::Encode): NaN and
/// infinity, `Some(None)` and `Some(())`, and more than 127 nested arrays and objects. A value is decoded before it is
/// stored if fields were left out (`skip_serializing_if`), if it has integers of 128 bits, or if a struct in it has
/// `#[serde(flatten)]`. In builds with debug assertions every value is decoded before it is stored.
///
/// # Equality
///
/// [`compare_exchange`](crate::Map::compare_exchange) ignores the order of the fields of an object, so that a `HashMap`
/// is equal to itself. The elements of an array have an order: use a `BTreeSet` in place of a `HashSet`.
///
/// # Example
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let pool = endura::Pool::open(folder.path().join("data.endura"))?;
/// use endura::Json;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct User {
///     name: String,
///     born: u16,
/// }
///
/// let users = pool.map::<str, Json<User>>("users")?;
/// users.insert("ada", &User { name: "Ada".into(), born: 1815 })?;
/// assert_eq!(users.get_with("ada", |user| user.born)?, Some(1815));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[cfg(feature = "json")]
pub struct Json<T>(PhantomData<fn() -> T>);

/// Values of type `T`, stored as [postcard](https://postcard.jamesmunns.com): small and fast. The fields of `T` must
/// not change.
///
/// The pool records `postcard` and the name by which serde knows `T`, with the arguments of generic types. A type
/// without such a name is recorded whole, by its Rust name without paths. Examples: `postcard<User>`,
/// `postcard<Page<u32>>`, `postcard<Vec<User>>`. The fields of a struct are not recorded.
///
/// # Refused values
///
/// Postcard stores neither names nor types, so it cannot decode types that need them: `#[serde(untagged)]`,
/// `#[serde(tag)]`, `#[serde(flatten)]`, `serde_json::Value`, and fields that are left out (`skip_serializing_if`). A
/// value with a field left out fails with [`Error::Encode`](crate::Error::Encode). Builds with debug assertions decode
/// every value before they store it, which detects the other cases. Release builds store such values, and fail when
/// they read them. Use [`Json`] for these types.
///
/// # Equality
///
/// [`compare_exchange`](crate::Map::compare_exchange) compares encodings. A `HashMap` or `HashSet` is encoded in
/// arbitrary order: use a `BTreeMap` or `BTreeSet`.
///
/// # Example
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let pool = endura::Pool::open(folder.path().join("data.endura"))?;
/// use endura::Postcard;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct User {
///     name: String,
///     born: u16,
/// }
///
/// let users = pool.map::<str, Postcard<User>>("users")?;
/// users.insert("ada", &User { name: "Ada".into(), born: 1815 })?;
/// assert_eq!(users.get_with("ada", |user| user.born)?, Some(1815));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[cfg(feature = "postcard")]
pub struct Postcard<T>(PhantomData<fn() -> T>);

/// If it is in doubt whether the codec can read the value back, fails unless `V` decodes the bytes just written. Builds
/// with debug assertions always decode.
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
