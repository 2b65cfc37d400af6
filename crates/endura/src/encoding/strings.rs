//! Text and bytes.

use std::borrow::Cow;

use endura_engine::tree::Bytes;

use crate::BoxError;
use crate::encoding::scratch;
use crate::encoding::value::{Key, PrefixKey, Value};

/// `str` and `[u8]`, and their owned forms, which have the same encoding.
macro_rules! strings {
    ($($type:ty, $borrowed:ty, $owned:ty, $name:literal, $bytes:ident, $check:expr, $own:expr;)*) => { $(
        impl Value for $type {
            type Ref<'a> = &'a $borrowed;
            type Owned = $owned;

            fn type_name() -> Cow<'static, str> { $name.into() }

            #[inline]
            fn lend(owned: &$owned) -> &$borrowed { owned }

            #[inline]
            fn encode(value: &$borrowed, out: &mut Vec<u8>) -> Result<(), BoxError> {
                out.extend_from_slice(value.$bytes());
                Ok(())
            }

            #[inline]
            fn decode(bytes: &[u8]) -> Result<$owned, BoxError> { Ok($check(bytes)?.to_owned()) }

            #[inline]
            fn with_encoded<R>(value: &$borrowed, f: impl FnOnce(&[u8]) -> R) -> Result<R, BoxError> {
                Ok(f(value.$bytes()))
            }

            #[inline]
            fn own(bytes: Vec<u8>) -> Result<$owned, BoxError> { $own(bytes).map_err(Into::into) }

            #[inline]
            fn show<R>(bytes: &[u8], f: impl FnOnce(&$borrowed) -> R) -> Result<R, BoxError> { Ok(f($check(bytes)?)) }

            #[inline]
            fn read(bytes: Bytes<'_>) -> Result<$owned, BoxError> { $own(bytes.to_vec()).map_err(Into::into) }

            #[inline]
            fn read_with<R>(bytes: Bytes<'_>, f: impl FnOnce(&$borrowed) -> R) -> Result<R, BoxError> {
                scratch::contiguous(bytes, |bytes| Ok(f($check(bytes)?)))
            }
        }

        impl Key for $type {}

        impl PrefixKey for $type {
            type Prefix<'a> = &'a $borrowed;

            fn encode_prefix(prefix: &$borrowed, out: &mut Vec<u8>) -> Result<(), BoxError> {
                <$type>::encode(prefix, out)
            }
        }
    )* };
}

fn any(bytes: &[u8]) -> Result<&[u8], BoxError> {
    Ok(bytes)
}

fn anything(bytes: Vec<u8>) -> Result<Vec<u8>, BoxError> {
    Ok(bytes)
}

strings! {
    str, str, String, "str", as_bytes, str::from_utf8, String::from_utf8;
    String, str, String, "str", as_bytes, str::from_utf8, String::from_utf8;
    [u8], [u8], Vec<u8>, "[u8]", as_ref, any, anything;
    Vec<u8>, [u8], Vec<u8>, "[u8]", as_ref, any, anything;
}
