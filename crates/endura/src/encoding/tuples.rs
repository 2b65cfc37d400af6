//! Tuples. The encoding of a tuple is that of its fields, one after the other. The encoding of each field marks its own
//! end.
use std::borrow::Cow;

use crate::BoxError;
use crate::encoding::value::{Key, PrefixKey, Value};

/// The width of two fields together.
const fn sum(a: Option<usize>, b: Option<usize>) -> Option<usize> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a + b),
        _ => None,
    }
}

/// The bits of the earlier fields, shifted up by the width of the next field.
fn shift(word: u64, width: Option<usize>) -> u64 {
    word.checked_shl(8 * width.unwrap_or(0) as u32).unwrap_or(0)
}

fn unshift(word: u64, width: Option<usize>) -> u64 {
    word.checked_shr(8 * width.unwrap_or(0) as u32).unwrap_or(0)
}

macro_rules! tuples {
    ($(($($part:ident $number:tt),*; $last:ident $last_number:tt);)*) => { $(
        impl<$($part: Key,)* $last: Key + ?Sized> Value for ($($part,)* $last) {
            type Ref<'a> = ($($part::Ref<'a>,)* $last::Ref<'a>);
            type Owned = ($($part::Owned,)* $last::Owned);
            const WIDTH: Option<usize> = {
                let width = Some(0);
                $(let width = sum(width, $part::WIDTH);)*
                sum(width, $last::WIDTH)
            };

            fn type_name() -> Cow<'static, str> {
                let parts = [$($part::type_name(),)* $last::type_name()];
                format!("({})", parts.join(", ")).into()
            }

            #[inline]
            fn lend(owned: &Self::Owned) -> Self::Ref<'_> {
                ($($part::lend(&owned.$number),)* $last::lend(&owned.$last_number))
            }

            #[inline]
            fn encode(value: Self::Ref<'_>, out: &mut Vec<u8>) -> Result<(), BoxError> {
                $($part::encode_part(value.$number, out)?;)*
                $last::encode_part(value.$last_number, out)
            }

            fn decode(mut bytes: &[u8]) -> Result<Self::Owned, BoxError> {
                let owned = Self::decode_part(&mut bytes)?;
                if bytes.is_empty() { Ok(owned) } else { Err("too long".into()) }
            }

            #[inline]
            fn to_word(value: Self::Ref<'_>) -> u64 {
                let word = 0;
                $(let word = shift(word, $part::WIDTH) | $part::to_word(value.$number);)*
                shift(word, $last::WIDTH) | $last::to_word(value.$last_number)
            }

            #[inline]
            #[allow(non_snake_case)]
            fn from_word(word: u64) -> Result<Self::Owned, BoxError> {
                let mut left = Self::WIDTH;
                let mut next = |width: Option<usize>| {
                    left = left.zip(width).map(|(left, width)| left - width);
                    unshift(word, left) & crate::encoding::value::mask(width)
                };
                Ok(($($part::from_word(next($part::WIDTH))?,)* $last::from_word(next($last::WIDTH))?))
            }
        }

        impl<$($part: Key,)* $last: Key + ?Sized> Key for ($($part,)* $last) {
            #[inline]
            fn encode_part(key: Self::Ref<'_>, out: &mut Vec<u8>) -> Result<(), BoxError> {
                Self::encode(key, out)
            }

            fn decode_part(bytes: &mut &[u8]) -> Result<Self::Owned, BoxError> {
                Ok(($($part::decode_part(bytes)?,)* $last::decode_part(bytes)?))
            }
        }
    )* };
}

tuples! {
    (A 0; B 1);
    (A 0, B 1; C 2);
    (A 0, B 1, C 2; D 3);
}

macro_rules! prefixes {
    ($(($first:ident, $($part:ident),*; $last:ident);)*) => { $(
        impl<$first: Key, $($part: Key,)* $last: Key + ?Sized> PrefixKey for ($first, $($part,)* $last) {
            type Prefix<'a> = $first::Ref<'a>;

            fn encode_prefix(prefix: $first::Ref<'_>, out: &mut Vec<u8>) -> Result<(), BoxError> {
                $first::encode_part(prefix, out)
            }
        }
    )* };
}

prefixes! {
    (A, ; B);
    (A, B; C);
    (A, B, C; D);
}
