//! What each command does to items.

use std::path::Path;

use endura::{Kind, Map, MapOptions, Pool, PoolOptions, Result};

use super::cas::CasNumbers;
use super::flush::Flushes;
use super::item::Item;
use crate::clock::Expiry;

/// Where items are kept.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// How the pool is opened; its largest size bounds what the items take.
    pub pool: PoolOptions,
    /// The most bytes of data of an item.
    pub max_item: usize,
}

/// How a client stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stores {
    /// Whatever is there.
    Set,
    /// If nothing is there.
    Add,
    /// If something is there.
    Replace,
    /// The data behind that which is there.
    Append,
    /// The data before that which is there.
    Prepend,
    /// If what is there was made by the store with this number.
    Cas(u64),
}

/// What became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stored {
    /// It is stored.
    Yes,
    /// The condition did not hold.
    No,
    /// Somebody else stored meanwhile.
    Exists,
    /// Nothing is there.
    NotFound,
    /// With what was there it would be too long.
    TooLarge,
}

/// What became of `incr` or `decr`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delta {
    /// The new number.
    Is(u64),
    /// Nothing is there.
    NotFound,
    /// What is there is no number.
    NotANumber,
}

/// What is to become of an entry.
enum Change<T> {
    Keep(T),
    Put(Vec<u8>, T),
    Remove(T),
}

/// All items.
#[derive(Debug)]
pub(crate) struct Store {
    pool: Pool,
    items: Map<[u8], [u8]>,
    cas: CasNumbers,
    flushes: Flushes,
    max_item: usize,
}

impl Store {
    /// Opens the items in the pool at `path`, which is made if it is not there.
    pub(crate) fn open(path: &Path, options: &StoreOptions) -> Result<Self> {
        let pool = options.pool.clone().open(path)?;
        let items = pool.map_with("items", MapOptions::new().kind(Kind::Roart))?;
        let cas = CasNumbers::open(pool.map("facts")?)?;
        let flushes = Flushes::open(pool.map("facts")?)?;
        Ok(Self { pool, items, cas, flushes, max_item: options.max_item })
    }

    /// The pool.
    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The most bytes of data of an item.
    pub(crate) fn max_item(&self) -> usize {
        self.max_item
    }

    /// How many items there are, those among them that are gone and not yet removed.
    pub(crate) fn count(&self) -> Result<usize> {
        self.items.approximate_len()
    }

