//! The traits of values and keys.
use std::borrow::Cow;

use endura_engine::tree::Bytes;

use crate::BoxError;
use crate::encoding::scratch;

/// A type of values, and its encoding.
///
/// | type | methods take | closures see | methods return |
/// | --- | --- | --- | --- |
/// | `u64` and all `Copy` types | `u64` | `u64` | `u64` |
/// | `str`, `String` | `&str` | `&str` | `String` |
/// | `[u8]`, `Vec<u8>` | `&[u8]` | `&[u8]` | `Vec<u8>` |
/// | `(u64, String)` | `(u64, &str)` | `(u64, &str)` | `(u64, String)` |
/// | `Json<T>`, `Postcard<T>` | `&T` | `&T` | `T` |
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a value of a map",
    label = "not a type of values",
    note = "values are integers, floats, `bool`, `char`, `()`, `str`, `[u8]`, `[u8; N]`, and `Option`, `Reverse` and \
            tuples of these",
    note = "write `str` in place of `&str`, and `[u8]` in place of `&[u8]`",
    note = "a struct with serde goes in as `Json<{Self}>` or `Postcard<{Self}>`; an id implements `Newtype`"
)]
pub trait Value: 'static {
    /// What methods take and closures see: `Self` if that is `Copy`, else a reference.
    type Ref<'a>: Copy + KeyBound<Self>;
    /// What methods return.
    type Owned: 'static;

    /// The name that the pool records: 1 to 255 bytes without control characters. It must not change, and types of one
    /// name must have one encoding.
    fn type_name() -> Cow<'static, str>;
    /// The borrowed form of an owned value.
    fn lend(owned: &Self::Owned) -> Self::Ref<'_>;
    /// Appends the encoding of a value.
    fn encode(value: Self::Ref<'_>, out: &mut Vec<u8>) -> Result<(), BoxError>;
    /// Decodes an encoding.
    fn decode(bytes: &[u8]) -> Result<Self::Owned, BoxError>;

    /// Bytes of an encoding, if all encodings have the same length. An encoding of up to 8 bytes is a word.
    #[doc(hidden)]
    const WIDTH: Option<usize> = None;

    /// The encoding as a number, if it is a word.
    #[doc(hidden)]
    fn to_word(_: Self::Ref<'_>) -> u64 {
        unreachable!("not a word")
    }

    #[doc(hidden)]
    fn from_word(_: u64) -> Result<Self::Owned, BoxError> {
        unreachable!("not a word")
    }

    /// Passes the encoding to `f`. The bytes are copied only if the encoding has to be built.
    #[doc(hidden)]
    #[inline]
    fn with_encoded<R>(value: Self::Ref<'_>, f: impl FnOnce(&[u8]) -> R) -> Result<R, BoxError> {
        let mut buffer = scratch::take();
        let encoded = Self::encode(value, &mut buffer);
        let result = encoded.map(|()| f(&buffer));
        scratch::give(buffer);
        result
    }

    /// Whether stored bytes that differ from `encoded` represent the same value: for types whose values have several
    /// encodings.
    #[doc(hidden)]
    fn is_another_encoding_of(_stored: Bytes<'_>, _encoded: &[u8]) -> bool {
        false
    }

    /// Decodes an encoding, without a copy where that is possible.
    #[doc(hidden)]
    #[inline]
    fn own(bytes: Vec<u8>) -> Result<Self::Owned, BoxError> {
        Self::decode(&bytes)
    }

    /// Passes the value that is decoded from an encoding to `f`, without a copy where that is possible.
    #[doc(hidden)]
    #[inline]
    fn show<R>(bytes: &[u8], f: impl FnOnce(Self::Ref<'_>) -> R) -> Result<R, BoxError> {
        Ok(f(Self::lend(&Self::decode(bytes)?)))
    }

    /// Decodes bytes of the pool, without a copy where that is possible.
    #[doc(hidden)]
    #[inline]
    fn read(bytes: Bytes<'_>) -> Result<Self::Owned, BoxError> {
        scratch::contiguous(bytes, Self::decode)
    }

    /// Passes the decoded value to `f`.
    #[doc(hidden)]
    #[inline]
    fn read_with<R>(bytes: Bytes<'_>, f: impl FnOnce(Self::Ref<'_>) -> R) -> Result<R, BoxError> {
        Ok(f(Self::lend(&Self::read(bytes)?)))
    }
}

