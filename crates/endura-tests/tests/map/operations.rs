//! The operations that the model knows, of a typed map and of one whose types are known only at run time.

use std::ops::Bound;

use endura::dynamic::{DynamicMap, Encoding};
use endura::{Map, Result, Value};

use crate::cases::Case;

pub(crate) type K<C> = <<C as Case>::K as Value>::Owned;
pub(crate) type V<C> = <<C as Case>::V as Value>::Owned;
pub(crate) type Entry<C> = (K<C>, V<C>);

pub(crate) fn lend_key<C: Case>(key: &K<C>) -> <C::K as Value>::Ref<'_> {
    <C::K as Value>::lend(key)
}

pub(crate) fn lend<C: Case>(value: &V<C>) -> <C::V as Value>::Ref<'_> {
    <C::V as Value>::lend(value)
}

/// A map of a case.
pub(crate) trait Operations<C: Case> {
    fn get(&self, key: &K<C>) -> Option<V<C>>;
    /// Whether `get_with` and `contains_key` find it, who agree.
    fn is_there(&self, key: &K<C>) -> bool;
    fn insert(&self, key: &K<C>, value: &V<C>) -> Option<V<C>>;
    fn insert_if_absent(&self, key: &K<C>, value: &V<C>) -> bool;
    fn replace(&self, key: &K<C>, value: &V<C>) -> Option<V<C>>;
    fn remove(&self, key: &K<C>) -> Option<V<C>>;
    fn put(&self, key: &K<C>, value: &V<C>) -> bool;
    fn delete(&self, key: &K<C>) -> bool;
    fn compare_exchange(
        &self,
        key: &K<C>,
        expected: Option<&V<C>>,
        new: Option<&V<C>>,
    ) -> Result<(), Option<V<C>>>;
    fn alter(&self, key: &K<C>, new: Option<&V<C>>) -> Option<V<C>>;
    fn update(&self, key: &K<C>, new: &V<C>) -> V<C>;
    fn get_many(&self, keys: &[K<C>]) -> Vec<Option<V<C>>>;
    fn extend(&self, entries: &[Entry<C>]) -> usize;
    fn end(&self, first: bool) -> Option<Entry<C>>;
    fn pop(&self, first: bool) -> Option<Entry<C>>;
    fn pop_key(&self, first: bool) -> Option<K<C>>;
    /// From `from` up to `to`; all without bounds.
    fn range(
        &self,
        bounds: Option<(&K<C>, &K<C>)>,
    ) -> Box<dyn DoubleEndedIterator<Item = Entry<C>> + '_>;
    fn remove_range(&self, from: &K<C>, to: &K<C>) -> usize;
    /// Takes out what has one of these keys.
    fn retain(&self, keep: &mut dyn FnMut(&K<C>) -> bool) -> usize;
    fn len(&self) -> usize;
}

