//! The commands in terms of changes of one item.

use endura::Result;

use super::item::Item;
use super::items::{Change, Store};
use crate::clock::Expiry;
use crate::number::number;

/// The condition of a store, and what happens to the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stores {
    /// Without a condition.
    Set,
    /// If the key is absent.
    Add,
    /// If the key is present.
    Replace,
    /// If the key is present; the data goes after the old data.
    Append,
    /// If the key is present; the data goes before the old data.
    Prepend,
    /// If the item was made by the store with this number.
    Cas(u64),
}

/// The outcome of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stored {
    /// The item is stored.
    Yes,
    /// The condition did not hold.
    No,
    /// Another client stored meanwhile.
    Exists,
    /// The key is absent.
    NotFound,
    /// Old and new data together are too long.
    TooLarge,
}

/// The outcome of `incr` or `decr`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delta {
    /// The new number.
    Is(u64),
    /// The key is absent.
    NotFound,
    /// The data is not a number.
    NotANumber,
}

impl Store {
    /// Stores an item.
    pub(crate) fn store(
        &self,
        how: Stores,
        key: &[u8],
        (flags, expiry): (u32, Expiry),
        data: &[u8],
        now: u32,
    ) -> Result<Stored> {
        if how == Stores::Set {
            self.put(key, (flags, expiry), data)?;
            return Ok(Stored::Yes);
        }
        self.change(key, now, |old, epoch| {
            let refusal = match (how, old) {
                (Stores::Add, Some(_)) => Some(Stored::No),
                (Stores::Cas(_), None) => Some(Stored::NotFound),
                (Stores::Cas(cas), Some(old)) => (old.cas != cas).then_some(Stored::Exists),
                (Stores::Replace | Stores::Append | Stores::Prepend, None) => Some(Stored::No),
                (Stores::Append | Stores::Prepend, Some(old)) => {
                    (old.data.len() + data.len() > self.max_item()).then_some(Stored::TooLarge)
                }
                (Stores::Set | Stores::Add | Stores::Replace, _) => None,
            };
            if let Some(refusal) = refusal {
                return Ok(Change::Keep(refusal));
            }
            let new = Item { flags, expiry, epoch, cas: self.cas.take()?, data };
            let bytes = match (how, old) {
                // The client's flags and time of expiry are ignored.
                (Stores::Append, Some(old)) => {
                    Item { cas: new.cas, ..old }.bytes_with(&[old.data, data])
                }
                (Stores::Prepend, Some(old)) => {
                    Item { cas: new.cas, ..old }.bytes_with(&[data, old.data])
                }
                _ => new.to_bytes(),
            };
            Ok(Change::Put(bytes, Stored::Yes))
        })
    }

    /// Removes an item; returns whether it was there.
    pub(crate) fn delete(&self, key: &[u8], now: u32) -> Result<bool> {
        self.change(key, now, |old, _| {
            Ok(if old.is_some() { Change::Remove(true) } else { Change::Keep(false) })
        })
    }

    /// Gives an item another time of expiry, and shows it; returns whether it is there.
    pub(crate) fn touch(
        &self,
        key: &[u8],
        expiry: Expiry,
        now: u32,
        mut show: impl FnMut(Item<'_>),
    ) -> Result<bool> {
        self.change(key, now, |old, _| {
            let Some(old) = old else { return Ok(Change::Keep(false)) };
            show(old);
            Ok(Change::Put(Item { expiry, ..old }.to_bytes(), true))
        })
    }

    /// Adds to the number in an item, modulo 2^64, or subtracts from it, down to 0.
    pub(crate) fn add(&self, key: &[u8], delta: u64, is_less: bool, now: u32) -> Result<Delta> {
        self.change(key, now, |old, _| {
            let Some(old) = old else { return Ok(Change::Keep(Delta::NotFound)) };
            let Some(number) = number::<u64>(old.data) else {
                return Ok(Change::Keep(Delta::NotANumber));
            };
            let number = match is_less {
                true => number.saturating_sub(delta),
                false => number.wrapping_add(delta),
            };
            let (text, cas) = (number.to_string(), self.cas.take()?);
            let item = Item { cas, data: text.as_bytes(), ..old };
            Ok(Change::Put(item.to_bytes(), Delta::Is(number)))
        })
    }
}
