//! Keys of other types as byte strings that sort as they do.
//!
//! | type | encoding |
//! | --- | --- |
//! | `u8` to `u128` | big-endian |
//! | `i8` to `i128` | big-endian, sign bit flipped |
//! | `f32`, `f64` | as `total_cmp` sorts: sign bit flipped, all bits of negative ones |
//! | `bool` | one byte |
//! | `str`, `[u8]` | each byte 0 as 0, 255; then 0, 1 |
//! | `Option` | 0 for `None`; 1, then the value |
//! | tuples | one after the other |
//!
//! Every encoding tells where it ends, so that parts of a tuple do not run into each other, and no
//! encoding is a prefix of another of its type. The encoding of the first parts of a tuple is a
//! prefix of all tuples that begin with them: what [`ByteMap::prefix`](crate::ByteMap::prefix) asks
//! for. The format of pools does not depend on it.
//!
//! ```
//! use endura::keys;
//!
//! let key = keys::encode(&("sensor-7", 1_722_470_400_u64, -3.5_f64));
//! assert!(key.starts_with(&keys::encode("sensor-7")));
//! assert!(key > keys::encode(&("sensor-7", 1_722_470_400_u64, -4.0_f64)));
//! let (name, second, value) = keys::decode::<(String, u64, f64)>(&key).unwrap();
//! assert_eq!((&name[..], second, value), ("sensor-7", 1_722_470_400, -3.5));
//! ```

/// The byte string of a value. `a < b` exactly if that of `a` is smaller.
pub fn encode<K: Encode + ?Sized>(key: &K) -> Vec<u8> {
    let mut out = Vec::new();
    key.encode_to(&mut out);
    out
}

/// The value of a byte string; `None` if it is not one that [`encode`] makes of this type.
pub fn decode<K: Decode>(mut bytes: &[u8]) -> Option<K> {
    K::decode_from(&mut bytes).filter(|_| bytes.is_empty())
}

/// What can be [encoded](encode).
pub trait Encode {
    /// Appends the encoding.
    fn encode_to(&self, out: &mut Vec<u8>);
}

/// What can be [decoded](decode).
pub trait Decode: Sized {
    /// Takes an encoding off the front.
    fn decode_from(bytes: &mut &[u8]) -> Option<Self>;
}

/// How a string ends, and how a zero byte goes on.
const END: u8 = 1;
const ZERO: u8 = 0xFF;

macro_rules! integers {
    ($($type:ty, $flip:expr;)*) => { $(
        impl Encode for $type {
            fn encode_to(&self, out: &mut Vec<u8>) {
                out.extend((*self ^ $flip).to_be_bytes());
            }
        }

        impl Decode for $type {
            fn decode_from(bytes: &mut &[u8]) -> Option<Self> {
                let (first, rest) = bytes.split_first_chunk()?;
                *bytes = rest;
                Some(Self::from_be_bytes(*first) ^ $flip)
            }
        }
    )* };
}

integers! {
    u8, 0; u16, 0; u32, 0; u64, 0; u128, 0;
    i8, Self::MIN; i16, Self::MIN; i32, Self::MIN; i64, Self::MIN; i128, Self::MIN;
}

macro_rules! floats {
    ($($float:ty, $bits:ty;)*) => { $(
        impl Encode for $float {
            fn encode_to(&self, out: &mut Vec<u8>) {
                let bits = self.to_bits();
                let sign = 1 << (<$bits>::BITS - 1);
                (if bits & sign == 0 { bits | sign } else { !bits }).encode_to(out);
            }
        }

        impl Decode for $float {
            fn decode_from(bytes: &mut &[u8]) -> Option<Self> {
                let bits = <$bits>::decode_from(bytes)?;
                let sign = 1 << (<$bits>::BITS - 1);
                Some(Self::from_bits(if bits & sign == 0 { !bits } else { bits & !sign }))
            }
        }
    )* };
}

floats! { f32, u32; f64, u64; }

impl Encode for bool {
    fn encode_to(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }
}

impl Decode for bool {
    fn decode_from(bytes: &mut &[u8]) -> Option<Self> {
        match u8::decode_from(bytes)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl Encode for [u8] {
    fn encode_to(&self, out: &mut Vec<u8>) {
        for &byte in self {
            out.push(byte);
            if byte == 0 {
                out.push(ZERO);
            }
        }
        out.extend([0, END]);
    }
}

impl Decode for Vec<u8> {
    fn decode_from(bytes: &mut &[u8]) -> Option<Self> {
        let mut out = Self::new();
        loop {
            let zero = bytes.iter().position(|&byte| byte == 0)?;
            out.extend_from_slice(&bytes[..zero]);
            let next = *bytes.get(zero + 1)?;
            *bytes = &bytes[zero + 2..];
            match next {
                END => return Some(out),
                ZERO => out.push(0),
                _ => return None,
            }
        }
    }
}

impl Encode for Vec<u8> {
    fn encode_to(&self, out: &mut Vec<u8>) {
        self.as_slice().encode_to(out);
    }
}

impl<const N: usize> Encode for [u8; N] {
    fn encode_to(&self, out: &mut Vec<u8>) {
        self.as_slice().encode_to(out);
    }
}

impl Encode for str {
    fn encode_to(&self, out: &mut Vec<u8>) {
        self.as_bytes().encode_to(out);
    }
}

impl Encode for String {
    fn encode_to(&self, out: &mut Vec<u8>) {
        self.as_bytes().encode_to(out);
    }
}

impl Decode for String {
    fn decode_from(bytes: &mut &[u8]) -> Option<Self> {
        Self::from_utf8(Vec::decode_from(bytes)?).ok()
    }
}

impl<K: Encode + ?Sized> Encode for &K {
    fn encode_to(&self, out: &mut Vec<u8>) {
        (**self).encode_to(out);
    }
}

impl<K: Encode> Encode for Option<K> {
    fn encode_to(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.is_some()));
        if let Some(key) = self {
            key.encode_to(out);
        }
    }
}

