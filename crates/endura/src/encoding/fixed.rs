//! Numbers, and other types of a fixed width.
use std::borrow::Cow;

use endura_engine::tree::Bytes;

use crate::BoxError;
use crate::encoding::value::{Key, Value};

#[inline]
fn array<const N: usize>(bytes: &[u8]) -> Result<[u8; N], BoxError> {
    bytes.try_into().map_err(|_| other_length(bytes.len(), N))
}

#[cold]
fn other_length(bytes: usize, expected: usize) -> BoxError {
    format!("{bytes} bytes in place of {expected}").into()
}

#[inline]
fn read_array<const N: usize>(bytes: Bytes<'_>) -> Result<[u8; N], BoxError> {
    match bytes.to_array() {
        Some(array) => Ok(array),
        None => array(&bytes.to_vec()),
    }
}

/// Types that are stored as an unsigned number of a fixed width, `$bits`: `$to` converts a value to a number that sorts
/// as the value does, and `$from` converts the number back.
macro_rules! fixed {
    ($($type:ty, $bits:ty, $name:literal, $to:expr, $from:expr;)*) => { $(
        impl Value for $type {
            type Ref<'a> = Self;
            type Owned = Self;
            const WIDTH: Option<usize> = Some(size_of::<$bits>());

            fn type_name() -> Cow<'static, str> { $name.into() }

            #[inline]
            fn lend(owned: &Self) -> Self { *owned }

            #[inline]
            fn encode(value: Self, out: &mut Vec<u8>) -> Result<(), BoxError> {
                let bits: $bits = $to(value);
                out.extend_from_slice(&bits.to_be_bytes());
                Ok(())
            }

            #[inline]
            fn decode(bytes: &[u8]) -> Result<Self, BoxError> {
                $from(<$bits>::from_be_bytes(array(bytes)?))
            }

            #[inline]
            fn to_word(value: Self) -> u64 { $to(value) as u64 }

            #[inline]
            fn from_word(word: u64) -> Result<Self, BoxError> { $from(word as $bits) }

            #[inline]
            fn with_encoded<R>(value: Self, f: impl FnOnce(&[u8]) -> R) -> Result<R, BoxError> {
                let bits: $bits = $to(value);
                Ok(f(&bits.to_be_bytes()))
            }

            #[inline]
            fn read(bytes: Bytes<'_>) -> Result<Self, BoxError> {
                $from(<$bits>::from_be_bytes(read_array(bytes)?))
            }
        }

        impl Key for $type {}
    )* };
}

macro_rules! signed {
    ($($type:ty, $bits:ty, $name:literal;)*) => {
        fixed! { $(
            $type, $bits, $name, |v: $type| (v ^ <$type>::MIN) as $bits, |b: $bits| Ok(b as $type ^ <$type>::MIN);
        )* }
    };
}

macro_rules! floats {
    ($($type:ty, $bits:ty, $name:literal;)*) => {
        fixed! { $(
            $type, $bits, $name,
            |v: $type| {
                let bits = v.to_bits();
                let sign = 1 << (<$bits>::BITS - 1);
                if bits & sign == 0 { bits | sign } else { !bits }
            },
            |bits: $bits| {
                let sign = 1 << (<$bits>::BITS - 1);
                Ok(<$type>::from_bits(if bits & sign == 0 { !bits } else { bits & !sign }))
            };
        )* }
    };
}

fixed! {
    u8, u8, "u8", |v| v, Ok;
    u16, u16, "u16", |v| v, Ok;
    u32, u32, "u32", |v| v, Ok;
    u64, u64, "u64", |v| v, Ok;
    u128, u128, "u128", |v| v, Ok;
    usize, u64, "u64", |v| v as u64, |b| Ok(b as usize);
    bool, u8, "bool", |v| v as u8, |b| match b { 0 => Ok(false), 1 => Ok(true), _ => Err("neither true nor false".into()) };
    char, u32, "char", |v| v as u32, |b| char::from_u32(b).ok_or_else(|| "not a char".into());
}
signed! {
    i8, u8, "i8";
    i16, u16, "i16";
    i32, u32, "i32";
    i64, u64, "i64";
    i128, u128, "i128";
    isize, u64, "i64";
}
floats! { f32, u32, "f32"; f64, u64, "f64"; }

/// The unit type: the value of a set, and the one key of a map with one entry.
impl Value for () {
    type Ref<'a> = ();
    type Owned = ();
    const WIDTH: Option<usize> = Some(0);

    fn type_name() -> Cow<'static, str> {
        "()".into()
    }
    fn lend(_: &()) {}
    fn encode(_: (), _: &mut Vec<u8>) -> Result<(), BoxError> {
        Ok(())
    }
    fn decode(bytes: &[u8]) -> Result<(), BoxError> {
        array::<0>(bytes).map(drop)
    }
    fn to_word(_: ()) -> u64 {
        0
    }
    fn from_word(_: u64) -> Result<(), BoxError> {
        Ok(())
    }
    fn with_encoded<R>(_: (), f: impl FnOnce(&[u8]) -> R) -> Result<R, BoxError> {
        Ok(f(&[]))
    }
    fn read(bytes: Bytes<'_>) -> Result<(), BoxError> {
        read_array::<0>(bytes).map(drop)
    }
}

impl Key for () {}

impl<const N: usize> Value for [u8; N] {
    type Ref<'a> = Self;
    type Owned = Self;
    const WIDTH: Option<usize> = Some(N);

    fn type_name() -> Cow<'static, str> {
        format!("[u8; {N}]").into()
    }
    fn lend(owned: &Self) -> Self {
        *owned
    }

    fn encode(value: Self, out: &mut Vec<u8>) -> Result<(), BoxError> {
        out.extend_from_slice(&value);
        Ok(())
    }

    fn decode(bytes: &[u8]) -> Result<Self, BoxError> {
        array(bytes)
    }

    fn to_word(value: Self) -> u64 {
        value.iter().fold(0, |word, &byte| word << 8 | u64::from(byte))
    }

    fn from_word(word: u64) -> Result<Self, BoxError> {
        array(&word.to_be_bytes()[8 - N..])
    }

    #[inline]
    fn with_encoded<R>(value: Self, f: impl FnOnce(&[u8]) -> R) -> Result<R, BoxError> {
        Ok(f(&value))
    }

    #[inline]
    fn read(bytes: Bytes<'_>) -> Result<Self, BoxError> {
        read_array(bytes)
    }
}

impl<const N: usize> Key for [u8; N] {}
