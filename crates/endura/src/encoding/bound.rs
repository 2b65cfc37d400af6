//! The bounds of ranges of keys.
use std::cmp::Reverse;
use std::ops::{
    Bound, Range, RangeBounds, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive,
};

use crate::encoding::value::{Key, KeyBound, Value};

impl<K: Value<Owned = K>> KeyBound<K> for &K {
    fn lent(&self) -> K::Ref<'_> {
        K::lend(self)
    }
}

macro_rules! copies {
    ($($type:ty)*) => { $(
        impl KeyBound<$type> for $type {
            #[inline]
            fn lent(&self) -> $type {
                *self
            }
        }
    )* };
}

copies! { u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 bool char }

impl KeyBound<()> for () {
    fn lent(&self) {}
}

impl<const N: usize> KeyBound<[u8; N]> for [u8; N] {
    fn lent(&self) -> [u8; N] {
        *self
    }
}

macro_rules! strings {
    ($($type:ty, $($of:ty)*, $lent:ty;)*) => { $($(
        impl KeyBound<$of> for $type {
            fn lent(&self) -> &$lent {
                self
            }
        }
    )*)* };
}

strings! {
    &str, str String, str;
    String, str String, str;
    &String, str, str;
    &[u8], [u8] Vec<u8>, [u8];
    Vec<u8>, [u8] Vec<u8>, [u8];
    &Vec<u8>, [u8], [u8];
}

impl<const N: usize> KeyBound<[u8]> for &[u8; N] {
    fn lent(&self) -> &[u8] {
        *self
    }
}

impl<const N: usize> KeyBound<Vec<u8>> for &[u8; N] {
    fn lent(&self) -> &[u8] {
        *self
    }
}

impl<K: Key, B: KeyBound<K>> KeyBound<Option<K>> for Option<B> {
    fn lent(&self) -> Option<K::Ref<'_>> {
        self.as_ref().map(B::lent)
    }
}

impl<K: Key, B: KeyBound<K>> KeyBound<Reverse<K>> for Reverse<B> {
    fn lent(&self) -> Reverse<K::Ref<'_>> {
        Reverse(self.0.lent())
    }
}

macro_rules! tuples {
    ($(($($key:ident $part:ident $number:tt),*; $last_key:ident $last:ident $last_number:tt);)*) => { $(
        impl<$($key: Key,)* $last_key: Key + ?Sized, $($part: KeyBound<$key>,)* $last: KeyBound<$last_key>>
            KeyBound<($($key,)* $last_key)> for ($($part,)* $last)
        {
            #[inline]
            fn lent(&self) -> ($($key::Ref<'_>,)* $last_key::Ref<'_>) {
                ($(self.$number.lent(),)* self.$last_number.lent())
            }
        }
    )* };
}

tuples! {
    (J A 0; K B 1);
    (J A 0, K B 1; L C 2);
    (J A 0, K B 1, L C 2; M D 3);
}

/// A range of keys of type `K`: `a..b`, `a..=b`, `..b`, `a..`, `..`, or two `Bound`s.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a range of `{K}` keys",
    label = "write `a..b`, `a..=b`, `a..`, `..b`, `..`, or two `Bound`s",
    note = "ends are keys as the methods of the map take them, or references to owned ones"
)]
pub trait KeyRange<K: Key + ?Sized>: sealed::Sealed {
    #[doc(hidden)]
    fn ends(&self) -> (Bound<K::Ref<'_>>, Bound<K::Ref<'_>>);
}

mod sealed {
    pub trait Sealed {}
}

impl sealed::Sealed for RangeFull {}

impl<K: Key + ?Sized> KeyRange<K> for RangeFull {
    #[inline]
    fn ends(&self) -> (Bound<K::Ref<'_>>, Bound<K::Ref<'_>>) {
        (Bound::Unbounded, Bound::Unbounded)
    }
}

macro_rules! ranges {
    ($($range:ty;)*) => { $(
        impl<B> sealed::Sealed for $range {}

        impl<K: Key + ?Sized, B: KeyBound<K>> KeyRange<K> for $range {
            #[inline]
            fn ends(&self) -> (Bound<K::Ref<'_>>, Bound<K::Ref<'_>>) {
                (self.start_bound().map(B::lent), self.end_bound().map(B::lent))
            }
        }
    )* };
}

ranges! {
    Range<B>; RangeInclusive<B>; RangeFrom<B>; RangeTo<B>; RangeToInclusive<B>; (Bound<B>, Bound<B>);
}
