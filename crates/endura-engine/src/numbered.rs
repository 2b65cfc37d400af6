//! Ordered maps whose keys are numbers.
//!
//! The tree of such a map holds numbers alone, whatever the values are. So the tree is compiled once, and not once for
//! each type of value, which would be a sixth of this crate's compilation.

use std::collections::BTreeMap;
use std::ops::{Bound, RangeBounds};

/// Values by number, in the order of the numbers.
#[derive(Debug, Clone)]
pub(crate) struct Numbered<T> {
    /// The index of each value in `values`.
    places: BTreeMap<u64, u64>,
    values: Vec<Option<T>>,
    /// The indexes of `values` that are not in use.
    vacant: Vec<u64>,
}

/// A set of numbers.
pub(crate) type Numbers = Numbered<()>;

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Self { places: BTreeMap::new(), values: Vec::new(), vacant: Vec::new() }
    }
}

impl<T> Numbered<T> {
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    pub(crate) fn contains(&self, number: u64) -> bool {
        self.places.contains_key(&number)
    }

    pub(crate) fn get(&self, number: u64) -> Option<&T> {
        self.value(*self.places.get(&number)?)
    }

    pub(crate) fn get_mut(&mut self, number: u64) -> Option<&mut T> {
        let place = *self.places.get(&number)?;
        self.values.get_mut(place as usize)?.as_mut()
    }

    /// Sets the value of a number. Returns the value that it had before.
    pub(crate) fn insert(&mut self, number: u64, value: T) -> Option<T> {
        let new = self.next_place();
        let place = *self.places.entry(number).or_insert(new);
        if place == new {
            self.vacant.pop();
        }
        self.value_at(place).replace(value)
    }

    pub(crate) fn remove(&mut self, number: u64) -> Option<T> {
        let place = self.places.remove(&number)?;
        if self.places.is_empty() {
            // Memory is not kept for numbers that may never come back.
            let mut values = std::mem::take(self).values;
            return values.get_mut(place as usize)?.take();
        }
        self.vacant.push(place);
        self.values.get_mut(place as usize)?.take()
    }

    /// The value of a number, which is made if there is none.
    pub(crate) fn get_or_insert_with(&mut self, number: u64, make: impl FnOnce() -> T) -> &mut T {
        let new = self.next_place();
        let place = *self.places.entry(number).or_insert(new);
        if place == new {
            self.vacant.pop();
        }
        self.value_at(place).get_or_insert_with(make)
    }

    /// The place of the next new value.
    fn next_place(&self) -> u64 {
        self.vacant.last().copied().unwrap_or(self.values.len() as u64)
    }

    fn value_at(&mut self, place: u64) -> &mut Option<T> {
        if place == self.values.len() as u64 {
            self.values.push(None);
        }
        &mut self.values[place as usize]
    }

    /// The lowest number.
    pub(crate) fn first(&self) -> Option<u64> {
        self.places.first_key_value().map(|(&number, _)| number)
    }

    /// The highest number that is at most `number`, with its value.
    pub(crate) fn at_most(&self, number: u64) -> Option<(u64, &T)> {
        let (&number, &place) = self.places.range(..=number).next_back()?;
        Some((number, self.value(place)?))
    }

    /// The numbers of a range with their values, ascending.
    pub(crate) fn range(
        &self,
        numbers: impl RangeBounds<u64>,
    ) -> impl DoubleEndedIterator<Item = (u64, &T)> {
        let bounds: (Bound<u64>, Bound<u64>) =
            (numbers.start_bound().cloned(), numbers.end_bound().cloned());
        let places = self.places.range(bounds);
        places.filter_map(|(&number, &place)| Some((number, self.value(place)?)))
    }

    /// All numbers with their values, ascending.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, &T)> {
        self.range(..)
    }

    fn value(&self, place: u64) -> Option<&T> {
        self.values.get(place as usize)?.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compared with a map of the standard library.
    #[test]
    fn values_are_found_by_number() {
        let (mut own, mut plain, mut seed) = (Numbered::default(), BTreeMap::new(), 7_u64);
        for round in 0..20_000_u64 {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let number = seed >> 33 & 63;
            match seed >> 60 {
                0..6 => assert_eq!(own.insert(number, round), plain.insert(number, round)),
                6..14 => assert_eq!(own.remove(number), plain.remove(&number)),
                _ => {
                    let made = *own.get_or_insert_with(number, || round);
                    assert_eq!(made, *plain.entry(number).or_insert(round));
                }
            }
            assert_eq!((own.len(), own.is_empty()), (plain.len(), plain.is_empty()));
            assert_eq!(own.get(number), plain.get(&number));
            assert_eq!(own.get_mut(number), plain.get_mut(&number));
            assert_eq!(own.contains(number), plain.contains_key(&number));
            assert_eq!(own.first(), plain.first_key_value().map(|(&number, _)| number));
            let of_plain = |(&number, value): (&u64, &u64)| (number, *value);
            let of_own = |(number, value): (u64, &u64)| (number, *value);
            assert!(own.iter().map(of_own).eq(plain.iter().map(of_plain)));
            assert!(own.range(9..40).map(of_own).eq(plain.range(9..40).map(of_plain)));
            let last = own.at_most(number).map(of_own);
            assert_eq!(last, plain.range(..=number).next_back().map(of_plain));
        }
        assert!(own.values.len() <= 64);
    }
}
