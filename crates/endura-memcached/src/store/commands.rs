//! The commands in terms of changes of one item.

use endura::Result;

use super::changes::Change;
use super::item::{About, Item, Marks};
use super::items::Store;
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
    /// If the key is present, and the item was made by the store with this number, unless it is 0; the data goes after the
    /// old data.
    Append(u64),
    /// The same, and the data goes before the old data.
    Prepend(u64),
    /// If the item was made by the store with this number.
    Cas(u64),
    /// The same. If the item was made by a later store, the new data is stored as stale data.
    CasOrStale(u64),
}

/// The outcome of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stored {
    /// The item is stored, and this is the number of the store.
    Yes(u64),
    /// The condition did not hold, or old and new data together are too long.
    No,
    /// Another client stored meanwhile.
    Exists,
    /// The key is absent.
    NotFound,
}

/// The outcome of a removal or an invalidation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deleted {
    Yes,
    /// Another store has made the item.
    Exists,
    NotFound,
}

/// What `incr`, `decr` or `ma` adds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sum {
    pub(crate) delta: u64,
    pub(crate) is_less: bool,
    /// The number of the store that must have made the item; 0 for any.
    pub(crate) cas: u64,
    /// The number of a new item if the key is absent.
    pub(crate) initial: Option<u64>,
}

/// The outcome of an addition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delta {
    /// The new number.
    Is(u64),
    /// The key was absent, and has the initial number.
    IsNew(u64),
    /// The key is absent.
    NotFound,
    /// Another store has made the item.
    Exists,
    /// The data is not a number.
    NotANumber,
}

impl Store {
    /// Stores an item.
    pub(crate) fn store(
        &self,
        how: Stores,
        key: &[u8],
        about: About,
        data: &[u8],
        now: u32,
    ) -> Result<Stored> {
        let stored = match how {
            Stores::Set => Stored::Yes(self.put(key, about, data)?),
            _ => self.store_if(how, key, about, data, now)?,
        };
        if let Stored::Yes(_) = stored {
            self.note_store(key, now);
        }
        Ok(stored)
    }

    fn store_if(
        &self,
        how: Stores,
        key: &[u8],
        about: About,
        data: &[u8],
        now: u32,
    ) -> Result<Stored> {
        self.change(key, now, |old, epoch| {
            if let Some(refusal) = refusal(how, old, data.len(), self.max_item()) {
                return Ok(Change::Keep(refusal));
            }
            let cas = self.cas.take()?;
            let new = Item::new(about, epoch, cas, data);
            let bytes = match (how, old) {
                // The client's flags and time of expiry are ignored.
                (Stores::Append(_), Some(old)) => {
                    Item { cas, marks: Marks::default(), ..old }.bytes_with(&[old.data, data])
                }
                (Stores::Prepend(_), Some(old)) => {
                    Item { cas, marks: Marks::default(), ..old }.bytes_with(&[data, old.data])
                }
                (Stores::CasOrStale(number), Some(old)) if number != old.cas => {
                    let marks = Marks { is_stale: true, was_won: old.marks.was_won, ..new.marks };
                    Item { expiry: old.expiry, marks, ..new }.to_bytes()
                }
                _ => new.to_bytes(),
            };
            Ok(Change::Put(bytes, Stored::Yes(cas)))
        })
    }

    /// Removes an item, if it was made by the store with this number.
    pub(crate) fn delete(&self, key: &[u8], cas: Option<u64>, now: u32) -> Result<Deleted> {
        self.change(key, now, |old, _| {
            Ok(match old {
                None => Change::Keep(Deleted::NotFound),
                Some(old) if cas.is_some_and(|cas| cas != old.cas) => Change::Keep(Deleted::Exists),
                Some(_) => Change::Remove(Deleted::Yes),
            })
        })
    }