impl<K: Decode> Decode for Option<K> {
    fn decode_from(bytes: &mut &[u8]) -> Option<Self> {
        match bool::decode_from(bytes)? {
            false => Some(None),
            true => K::decode_from(bytes).map(Some),
        }
    }
}

macro_rules! tuples {
    ($(($($part:ident $number:tt),*);)*) => { $(
        impl<$($part: Encode),*> Encode for ($($part,)*) {
            fn encode_to(&self, out: &mut Vec<u8>) {
                $(self.$number.encode_to(out);)*
            }
        }

        impl<$($part: Decode),*> Decode for ($($part,)*) {
            fn decode_from(bytes: &mut &[u8]) -> Option<Self> {
                Some(($($part::decode_from(bytes)?,)*))
            }
        }
    )* };
}

tuples! {
    (A 0);
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
    (A 0, B 1, C 2, D 3, E 4);
    (A 0, B 1, C 2, D 3, E 4, F 5);
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;
    use std::fmt::Debug;

    use proptest::prelude::*;

    use super::*;

    fn check<K: Encode + Decode + Debug>(
        a: &K,
        b: &K,
        compare: impl Fn(&K, &K) -> Ordering,
    ) -> Result<(), TestCaseError> {
        let (x, y) = (encode(a), encode(b));
        prop_assert_eq!(x.cmp(&y), compare(a, b), "{:?} {:?}", a, b);
        for (key, bytes) in [(a, &x), (b, &y)] {
            let back: K = decode(bytes).ok_or(TestCaseError::fail("does not decode"))?;
            prop_assert_eq!(compare(&back, key), Ordering::Equal);
            let mut longer = bytes.clone();
            longer.push(0);
            prop_assert!(decode::<K>(&longer).is_none());
            prop_assert!((0..bytes.len()).all(|n| decode::<K>(&bytes[..n]).is_none()));
        }
        Ok(())
    }

    /// Bytes that make escapes and ends meet.
    fn nasty() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(prop::sample::select(vec![0, 1, 2, 97, 254, 255]), 0..6)
    }

    proptest! {
        #[test]
        fn integers(a: u64, b: u64, c: i64, d: i64, e: i8, f: i8, g: u128, h: u128) {
            check(&a, &b, Ord::cmp)?;
            check(&c, &d, Ord::cmp)?;
            check(&e, &f, Ord::cmp)?;
            check(&(g as i128), &(h as i128), Ord::cmp)?;
            check(&(a as u16), &(b as u16), Ord::cmp)?;
        }

        #[test]
        fn floats(a: u64, b: u64, c: f64, d: f64, e: u32, f: u32) {
            check(&f64::from_bits(a), &f64::from_bits(b), f64::total_cmp)?;
            check(&c, &d, f64::total_cmp)?;
            check(&f32::from_bits(e), &f32::from_bits(f), f32::total_cmp)?;
        }

        #[test]
        fn byte_strings(a in nasty(), b in nasty(), c: String, d: String) {
            check(&a, &b, Ord::cmp)?;
            check(&c, &d, Ord::cmp)?;
        }

        #[test]
        fn tuples(
            a in (nasty(), any::<Option<i16>>(), nasty()),
            b in (nasty(), any::<Option<i16>>(), nasty()),
        ) {
            check(&a, &b, Ord::cmp)?;
            check(&(a.2.clone(), a.1), &(a.2.clone(), b.1), Ord::cmp)?;
            let bytes = encode(&a);
            prop_assert!(bytes.starts_with(&encode(&(&a.0, a.1))));
        }

        #[test]
        fn anything_decodes_to_what_encodes_to_it(bytes in nasty()) {
            if let Some(key) = decode::<(Vec<u8>, Option<bool>)>(&bytes) {
                prop_assert_eq!(encode(&key), bytes);
            }
        }
    }

    #[test]
    fn the_ends_of_every_type() {
        let floats =
            [f64::NEG_INFINITY, -1.0, -0.0, 0.0, f64::MIN_POSITIVE, f64::INFINITY, f64::NAN];
        assert!(floats.map(|f| encode(&f)).is_sorted_by(|a, b| a < b));
        assert!([i32::MIN, -1, 0, 1, i32::MAX].map(|i| encode(&i)).is_sorted_by(|a, b| a < b));
        assert!([None, Some(false), Some(true)].map(|o| encode(&o)).is_sorted_by(|a, b| a < b));
        assert_eq!(encode("a\0b"), b"a\0\xFFb\0\x01");
        assert_eq!(decode::<String>(b"\xFF\0\x01"), None, "not UTF-8");
        assert_eq!(decode::<Vec<u8>>(b"a\0\x02"), None);
        assert_eq!(decode::<bool>(&[2]), None);
    }
}