    /// The item in these bytes, unless it has expired or was flushed.
    fn live<'b>(&self, bytes: Option<&'b [u8]>, now: u32) -> Option<Item<'b>> {
        let item = Item::of(bytes?)?;
        (!item.expiry.has_come(now) && !self.flushes.took(item.cas)).then_some(item)
    }

    /// Shows an item; whether it is there.
    pub(crate) fn get(&self, key: &[u8], now: u32, show: impl FnOnce(Item<'_>)) -> Result<bool> {
        let look = |bytes: &[u8]| self.live(Some(bytes), now).map(show).is_some();
        Ok(self.items.get_with(key, look)?.unwrap_or(false))
    }

    /// Changes an entry as `decide` says of what is there, in one step. Another change in between lets it decide anew; then
    /// somebody else has got ahead.
    fn change<T>(
        &self,
        key: &[u8],
        now: u32,
        mut decide: impl FnMut(Option<Item<'_>>) -> Result<Change<T>>,
    ) -> Result<T> {
        loop {
            let old = self.items.get(key)?;
            let old = old.as_deref();
            let (new, outcome) = match decide(self.live(old, now))? {
                Change::Keep(outcome) => return Ok(outcome),
                Change::Put(new, outcome) => (Some(new), outcome),
                Change::Remove(outcome) => (None, outcome),
            };
            // No two stores have one number, so that equal bytes are the same store. (But for a change of the expiry, which
            // may be undone meanwhile: that loses nothing.)
            if self.items.compare_exchange(key, old, new.as_deref())?.is_ok() {
                return Ok(outcome);
            }
        }
    }

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
            let item = Item { flags, expiry, cas: self.cas.take()?, data };
            self.items.put(key, &item.to_bytes())?;
            return Ok(Stored::Yes);
        }
        self.change(key, now, |old| {
            let new = |cas| Item { flags, expiry, cas, data };
            Ok(match (how, old) {
                (Stores::Add, Some(_)) => Change::Keep(Stored::No),
                (Stores::Cas(_), None) => Change::Keep(Stored::NotFound),
                (Stores::Cas(cas), Some(old)) if old.cas != cas => Change::Keep(Stored::Exists),
                (Stores::Replace | Stores::Append | Stores::Prepend, None) => {
                    Change::Keep(Stored::No)
                }
                (Stores::Append | Stores::Prepend, Some(old)) => {
                    if old.data.len() + data.len() > self.max_item {
                        return Ok(Change::Keep(Stored::TooLarge));
                    }
                    let parts = match how {
                        Stores::Append => [old.data, data],
                        _ => [data, old.data],
                    };
                    let item = Item { cas: self.cas.take()?, ..old };
                    Change::Put(item.bytes_of(&parts), Stored::Yes)
                }
                _ => Change::Put(new(self.cas.take()?).to_bytes(), Stored::Yes),
            })
        })
    }

    /// Removes an item; whether it was there.
    pub(crate) fn delete(&self, key: &[u8], now: u32) -> Result<bool> {
        self.change(key, now, |old| {
            Ok(if old.is_some() { Change::Remove(true) } else { Change::Keep(false) })
        })
    }

    /// Gives an item another time of expiry and shows it; whether it is there.
    pub(crate) fn touch(
        &self,
        key: &[u8],
        expiry: Expiry,
        now: u32,
        mut show: impl FnMut(Item<'_>),
    ) -> Result<bool> {
        self.change(key, now, |old| {
            let Some(old) = old else { return Ok(Change::Keep(false)) };
            show(old);
            Ok(Change::Put(Item { expiry, ..old }.to_bytes(), true))
        })
    }

    /// Adds to the number that an item holds, modulo 2^64, or takes away from it, down to 0.
    pub(crate) fn add(&self, key: &[u8], delta: u64, is_less: bool, now: u32) -> Result<Delta> {
        self.change(key, now, |old| {
            let Some(old) = old else { return Ok(Change::Keep(Delta::NotFound)) };
            let Some(number) = number(old.data) else {
                return Ok(Change::Keep(Delta::NotANumber));
            };
            let number =
                if is_less { number.saturating_sub(delta) } else { number.wrapping_add(delta) };
            let (text, cas) = (number.to_string(), self.cas.take()?);
            let item = Item { cas, data: text.as_bytes(), ..old };
            Ok(Change::Put(item.to_bytes(), Delta::Is(number)))
        })
    }

    /// All items are gone: now, or at a time to come.
    pub(crate) fn flush_all(&self, at: Option<u32>) -> Result<()> {
        match at {
            Some(at) => self.flushes.plan(at),
            None => self.flushes.flush(self.cas.take()?),
        }
    }

    /// Flushes if that was planned for now.
    pub(super) fn flush_if_due(&self, now: u32) -> Result<()> {
        if self.flushes.is_due(now) { self.flush_all(None) } else { Ok(()) }
    }

    /// Looks at `count` entries behind a key, and removes those that are gone. Where it ended, if not at the end of the map, and
    /// how many it removed.
    pub(super) fn sweep(
        &self,
        behind: Option<&[u8]>,
        count: usize,
        now: u32,
    ) -> Result<(Option<Vec<u8>>, u64)> {
        use std::ops::{Bound, ControlFlow};
        let from = behind.map_or(Bound::Unbounded, Bound::Excluded);
        let (mut dead, mut last, mut seen) = (Vec::new(), None, 0);
        let _ended =
            self.items.range_with((from, Bound::Unbounded), |key: &[u8], bytes: &[u8]| {
                if self.live(Some(bytes), now).is_none() {
                    dead.push(key.to_vec());
                }
                seen += 1;
                if seen == count {
                    last = Some(key.to_vec());
                    return ControlFlow::Break(());
                }
                ControlFlow::Continue(())
            })?;
        let mut removed = 0;
        for key in dead {
            removed += self.change(&key, now, |old| {
                Ok(if old.is_none() { Change::Remove(1) } else { Change::Keep(0) })
            })?;
        }
        Ok((last, removed))
    }
}