impl<C: Case> Operations<C> for Map<C::K, C::V>
where
    V<C>: Clone,
    K<C>: Clone,
{
    fn get(&self, key: &K<C>) -> Option<V<C>> {
        self.get(lend_key::<C>(key)).unwrap()
    }

    fn is_there(&self, key: &K<C>) -> bool {
        let seen = self.get_with(lend_key::<C>(key), |_| ()).unwrap().is_some();
        assert_eq!(self.contains_key(lend_key::<C>(key)).unwrap(), seen);
        seen
    }

    fn insert(&self, key: &K<C>, value: &V<C>) -> Option<V<C>> {
        self.insert(lend_key::<C>(key), lend::<C>(value)).unwrap()
    }

    fn insert_if_absent(&self, key: &K<C>, value: &V<C>) -> bool {
        self.insert_if_absent(lend_key::<C>(key), lend::<C>(value)).unwrap()
    }

    fn replace(&self, key: &K<C>, value: &V<C>) -> Option<V<C>> {
        self.replace(lend_key::<C>(key), lend::<C>(value)).unwrap()
    }

    fn remove(&self, key: &K<C>) -> Option<V<C>> {
        self.remove(lend_key::<C>(key)).unwrap()
    }

    fn put(&self, key: &K<C>, value: &V<C>) -> bool {
        self.put(lend_key::<C>(key), lend::<C>(value)).unwrap()
    }

    fn delete(&self, key: &K<C>) -> bool {
        self.delete(lend_key::<C>(key)).unwrap()
    }

    fn compare_exchange(
        &self,
        key: &K<C>,
        expected: Option<&V<C>>,
        new: Option<&V<C>>,
    ) -> Result<(), Option<V<C>>> {
        let (expected, new) = (expected.map(lend::<C>), new.map(lend::<C>));
        self.compare_exchange(lend_key::<C>(key), expected, new).unwrap()
    }

    fn alter(&self, key: &K<C>, new: Option<&V<C>>) -> Option<V<C>> {
        self.alter(lend_key::<C>(key), |_| new.cloned()).unwrap()
    }

    fn update(&self, key: &K<C>, new: &V<C>) -> V<C> {
        self.update(lend_key::<C>(key), |_| new.clone()).unwrap()
    }

    fn get_many(&self, keys: &[K<C>]) -> Vec<Option<V<C>>> {
        self.get_many(keys.iter().map(lend_key::<C>)).unwrap()
    }

    fn extend(&self, entries: &[Entry<C>]) -> usize {
        let entries = entries.iter().map(|(key, value)| (lend_key::<C>(key), lend::<C>(value)));
        self.extend(entries).unwrap()
    }

    fn end(&self, first: bool) -> Option<Entry<C>> {
        if first { self.first_key_value() } else { self.last_key_value() }.unwrap()
    }

    fn pop(&self, first: bool) -> Option<Entry<C>> {
        if first { self.pop_first() } else { self.pop_last() }.unwrap()
    }

    fn pop_key(&self, first: bool) -> Option<K<C>> {
        if first { self.pop_first_key() } else { self.pop_last_key() }.unwrap()
    }

    fn range(
        &self,
        bounds: Option<(&K<C>, &K<C>)>,
    ) -> Box<dyn DoubleEndedIterator<Item = Entry<C>> + '_> {
        let range = match bounds {
            Some((from, to)) => self.range(lend_key::<C>(from)..lend_key::<C>(to)),
            None => self.iter(),
        };
        Box::new(range.map(Result::unwrap))
    }

    fn remove_range(&self, from: &K<C>, to: &K<C>) -> usize {
        self.remove_range(lend_key::<C>(from)..lend_key::<C>(to)).unwrap()
    }

    fn retain(&self, keep: &mut dyn FnMut(&K<C>) -> bool) -> usize {
        // What is lent has no owner here: what it is among the keys says which it is.
        let keys: Vec<K<C>> = self.keys().map(Result::unwrap).collect();
        let mut at = 0;
        let keep = |_: <C::K as Value>::Ref<'_>, _: <C::V as Value>::Ref<'_>| {
            at += 1;
            keep(&keys[at - 1])
        };
        self.retain(keep).unwrap()
    }

    fn len(&self) -> usize {
        self.len().unwrap()
    }
}

fn encoded<T: Value + ?Sized>(value: &T::Owned) -> Vec<u8> {
    let mut bytes = Vec::new();
    T::encode(T::lend(value), &mut bytes).unwrap();
    bytes
}

fn decoded<T: Value + ?Sized>(bytes: &[u8]) -> T::Owned {
    T::decode(bytes).unwrap()
}

fn entry<C: Case>((key, value): (Encoding, Encoding)) -> Entry<C> {
    (decoded::<C::K>(&key), decoded::<C::V>(&value))
}

impl<C: Case> Operations<C> for DynamicMap {
    fn get(&self, key: &K<C>) -> Option<V<C>> {
        let found = self.get(&encoded::<C::K>(key)).unwrap();
        found.map(|value| decoded::<C::V>(&value))
    }

    fn is_there(&self, key: &K<C>) -> bool {
        let key = encoded::<C::K>(key);
        let seen = self.get_with(&key, |_| ()).unwrap().is_some();
        assert_eq!(self.contains_key(&key).unwrap(), seen);
        seen
    }

    fn insert(&self, key: &K<C>, value: &V<C>) -> Option<V<C>> {
        let old = self.insert(&encoded::<C::K>(key), &encoded::<C::V>(value)).unwrap();
        old.map(|value| decoded::<C::V>(&value))
    }

    fn insert_if_absent(&self, key: &K<C>, value: &V<C>) -> bool {
        self.insert_if_absent(&encoded::<C::K>(key), &encoded::<C::V>(value)).unwrap()
    }