/// One end of a range of keys of type `K`: the key as methods take it, or a reference to an owned one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the end of a range of `{K}` keys",
    label = "not a `{K}`, nor a reference to one"
)]
pub trait KeyBound<K: Value + ?Sized> {
    /// The key as methods take it.
    fn lent(&self) -> K::Ref<'_>;
}

/// A type of keys: one whose encodings sort byte by byte as its values do.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a key of a map",
    label = "not a type of keys",
    note = "keys are integers, floats, `bool`, `char`, `()`, `str`, `[u8]`, `[u8; N]`, and `Option`, `Reverse` and tuples \
            of these",
    note = "write `str` in place of `&str`, and `String` where it is part of a tuple",
    note = "for an id of your own implement `Newtype`"
)]
pub trait Key: Value {
    /// Appends an encoding that marks its own end.
    #[doc(hidden)]
    fn encode_part(key: Self::Ref<'_>, out: &mut Vec<u8>) -> Result<(), BoxError> {
        let start = out.len();
        Self::encode(key, out)?;
        if Self::WIDTH.is_none() {
            end_part(out, start);
        }
        Ok(())
    }

    /// Decodes an encoding that marks its own end, and removes it from the front of `bytes`.
    #[doc(hidden)]
    fn decode_part(bytes: &mut &[u8]) -> Result<Self::Owned, BoxError> {
        match Self::WIDTH {
            Some(width) => {
                let (part, rest) = bytes.split_at_checked(width).ok_or("too short")?;
                *bytes = rest;
                Self::decode(part)
            }
            None => Self::decode(&take_part(bytes)?),
        }
    }
}

/// Types of keys that have prefixes. The prefix of a string is a string, that of a tuple its first field.
#[diagnostic::on_unimplemented(
    message = "keys of type `{Self}` have no prefixes",
    label = "use `range`",
    note = "`str` and `[u8]` have them, and tuples: their first field"
)]
pub trait PrefixKey: Key {
    /// The type of the prefixes.
    type Prefix<'a>: Copy;

    #[doc(hidden)]
    fn encode_prefix(prefix: Self::Prefix<'_>, out: &mut Vec<u8>) -> Result<(), BoxError>;
}

/// In an encoding that marks its own end, the byte after a 0: `END` where the string ends, `ZERO` where it contains a
/// zero byte.
const END: u8 = 1;
const ZERO: u8 = 0xFF;

/// Changes the bytes appended since `start` into an encoding that marks its own end.
fn end_part(out: &mut Vec<u8>, start: usize) {
    let zeros = out[start..].iter().filter(|&&byte| byte == 0).count();
    if zeros > 0 {
        let plain = out.split_off(start);
        out.reserve(plain.len() + zeros + 2);
        for byte in plain {
            out.push(byte);
            if byte == 0 {
                out.push(ZERO);
            }
        }
    }
    out.extend([0, END]);
}

pub(crate) fn take_part<'a>(bytes: &mut &'a [u8]) -> Result<Cow<'a, [u8]>, BoxError> {
    let mut out = Cow::Borrowed(&[][..]);
    loop {
        let zero = bytes.iter().position(|&byte| byte == 0).ok_or("no end")?;
        let next = *bytes.get(zero + 1).ok_or("no end")?;
        let piece = &bytes[..zero];
        match &mut out {
            Cow::Borrowed([]) => out = Cow::Borrowed(piece),
            _ => out.to_mut().extend_from_slice(piece),
        }
        *bytes = &bytes[zero + 2..];
        match next {
            END => return Ok(out),
            ZERO => out.to_mut().push(0),
            _ => return Err("neither an end nor a zero".into()),
        }
    }
}

/// Whether a key or value of this width is stored as a word.
pub(crate) const fn is_word(width: Option<usize>) -> bool {
    matches!(width, Some(0..=8))
}

/// A mask of the bits of a word with `width` bytes.
pub(crate) const fn mask(width: Option<usize>) -> u64 {
    match width {
        Some(0) | None => 0,
        Some(width) => u64::MAX >> (64 - 8 * width),
    }
}
