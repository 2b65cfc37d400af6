//! Live ranges, from both ends.

use std::iter::FusedIterator;
use std::ops::ControlFlow;

use super::encoding::Encoding;
use super::ends::Entry;
use super::map::{DynamicMap, Side};
use crate::Result;
use crate::map::{Keys, Range, Values};

/// The entries of a [`DynamicMap`] with keys between two bounds, as of a [`Range`]. It pins nothing between two calls.
#[must_use = "a range does nothing before it is asked for entries"]
#[derive(Debug)]
pub struct DynamicRange(Form<Range<u64, u64>, Range<[u8], [u8]>>);

/// Keys in order; see [`DynamicRange::keys`].
#[must_use = "a range does nothing before it is asked for entries"]
#[derive(Debug)]
pub struct DynamicKeys(Form<Keys<u64, u64>, Keys<[u8], [u8]>>);

/// Values in the order of their keys; see [`DynamicRange::values`].
#[must_use = "a range does nothing before it is asked for entries"]
#[derive(Debug)]
pub struct DynamicValues(Form<Values<u64, u64>, Values<[u8], [u8]>>);

#[derive(Debug)]
enum Form<W, B> {
    /// A range of words, with the conversion of its keys and of its values.
    Words(W, Side, Side),
    Bytes(B),
}

impl DynamicRange {
    pub(super) fn of_words(map: &DynamicMap, range: Range<u64, u64>) -> Self {
        Self(Form::Words(range, map.key, map.value))
    }

    pub(super) fn of_bytes(range: Range<[u8], [u8]>) -> Self {
        Self(Form::Bytes(range))
    }

    /// Only the keys. Values are not read.
    pub fn keys(self) -> DynamicKeys {
        DynamicKeys(match self.0 {
            Form::Words(range, key, value) => Form::Words(range.keys(), key, value),
            Form::Bytes(range) => Form::Bytes(range.keys()),
        })
    }

    /// Only the values.
    pub fn values(self) -> DynamicValues {
        DynamicValues(match self.0 {
            Form::Words(range, key, value) => Form::Words(range.values(), key, value),
            Form::Bytes(range) => Form::Bytes(range.values()),
        })
    }

    /// [`Range::visit`], or [`Range::visit_rev`] for `upwards` = false.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn visit(
        self,
        upwards: bool,
        mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        match self.0 {
            Form::Words(range, key, value) => {
                let visit = |k: u64, v: u64| visit(&key.encoding(k), &value.encoding(v));
                if upwards { range.visit(visit) } else { range.visit_rev(visit) }
            }
            Form::Bytes(range) => {
                if upwards {
                    range.visit(visit)
                } else {
                    range.visit_rev(visit)
                }
            }
        }
    }

    fn step(&mut self, upwards: bool) -> Option<Result<Entry>> {
        match &mut self.0 {
            Form::Words(range, key, value) => {
                let entry = if upwards { range.next() } else { range.next_back() }?;
                Some(entry.map(|(k, v)| (key.encoding(k), value.encoding(v))))
            }
            Form::Bytes(range) => {
                let entry = if upwards { range.next() } else { range.next_back() }?;
                Some(entry.map(|(k, v)| (Encoding::of_bytes(k), Encoding::of_bytes(v))))
            }
        }
    }
}

impl DynamicKeys {
    fn step(&mut self, upwards: bool) -> Option<Result<Encoding>> {
        match &mut self.0 {
            Form::Words(keys, key, _) => step(keys, upwards, |word| key.encoding(word)),
            Form::Bytes(keys) => step(keys, upwards, Encoding::of_bytes),
        }
    }
}

impl DynamicValues {
    fn step(&mut self, upwards: bool) -> Option<Result<Encoding>> {
        match &mut self.0 {
            Form::Words(values, _, value) => step(values, upwards, |word| value.encoding(word)),
            Form::Bytes(values) => step(values, upwards, Encoding::of_bytes),
        }
    }
}

fn step<T>(
    items: &mut impl DoubleEndedIterator<Item = Result<T>>,
    upwards: bool,
    encoding: impl FnOnce(T) -> Encoding,
) -> Option<Result<Encoding>> {
    let item = if upwards { items.next() } else { items.next_back() };
    item.map(|item| item.map(encoding))
}

macro_rules! iterators {
    ($($type:ident, $item:ty;)*) => { $(
        impl Iterator for $type {
            type Item = Result<$item>;

            fn next(&mut self) -> Option<Self::Item> {
                self.step(true)
            }
        }

        impl DoubleEndedIterator for $type {
            fn next_back(&mut self) -> Option<Self::Item> {
                self.step(false)
            }
        }

        impl FusedIterator for $type {}
    )* };
}

iterators! { DynamicRange, Entry; DynamicKeys, Encoding; DynamicValues, Encoding; }