    fn replace(&self, key: &K<C>, value: &V<C>) -> Option<V<C>> {
        let old = self.replace(&encoded::<C::K>(key), &encoded::<C::V>(value)).unwrap();
        old.map(|value| decoded::<C::V>(&value))
    }

    fn remove(&self, key: &K<C>) -> Option<V<C>> {
        let old = self.remove(&encoded::<C::K>(key)).unwrap();
        old.map(|value| decoded::<C::V>(&value))
    }

    fn put(&self, key: &K<C>, value: &V<C>) -> bool {
        self.put(&encoded::<C::K>(key), &encoded::<C::V>(value)).unwrap()
    }

    fn delete(&self, key: &K<C>) -> bool {
        self.delete(&encoded::<C::K>(key)).unwrap()
    }

    fn compare_exchange(
        &self,
        key: &K<C>,
        expected: Option<&V<C>>,
        new: Option<&V<C>>,
    ) -> Result<(), Option<V<C>>> {
        let (expected, new) = (expected.map(encoded::<C::V>), new.map(encoded::<C::V>));
        let key = encoded::<C::K>(key);
        let outcome = self.compare_exchange(&key, expected.as_deref(), new.as_deref()).unwrap();
        outcome.map_err(|found| found.map(|value| decoded::<C::V>(&value)))
    }

    fn alter(&self, key: &K<C>, new: Option<&V<C>>) -> Option<V<C>> {
        let old = self.alter(&encoded::<C::K>(key), |_| new.map(encoded::<C::V>)).unwrap();
        old.map(|value| decoded::<C::V>(&value))
    }

    fn update(&self, key: &K<C>, new: &V<C>) -> V<C> {
        let made = self.update(&encoded::<C::K>(key), |_| encoded::<C::V>(new)).unwrap();
        decoded::<C::V>(&made)
    }

    fn get_many(&self, keys: &[K<C>]) -> Vec<Option<V<C>>> {
        let keys: Vec<_> = keys.iter().map(encoded::<C::K>).collect();
        let keys: Vec<_> = keys.iter().map(Vec::as_slice).collect();
        let found = self.get_many(&keys).unwrap().into_iter();
        found.map(|found| found.map(|value| decoded::<C::V>(&value))).collect()
    }

    fn extend(&self, entries: &[Entry<C>]) -> usize {
        let entries: Vec<_> =
            entries.iter().map(|(k, v)| (encoded::<C::K>(k), encoded::<C::V>(v))).collect();
        self.extend(entries.iter().map(|(key, value)| (&key[..], &value[..]))).unwrap()
    }

    fn end(&self, first: bool) -> Option<Entry<C>> {
        let found = if first { self.first_key_value() } else { self.last_key_value() };
        found.unwrap().map(entry::<C>)
    }

    fn pop(&self, first: bool) -> Option<Entry<C>> {
        let found = if first { self.pop_first() } else { self.pop_last() };
        found.unwrap().map(entry::<C>)
    }

    fn pop_key(&self, first: bool) -> Option<K<C>> {
        let found = if first { self.pop_first_key() } else { self.pop_last_key() };
        found.unwrap().map(|key| decoded::<C::K>(&key))
    }

    fn range(
        &self,
        bounds: Option<(&K<C>, &K<C>)>,
    ) -> Box<dyn DoubleEndedIterator<Item = Entry<C>> + '_> {
        let range = match bounds {
            Some((from, to)) => {
                let (from, to) = (encoded::<C::K>(from), encoded::<C::K>(to));
                self.range(Bound::Included(&from), Bound::Excluded(&to))
            }
            None => self.iter(),
        };
        Box::new(range.map(|found| entry::<C>(found.unwrap())))
    }

    fn remove_range(&self, from: &K<C>, to: &K<C>) -> usize {
        let (from, to) = (encoded::<C::K>(from), encoded::<C::K>(to));
        self.remove_range(Bound::Included(&from), Bound::Excluded(&to)).unwrap()
    }

    fn retain(&self, keep: &mut dyn FnMut(&K<C>) -> bool) -> usize {
        self.retain(|key, _| keep(&decoded::<C::K>(key))).unwrap()
    }

    fn len(&self) -> usize {
        self.len().unwrap()
    }
}
