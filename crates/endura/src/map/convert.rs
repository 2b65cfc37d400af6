//! Conversion between typed values and the encodings in the trees, with errors that name the type.

use std::borrow::Cow;
use std::ops::Bound;

use endura_engine::tree::Bytes;

use crate::encoding::value::{Key, PrefixKey, Value};
use crate::{BoxError, Error, Result};

#[cold]
pub(crate) fn decode_error<T: Value + ?Sized>(source: BoxError) -> Error {
    Error::Decode { type_name: T::type_name().into_owned(), source }
}

#[cold]
pub(crate) fn encode_error<T: Value + ?Sized>(source: BoxError) -> Error {
    Error::Encode { type_name: T::type_name().into_owned(), source }
}

#[inline]
pub(crate) fn from_word<T: Value + ?Sized>(word: u64) -> Result<T::Owned> {
    T::from_word(word).map_err(decode_error::<T>)
}

#[inline]
pub(crate) fn from_words<T: Value + ?Sized>(found: Option<u64>) -> Result<Option<T::Owned>> {
    match found {
        Some(found) => Ok(Some(from_word::<T>(found)?)),
        None => Ok(None),
    }
}

pub(crate) fn read<T: Value + ?Sized>(bytes: Bytes<'_>) -> Result<T::Owned> {
    T::read(bytes).map_err(decode_error::<T>)
}

pub(crate) fn decode<T: Value + ?Sized>(bytes: &[u8]) -> Result<T::Owned> {
    T::decode(bytes).map_err(decode_error::<T>)
}

/// Decodes an encoding that was copied out of the pool.
#[inline]
pub(crate) fn own<T: Value + ?Sized>(bytes: Cow<'_, [u8]>) -> Result<T::Owned> {
    let owned = match bytes {
        Cow::Borrowed(bytes) => T::decode(bytes),
        Cow::Owned(bytes) => T::own(bytes),
    };
    owned.map_err(decode_error::<T>)
}

/// Passes the encoding of a value to a closure.
#[inline]
pub(crate) fn encoded<T: Value + ?Sized, R>(
    value: T::Ref<'_>,
    show: impl FnOnce(&[u8]) -> Result<R>,
) -> Result<R> {
    T::with_encoded(value, show).map_err(encode_error::<T>)?
}

pub(crate) fn encode<T: Value + ?Sized>(value: T::Ref<'_>) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    T::encode(value, &mut out).map_err(encode_error::<T>)?;
    Ok(out)
}

pub(crate) fn encode_prefix<K: PrefixKey + ?Sized>(prefix: K::Prefix<'_>) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    K::encode_prefix(prefix, &mut out).map_err(encode_error::<K>)?;
    Ok(out)
}

/// The word of a key that begins with `prefix`, and continues with this byte up to its width.
pub(crate) fn padded<K: Key + ?Sized>(prefix: &[u8], byte: u8) -> u64 {
    let width = K::WIDTH.unwrap_or(prefix.len());
    let rest = std::iter::repeat_n(byte, width - prefix.len());
    prefix.iter().copied().chain(rest).fold(0, |word, byte| word << 8 | u64::from(byte))
}

pub(crate) fn encode_bound<K: Key + ?Sized>(bound: Bound<K::Ref<'_>>) -> Result<Bound<Vec<u8>>> {
    Ok(match bound {
        Bound::Included(key) => Bound::Included(encode::<K>(key)?),
        Bound::Excluded(key) => Bound::Excluded(encode::<K>(key)?),
        Bound::Unbounded => Bound::Unbounded,
    })
}
