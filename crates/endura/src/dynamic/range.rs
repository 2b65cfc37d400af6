//! Live ranges of a [`DynamicMap`], from both ends.

use std::iter::FusedIterator;
use std::ops::ControlFlow;

use super::encoding::Encoding;
use super::ends::EncodedEntry;
use super::form::{Form, Lent, Owned, WordWidth, in_form};
use super::map::DynamicMap;
use crate::Result;
use crate::map::{Keys, Range, Values};

/// The entries of a [`DynamicMap`] with keys between two bounds, in the order of the keys. Like a [`Range`], it pins
/// nothing between two calls.
#[must_use = "a range does nothing before it is asked for entries"]
#[derive(Debug)]
pub struct DynamicRange {
    range: Form<Range<u64, u64>, Range<[u8], [u8]>>,
    of_key: WordWidth,
    of_value: WordWidth,
}

/// Keys in order; see [`DynamicRange::keys`].
#[must_use = "a range does nothing before it is asked for entries"]
#[derive(Debug)]
pub struct DynamicKeys(Form<Keys<u64, u64>, Keys<[u8], [u8]>>, WordWidth);

/// Values in the order of their keys; see [`DynamicRange::values`].
#[must_use = "a range does nothing before it is asked for entries"]
#[derive(Debug)]
pub struct DynamicValues(Form<Values<u64, u64>, Values<[u8], [u8]>>, WordWidth);

impl DynamicRange {
    pub(super) fn of(map: &DynamicMap, range: Form<Range<u64, u64>, Range<[u8], [u8]>>) -> Self {
        Self { range, of_key: map.key.word_width(), of_value: map.value.word_width() }
    }

    /// Only the keys. Values are not read.
    pub fn keys(self) -> DynamicKeys {
        DynamicKeys(in_form!(self.range, range => Form: range.keys()), self.of_key)
    }

    /// Only the values.
    pub fn values(self) -> DynamicValues {
        DynamicValues(in_form!(self.range, range => Form: range.values()), self.of_value)
    }

    /// [`Range::visit`], or [`Range::visit_rev`] for `upwards` = false.
    ///
    /// # Errors
    ///
    /// As for [`Range::visit`].
    pub fn visit(
        self,
        upwards: bool,
        mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        let Self { range, of_key, of_value } = self;
        in_form!(range, range => match upwards {
            true => range.visit(|key, value| visit(&key.lent(of_key), &value.lent(of_value))),
            false => range.visit_rev(|key, value| visit(&key.lent(of_key), &value.lent(of_value))),
        })
    }

    fn step(&mut self, upwards: bool) -> Option<Result<EncodedEntry>> {
        let (of_key, of_value) = (self.of_key, self.of_value);
        in_form!(&mut self.range, range => {
            let entry = step(range, upwards)?;
            Some(entry.map(|(key, value)| (key.encoding(of_key), value.encoding(of_value))))
        })
    }
}

impl DynamicKeys {
    fn step(&mut self, upwards: bool) -> Option<Result<Encoding>> {
        in_form!(&mut self.0, keys => Some(step(keys, upwards)?.map(|key| key.encoding(self.1))))
    }
}

impl DynamicValues {
    fn step(&mut self, upwards: bool) -> Option<Result<Encoding>> {
        in_form!(&mut self.0, values => Some(step(values, upwards)?.map(|it| it.encoding(self.1))))
    }
}

fn step<T>(items: &mut impl DoubleEndedIterator<Item = T>, upwards: bool) -> Option<T> {
    if upwards { items.next() } else { items.next_back() }
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

iterators! { DynamicRange, EncodedEntry; DynamicKeys, Encoding; DynamicValues, Encoding; }
