//! Types of other crates that are stored as one of ours.
use std::borrow::Cow;

use crate::tree::Bytes;

use crate::BoxError;
use crate::store::encoding::value::{Key, KeyBound, Value};

/// A `Copy` type that is stored as another: an id, or a struct of fixed fields.
///
/// ```
/// #[derive(Clone, Copy)]
/// struct UserId(u64);
///
/// impl endura::Newtype for UserId {
///     type Stored = u64;
///     fn to_stored(self) -> u64 { self.0 }
///     fn from_stored(id: u64) -> Self { Self(id) }
/// }
/// ```
pub trait Newtype: Copy + 'static {
    /// What it is stored as.
    type Stored: Key;
    /// A name of its own, which makes it another type to the pool than `Stored`; none by default.
    const NAME: Option<&'static str> = None;
    /// The value to store.
    fn to_stored(self) -> <Self::Stored as Value>::Ref<'static>;
    /// The value that was stored.
    fn from_stored(stored: <Self::Stored as Value>::Owned) -> Self;
}

impl<T: Newtype> Value for T {
    type Ref<'a> = T;
    type Owned = T;
    const WIDTH: Option<usize> = T::Stored::WIDTH;

    fn type_name() -> Cow<'static, str> {
        let stored = T::Stored::type_name();
        match T::NAME {
            Some(name) => format!("{name}: {stored}").into(),
            None => stored,
        }
    }

    #[inline]
    fn lend(owned: &T) -> T {
        *owned
    }

    #[inline]
    fn encode(value: T, out: &mut Vec<u8>) -> Result<(), BoxError> {
        T::Stored::encode(value.to_stored(), out)
    }

    #[inline]
    fn decode(bytes: &[u8]) -> Result<T, BoxError> {
        T::Stored::decode(bytes).map(T::from_stored)
    }

    #[inline]
    fn to_word(value: T) -> u64 {
        T::Stored::to_word(value.to_stored())
    }

    #[inline]
    fn from_word(word: u64) -> Result<T, BoxError> {
        T::Stored::from_word(word).map(T::from_stored)
    }

    #[inline]
    fn with_encoded<R>(value: T, f: impl FnOnce(&[u8]) -> R) -> Result<R, BoxError> {
        T::Stored::with_encoded(value.to_stored(), f)
    }

    #[inline]
    fn read(bytes: Bytes<'_>) -> Result<T, BoxError> {
        T::Stored::read(bytes).map(T::from_stored)
    }
}

impl<T: Newtype> Key for T {
    fn encode_part(key: T, out: &mut Vec<u8>) -> Result<(), BoxError> {
        T::Stored::encode_part(key.to_stored(), out)
    }

    fn decode_part(bytes: &mut &[u8]) -> Result<T, BoxError> {
        T::Stored::decode_part(bytes).map(T::from_stored)
    }
}

impl<T: Newtype> KeyBound<T> for T {
    fn lent(&self) -> T {
        *self
    }
}
