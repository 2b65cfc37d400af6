//! [`Newtype`]: types of a program that are stored as a type of this crate.
use std::borrow::Cow;

use endura_engine::tree::Bytes;

use crate::BoxError;
use crate::encoding::value::{Key, KeyBound, Value};

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
    /// The type as which the values are stored.
    type Stored: Key;
    /// A name that makes the type different from `Stored` for the pool. By default there is none, and the pool sees the
    /// type as `Stored`.
    ///
    /// The name is spelled as a Rust path is, with letters, digits, `_`, `-`, `.` and `::`, in up to 100 bytes. It must
    /// not be the name of another type of values, such as `u64`. A name that breaks these rules does not compile:
    ///
    /// ```compile_fail
    /// #[derive(Clone, Copy)]
    /// struct UserId(u64);
    ///
    /// impl endura::Newtype for UserId {
    ///     type Stored = u64;
    ///     const NAME: Option<&'static str> = Some("u64");
    ///     fn to_stored(self) -> u64 { self.0 }
    ///     fn from_stored(id: u64) -> Self { Self(id) }
    /// }
    ///
    /// assert_eq!(<UserId as endura::Value>::type_name(), "u64: u64");
    /// ```
    const NAME: Option<&'static str> = None;
    /// The value to store.
    fn to_stored(self) -> <Self::Stored as Value>::Ref<'static>;
    /// The value that is decoded from the stored one.
    fn from_stored(stored: <Self::Stored as Value>::Owned) -> Self;
}

/// Whether the pool can record this name before the name of a stored type, and distinguish it from the name of another
/// type.
const fn is_own_name(name: Option<&str>) -> bool {
    let Some(name) = name else { return true };
    let bytes = name.as_bytes();
    if bytes.is_empty() || bytes.len() > 100 || !is_letter(bytes[0]) {
        return false;
    }
    let mut i = 0;
    while i < bytes.len() {
        match bytes[i] {
            // Colons come in pairs, and not at the end, because a single colon separates the name from the stored type.
            b':' if i + 2 < bytes.len() && bytes[i + 1] == b':' && bytes[i + 2] != b':' => i += 2,
            b'0'..=b'9' | b'-' | b'.' => i += 1,
            byte if is_letter(byte) => i += 1,
            _ => return false,
        }
    }
    let mut i = 0;
    while i < TAKEN.len() {
        if is_equal(bytes, TAKEN[i].as_bytes()) {
            return false;
        }
        i += 1;
    }
    true
}

/// Names of types that are not newtypes.
const TAKEN: [&str; 21] = [
    "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize", "f32",
    "f64", "bool", "char", "str", "json", "postcard", "Option", "Reverse",
];

/// Letters of any script: every byte that is not ASCII counts as one.
const fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || !byte.is_ascii()
}

const fn is_equal(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}

impl<T: Newtype> Value for T {
    type Ref<'a> = T;
    type Owned = T;
    const WIDTH: Option<usize> = T::Stored::WIDTH;

    fn type_name() -> Cow<'static, str> {
        const {
            assert!(
                is_own_name(T::NAME),
                "the `NAME` of a `Newtype` has letters, digits, `_`, `-`, `.` and `::`, begins with a letter, has up to \
                 100 bytes, and is not the name of another type (`u64`, `str`, `json`): choose another"
            );
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_newtypes() {
        for name in
            ["UserId", "user_id", "my::app::UserId", "Größe", "v1.2-beta", "_u64", "u640", "Str"]
        {
            assert!(is_own_name(Some(name)), "{name}");
        }
        // Those that programs in Python record.
        for name in ["datetime.date", "datetime.datetime", "datetime.naive", "uuid.UUID"] {
            assert!(is_own_name(Some(name)), "{name}");
        }
        let long = "x".repeat(101);
        for name in [
            "", "u64", "isize", "str", "json", "Reverse", "a b", "a\nb", "\t", "a: u8", "a:",
            "a:b", "a::", "a:::b", "::a", "(a)", "a,b", "a<b>", "7a", "-", "()", "[u8]", "a\0",
            &long,
        ] {
            assert!(!is_own_name(Some(name)), "{name:?}");
        }
        assert!(is_own_name(None) && is_own_name(Some(&long[1..])));
    }
}
