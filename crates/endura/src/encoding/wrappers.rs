//! `Option` and `Reverse`.

use std::borrow::Cow;
use std::cmp::Reverse;

use crate::BoxError;
use crate::encoding::value::{Key, Value, mask};

/// `None` sorts first.
impl<T: Key> Value for Option<T> {
    type Ref<'a> = Option<T::Ref<'a>>;
    type Owned = Option<T::Owned>;

    fn type_name() -> Cow<'static, str> {
        format!("Option<{}>", T::type_name()).into()
    }
    fn lend(owned: &Self::Owned) -> Self::Ref<'_> {
        owned.as_ref().map(T::lend)
    }

    fn encode(value: Self::Ref<'_>, out: &mut Vec<u8>) -> Result<(), BoxError> {
        out.push(u8::from(value.is_some()));
        value.map_or(Ok(()), |value| T::encode_part(value, out))
    }

    fn decode(mut bytes: &[u8]) -> Result<Self::Owned, BoxError> {
        let owned = Self::decode_part(&mut bytes)?;
        if bytes.is_empty() { Ok(owned) } else { Err("too long".into()) }
    }
}

impl<T: Key> Key for Option<T> {
    fn encode_part(key: Self::Ref<'_>, out: &mut Vec<u8>) -> Result<(), BoxError> {
        Self::encode(key, out)
    }

    fn decode_part(bytes: &mut &[u8]) -> Result<Self::Owned, BoxError> {
        Ok(if bool::decode_part(bytes)? { Some(T::decode_part(bytes)?) } else { None })
    }
}

/// The largest value sorts first.
impl<T: Key> Value for Reverse<T> {
    type Ref<'a> = Reverse<T::Ref<'a>>;
    type Owned = Reverse<T::Owned>;
    const WIDTH: Option<usize> = T::WIDTH;

    fn type_name() -> Cow<'static, str> {
        format!("Reverse<{}>", T::type_name()).into()
    }
    fn lend(owned: &Self::Owned) -> Self::Ref<'_> {
        Reverse(T::lend(&owned.0))
    }

    fn encode(value: Self::Ref<'_>, out: &mut Vec<u8>) -> Result<(), BoxError> {
        let start = out.len();
        T::encode_part(value.0, out)?;
        out[start..].iter_mut().for_each(|byte| *byte = !*byte);
        Ok(())
    }

    fn decode(mut bytes: &[u8]) -> Result<Self::Owned, BoxError> {
        let owned = Self::decode_part(&mut bytes)?;
        if bytes.is_empty() { Ok(owned) } else { Err("too long".into()) }
    }

    #[inline]
    fn to_word(value: Self::Ref<'_>) -> u64 {
        !T::to_word(value.0) & mask(T::WIDTH)
    }

    #[inline]
    fn from_word(word: u64) -> Result<Self::Owned, BoxError> {
        Ok(Reverse(T::from_word(!word & mask(T::WIDTH))?))
    }
}

impl<T: Key> Key for Reverse<T> {
    fn encode_part(key: Self::Ref<'_>, out: &mut Vec<u8>) -> Result<(), BoxError> {
        Self::encode(key, out)
    }

    fn decode_part(bytes: &mut &[u8]) -> Result<Self::Owned, BoxError> {
        let turned: Vec<u8> = bytes.iter().map(|byte| !byte).collect();
        let mut rest = &turned[..];
        let owned = T::decode_part(&mut rest)?;
        *bytes = &bytes[turned.len() - rest.len()..];
        Ok(Reverse(owned))
    }
}