    /// Makes an item stale, if it was made by the store with this number: its data stays, and the next client that fetches
    /// it wins. The item may get another time of expiry.
    pub(crate) fn invalidate(
        &self,
        key: &[u8],
        cas: Option<u64>,
        expiry: Option<Expiry>,
        now: u32,
    ) -> Result<Deleted> {
        self.change(key, now, |old, _| {
            let Some(old) = old else { return Ok(Change::Keep(Deleted::NotFound)) };
            if cas.is_some_and(|cas| cas != old.cas) {
                return Ok(Change::Keep(Deleted::Exists));
            }
            let marks = Marks { is_stale: true, was_won: false, ..old.marks };
            let (cas, expiry) = (self.cas.take()?, expiry.unwrap_or(old.expiry));
            Ok(Change::Put(Item { cas, marks, expiry, ..old }.to_bytes(), Deleted::Yes))
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
        let found = self.change(key, now, |old, _| {
            let Some(old) = old else { return Ok(Change::Keep(false)) };
            show(old);
            Ok(Change::Put(Item { expiry, ..old }.to_bytes(), true))
        })?;
        self.note_fetch(key, found, now);
        Ok(found)
    }

    /// Shows an item to `see`, which may change its time of expiry and its marks; returns whether it is there. If it is
    /// absent and `makes` says so, it is made without data, and `see` is told so. `see` runs again if the item has changed
    /// meanwhile.
    pub(crate) fn visit(
        &self,
        key: &[u8],
        makes: bool,
        now: u32,
        mut see: impl FnMut(&mut Item<'_>, bool),
    ) -> Result<bool> {
        // Most visits change nothing, and then the item is not copied.
        let mut changes = false;
        let found = self.get_quietly(key, now, |item| {
            let mut new = item;
            see(&mut new, false);
            changes = new != item;
        })?;
        if !found {
            self.note_fetch(key, false, now);
        }
        if found && !changes || !found && !makes {
            return Ok(found);
        }
        self.change(key, now, |old, epoch| {
            let item = match old {
                Some(old) => old,
                None if !makes => return Ok(Change::Keep(false)),
                None => {
                    let about = About { flags: 0, expiry: Expiry(0), has_binary_key: false };
                    Item::new(about, epoch, self.cas.take()?, b"")
                }
            };
            let mut new = item;
            let is_new = old.is_none();
            see(&mut new, is_new);
            if is_new {
                self.note_store(key, now);
            } else if new == item {
                return Ok(Change::Keep(true));
            }
            Ok(Change::Put(new.to_bytes(), true))
        })
    }

    /// Notes that a client has fetched an item by a visit.
    pub(crate) fn was_fetched(&self, key: &[u8], now: u32) {
        self.note_fetch(key, true, now);
    }

    /// Adds to the number in an item, modulo 2^64, or subtracts from it, down to 0. `see` gets the new item, and may change
    /// its time of expiry.
    pub(crate) fn add(
        &self,
        key: &[u8],
        sum: Sum,
        now: u32,
        mut see: impl FnMut(&mut Item<'_>, Delta),
    ) -> Result<Delta> {
        let mut is_renewed = false;
        let outcome = self.change(key, now, |old, epoch| {
            let Some(old) = old else {
                let Some(initial) = sum.initial else { return Ok(Change::Keep(Delta::NotFound)) };
                let (text, cas) = (initial.to_string(), self.cas.take()?);
                let about = About { flags: 0, expiry: Expiry(0), has_binary_key: false };
                let mut item = Item::new(about, epoch, cas, text.as_bytes());
                see(&mut item, Delta::IsNew(initial));
                is_renewed = true;
                return Ok(Change::Put(item.to_bytes(), Delta::IsNew(initial)));
            };
            if !old.data.is_empty() && sum.cas != 0 && old.cas != sum.cas {
                return Ok(Change::Keep(Delta::Exists));
            }
            let Some(number) = number::<u64>(old.data) else {
                return Ok(Change::Keep(Delta::NotANumber));
            };
            let number = match sum.is_less {
                true => number.saturating_sub(sum.delta),
                false => number.wrapping_add(sum.delta),
            };
            let mut text = number.to_string();
            // memcached writes the number over the old one if it is not longer, and leaves the item as it is otherwise.
            is_renewed = text.len() > old.data.len();
            let marks = if is_renewed { Marks::default() } else { old.marks };
            text.extend(std::iter::repeat_n(' ', old.data.len().saturating_sub(text.len())));
            let cas = self.cas.take()?;
            let mut item = Item { cas, marks, data: text.as_bytes(), ..old };
            see(&mut item, Delta::Is(number));
            Ok(Change::Put(item.to_bytes(), Delta::Is(number)))
        })?;
        if is_renewed {
            self.note_store(key, now);
        }
        Ok(outcome)
    }
}

/// Why a store with this condition does not happen, if it does not.
fn refusal(how: Stores, old: Option<Item<'_>>, bytes: usize, most: usize) -> Option<Stored> {
    match (how, old) {
        (Stores::Set | Stores::Add, None) | (Stores::Set | Stores::Replace, Some(_)) => None,
        (Stores::Add, Some(_)) => Some(Stored::No),
        (Stores::Cas(_) | Stores::CasOrStale(_), None) => Some(Stored::NotFound),
        (Stores::Replace | Stores::Append(_) | Stores::Prepend(_), None) => Some(Stored::No),
        (Stores::Cas(cas), Some(old)) => (old.cas != cas).then_some(Stored::Exists),
        // No store has the number 0, so it is no earlier one.
        (Stores::CasOrStale(cas), Some(old)) => {
            (cas == 0 || cas > old.cas).then_some(Stored::Exists)
        }
        (Stores::Append(cas) | Stores::Prepend(cas), Some(old)) => {
            if cas != 0 && cas != old.cas {
                Some(Stored::Exists)
            } else {
                (old.data.len() + bytes > most).then_some(Stored::No)
            }
        }
    }
}