/// A number of at most 20 digits, and blanks behind it.
fn number(data: &[u8]) -> Option<u64> {
    let digits = data.trim_ascii_end();
    let is_one = !digits.is_empty() && digits.len() <= 20 && digits.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(digits).ok().filter(|_| is_one)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u32 = 1_000;
    const FOREVER: (u32, Expiry) = (5, Expiry(0));

    fn store() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let pool = Pool::options().max_size(64 << 20);
        let options = StoreOptions { pool, max_item: 100 };
        let store = Store::open(&folder.path().join("pool"), &options).unwrap();
        (folder, store)
    }

    fn data(store: &Store, key: &[u8], now: u32) -> Option<Vec<u8>> {
        let mut data = None;
        let is_there = store.get(key, now, |item| data = Some(item.data.to_vec())).unwrap();
        assert_eq!(is_there, data.is_some());
        data
    }

    fn cas(store: &Store, key: &[u8]) -> u64 {
        let mut cas = 0;
        store.get(key, NOW, |item| cas = item.cas).unwrap();
        cas
    }

    #[test]
    fn conditions_decide() {
        let (_folder, store) = store();
        let put = |how, data: &[u8]| store.store(how, b"k", FOREVER, data, NOW).unwrap();
        assert_eq!(put(Stores::Replace, b"x"), Stored::No);
        assert_eq!(put(Stores::Append, b"x"), Stored::No);
        assert_eq!(put(Stores::Cas(1), b"x"), Stored::NotFound);
        assert_eq!(put(Stores::Add, b"b"), Stored::Yes);
        assert_eq!(put(Stores::Add, b"x"), Stored::No);
        assert_eq!(put(Stores::Append, b"c"), Stored::Yes);
        assert_eq!(put(Stores::Prepend, b"a"), Stored::Yes);
        assert_eq!(data(&store, b"k", NOW).unwrap(), b"abc");
        let cas = cas(&store, b"k");
        assert_eq!(put(Stores::Cas(cas + 1), b"x"), Stored::Exists);
        assert_eq!(put(Stores::Cas(cas), b"new"), Stored::Yes);
        assert_eq!(put(Stores::Cas(cas), b"x"), Stored::Exists);
        assert_eq!(put(Stores::Append, &[b'y'; 98]), Stored::TooLarge);
        assert_eq!(data(&store, b"k", NOW).unwrap(), b"new");
        assert!(store.delete(b"k", NOW).unwrap() && !store.delete(b"k", NOW).unwrap());
    }

    #[test]
    fn numbers_wrap_and_end_at_zero() {
        let (_folder, store) = store();
        let add = |delta, is_less| store.add(b"n", delta, is_less, NOW).unwrap();
        let set = |data: &[u8]| store.store(Stores::Set, b"n", FOREVER, data, NOW).unwrap();
        assert_eq!(add(1, false), Delta::NotFound);
        set(b"18446744073709551615");
        assert_eq!(add(2, false), Delta::Is(1));
        assert_eq!(add(5, true), Delta::Is(0));
        set(b"10  ");
        assert_eq!(add(1, true), Delta::Is(9));
        for wrong in [&b""[..], b"x", b"-1", b"1 2", b"18446744073709551616"] {
            set(wrong);
            assert_eq!(add(1, false), Delta::NotANumber);
        }
    }

    #[test]
    fn what_has_expired_or_was_flushed_is_gone_and_swept() {
        let (_folder, store) = store();
        let put = |key: &[u8], expiry| {
            store.store(Stores::Set, key, (0, Expiry(expiry)), b"v", NOW).unwrap()
        };
        put(b"a", NOW + 10);
        put(b"b", 0);
        assert!(data(&store, b"a", NOW + 9).is_some() && data(&store, b"a", NOW + 10).is_none());
        assert!(store.touch(b"a", Expiry(NOW + 20), NOW, |_| ()).unwrap());
        assert!(data(&store, b"a", NOW + 19).is_some());
        assert_eq!(store.sweep(None, 10, NOW + 19).unwrap(), (None, 0));
        assert_eq!(store.sweep(None, 1, NOW + 20).unwrap(), (Some(b"a".to_vec()), 1));
        assert_eq!(store.count().unwrap(), 1);
        store.flush_all(None).unwrap();
        assert!(data(&store, b"b", NOW).is_none());
        put(b"c", 0);
        assert_eq!(store.sweep(Some(b"a"), 10, NOW).unwrap(), (None, 1));
        store.flush_all(Some(NOW + 5)).unwrap();
        store.flush_if_due(NOW + 4).unwrap();
        assert!(data(&store, b"c", NOW).is_some());
        store.flush_if_due(NOW + 5).unwrap();
        assert!(data(&store, b"c", NOW).is_none());
    }
}
