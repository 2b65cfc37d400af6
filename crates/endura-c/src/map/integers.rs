//! Maps of integers in both forms: of words, and of byte strings, in which integers are their encodings.

use std::ops::{Bound, ControlFlow};

use endura::Map;
use endura::dynamic::word;

use super::numbers::Numbers;
use crate::failure::{Failure, Outcome};

/// A map of integers. All keys and values here are words.
pub(crate) struct Integers<'m> {
    pub(super) form: Form<'m>,
    pub(crate) keys: Numbers,
    pub(crate) values: Numbers,
}

#[derive(Clone, Copy)]
pub(super) enum Form<'m> {
    Words(&'m Map<u64, u64>),
    Bytes(&'m Map<[u8], [u8]>),
}

type Entry = (u64, u64);

fn entry((key, value): (Vec<u8>, Vec<u8>)) -> Entry {
    (word(&key), word(&value))
}

impl Integers<'_> {
    #[inline(always)]
    pub(crate) fn get(&self, key: u64) -> endura::Result<Option<u64>> {
        match self.form {
            Form::Words(map) => map.get(key),
            Form::Bytes(map) => map.get_with(&self.keys.encoded(key), word),
        }
    }

    #[inline(always)]
    pub(crate) fn put(&self, key: u64, value: u64) -> endura::Result<()> {
        match self.form {
            Form::Words(map) => map.put(key, value).map(drop),
            Form::Bytes(map) => {
                map.put(&self.keys.encoded(key), &self.values.encoded(value)).map(drop)
            }
        }
    }

    pub(crate) fn add(&self, key: u64, value: u64) -> endura::Result<bool> {
        match self.form {
            Form::Words(map) => map.insert_if_absent(key, value),
            Form::Bytes(map) => {
                map.insert_if_absent(&self.keys.encoded(key), &self.values.encoded(value))
            }
        }
    }

    pub(crate) fn replace(&self, key: u64, value: u64) -> endura::Result<Option<u64>> {
        match self.form {
            Form::Words(map) => map.replace(key, value),
            Form::Bytes(map) => {
                let old = map.replace(&self.keys.encoded(key), &self.values.encoded(value))?;
                Ok(old.as_deref().map(word))
            }
        }
    }

    pub(crate) fn remove(&self, key: u64) -> endura::Result<Option<u64>> {
        match self.form {
            Form::Words(map) => map.remove(key),
            Form::Bytes(map) => Ok(map.remove(&self.keys.encoded(key))?.as_deref().map(word)),
        }
    }

    pub(crate) fn compare_exchange(
        &self,
        key: u64,
        expected: Option<u64>,
        new: Option<u64>,
    ) -> endura::Result<Result<(), Option<u64>>> {
        match self.form {
            Form::Words(map) => map.compare_exchange(key, expected, new),
            Form::Bytes(map) => {
                let [expected, new] =
                    [expected, new].map(|value| value.map(|value| self.values.encoded(value)));
                let (expected, new) = (expected.as_deref(), new.as_deref());
                let exchanged = map.compare_exchange(&self.keys.encoded(key), expected, new)?;
                Ok(exchanged.map_err(|found| found.as_deref().map(word)))
            }
        }
    }

    /// Sets a value to what `change` returns for it.
    pub(crate) fn alter(
        &self,
        key: u64,
        mut change: impl FnMut(Option<u64>) -> Option<u64>,
    ) -> endura::Result<()> {
        match self.form {
            Form::Words(map) => map.alter(key, change).map(drop),
            Form::Bytes(map) => map
                .alter(&self.keys.encoded(key), |old| {
                    change(old.map(word)).map(|new| self.values.encoded(new).to_vec())
                })
                .map(drop),
        }
    }

    pub(crate) fn pop(&self, is_last: bool) -> endura::Result<Option<Entry>> {
        match (self.form, is_last) {
            (Form::Words(map), false) => map.pop_first(),
            (Form::Words(map), true) => map.pop_last(),
            (Form::Bytes(map), false) => Ok(map.pop_first()?.map(entry)),
            (Form::Bytes(map), true) => Ok(map.pop_last()?.map(entry)),
        }
    }

    pub(crate) fn get_many(&self, keys: &[u64]) -> endura::Result<Vec<Option<u64>>> {
        match self.form {
            Form::Words(map) => map.get_many(keys.iter().copied()),
            Form::Bytes(map) => {
                let keys: Vec<_> = keys.iter().map(|&key| self.keys.encoded(key)).collect();
                let found = map.get_many(keys.iter().map(|key| &**key))?;
                Ok(found.iter().map(|value| value.as_deref().map(word)).collect())
            }
        }
    }

    /// Puts entries, each before the next one is taken.
    pub(crate) fn extend(&self, entries: impl Iterator<Item = Entry>) -> endura::Result<()> {
        match self.form {
            Form::Words(map) => map.extend(entries).map(drop),
            Form::Bytes(_) => {
                for (key, value) in entries {
                    self.put(key, value)?;
                }
                Ok(())
            }
        }
    }

    /// Visits the entries from a key on, in order or from the largest down.
    pub(crate) fn visit(
        &self,
        from: Bound<u64>,
        is_descending: bool,
        mut visit: impl FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Outcome<ControlFlow<()>> {
        let ended = match (self.form, is_descending) {
            (Form::Words(map), false) => map.range_with((from, Bound::Unbounded), visit),
            (Form::Words(map), true) => map.range((Bound::Unbounded, from)).visit_rev(visit),
            (Form::Bytes(map), _) => {
                let from = from.map(|key| self.keys.encoded(key));
                let from = from.as_ref().map(|key| &**key);
                let bytes = |key: &[u8], value: &[u8]| visit(word(key), word(value));
                match is_descending {
                    false => map.range_with((from, Bound::Unbounded), bytes),
                    true => map.range((Bound::Unbounded, from)).visit_rev(bytes),
                }
            }
        };
        ended.map_err(Failure::from)
    }
}
