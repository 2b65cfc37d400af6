//! Windows: stretches of the pool file, of one size, side by side. A window is cleared when free space is needed that any
//! item can use. Chunks that are freed here and there are of use to items of their size only; those of a whole window are
//! not. The items of a window are found by their places, so it takes as long in a large pool as in a small one.
//!
//! Of some windows the one is cleared whose items are worth least. Items of it that are fetched often go too. Each of them
//! costs one miss, and then it is stored again.

use std::collections::BTreeSet;
use std::ops::Range;

use endura::Result;

use super::evictions::Evictions;
use super::hand::evict;
use super::item::Item;
use super::items::Store;
use super::levels::{Levels, record_bytes};
use crate::clock::now;
use crate::eviction::{Print, Worth};

/// Bytes of a page, in which the longest spans lie, and from which on a size has spans of that length.
const PAGE: u64 = 2 << 20;
const LONG_SPANS: u64 = 16 << 20;
/// The fewest bytes of a window. The first span of a size takes up to a quarter of it, and lies wholly in it even if other
/// spans reach into it at both ends.
const SMALLEST: u64 = 256 << 10;
/// How many windows are compared, by their first bytes.
const COMPARED: usize = 8;
/// A fetch of late costs as much as so many bytes of an item that is worth more than half of all: so a window with a few small
/// items that are fetched all the time stays, and among many that are fetched now and then it is the bytes that count.
const FETCH: u64 = 1 << 10;
/// How many times the items of a window are looked for. Other threads store new ones where the first were.
const PASSES: usize = 3;

/// Bytes of the windows of which each has a piece for a record of `record` bytes.
pub(super) fn window_bytes(levels: &Levels, record: u64) -> u64 {
    let has_long = levels.sizes.iter().any(|size| size.spans >= LONG_SPANS);
    let least = if has_long { PAGE } else { SMALLEST };
    (record + record / 4).next_power_of_two().max(least)
}

/// Clears a window of `size` bytes, but none that was `tried`, of which it then is one. Returns how many items are gone;
/// none if all windows were tried.
pub(super) fn clear_one(
    store: &Store,
    evictions: &Evictions,
    size: u64,
    tried: &mut BTreeSet<u64>,
) -> Result<Option<usize>> {
    let stats = store.pool().stats()?;
    let (levels, count) = (Levels::of(&stats), stats.file_bytes / size);
    let common = evictions.hand().sample.below(0.5);
    let first = (evictions.chance() * count as f64) as u64;
    let untried = (0..count).map(|n| (first + n) % count).filter(|window| !tried.contains(window));
    let mut best = None;
    for window in untried.take(COMPARED) {
        let start = window * size;
        let part = start..start + size.min(SMALLEST);
        let cost = cost(store, evictions, &levels, common, part)?;
        if best.is_none_or(|(least, _)| cost < least) {
            best = Some((cost, window));
        }
    }
    let Some((_, window)) = best else { return Ok(None) };
    tried.insert(window);
    clear(store, evictions, window * size..(window + 1) * size).map(Some)
}

/// What it costs to clear a stretch: the bytes of items that are worth more than half of all items, what all their fetches
/// cost, and twice the bytes that no items have. Those may be free, or nodes of the map, which stay.
fn cost(
    store: &Store,
    evictions: &Evictions,
    levels: &Levels,
    common: Worth,
    stretch: Range<u64>,
) -> Result<u64> {
    let (bytes, mut all, mut lost) = (stretch.end - stretch.start, 0, 0);
    for key in store.keys_in(stretch)? {
        let Some(entry) = store.bytes_of(&key)? else { continue };
        let Some(item) = Item::of(&entry) else { continue };
        let chunk = levels.chunk(record_bytes(key.len(), entry.len()));
        all += chunk;
        let fetches = evictions.fetches.count(Print::of(&key));
        lost += FETCH * u64::from(fetches);
        if Worth::new(fetches, item.cas) >= common {
            lost += chunk;
        }
    }
    Ok(2 * bytes.saturating_sub(all) + lost)
}

/// Evicts the items that have bytes of a stretch; returns how many.
fn clear(store: &Store, evictions: &Evictions, stretch: Range<u64>) -> Result<usize> {
    let mut gone = 0;
    for _ in 0..PASSES {
        let keys = store.keys_in(stretch.clone())?;
        if keys.is_empty() {
            break;
        }
        for key in keys {
            if store.remove_dead(&key, now())? || evict(store, evictions, &key, None)? {
                gone += 1;
            }
        }
    }
    Ok(gone)
}

#[cfg(test)]
mod tests {
    use endura::Pool;

    use super::super::counters::Counter;
    use super::super::{About, StoreOptions, Stored, Stores};
    use super::*;
    use crate::clock::Expiry;

    const NOW: u32 = 1_000;

    fn open(folder: &std::path::Path, bytes: u64) -> Store {
        let pool = Pool::options().max_size(bytes);
        let options = StoreOptions { pool, max_item: 1 << 20, evicts: true };
        Store::open(&folder.join("pool"), &options, NOW).unwrap()
    }

    fn set(store: &Store, key: &str, bytes: usize) {
        let about = About { flags: 0, expiry: Expiry(0), has_binary_key: false };
        let data = vec![b'd'; bytes];
        let stored = store.store(Stores::Set, key.as_bytes(), about, &data, NOW).unwrap();
        assert!(matches!(stored, Stored::Yes(_)), "{key}");
    }

    fn evicted(store: &Store) -> u64 {
        store.counters().get(Counter::Evictions)
    }

    /// No thread evicts here, so the stores do it themselves. What a store of a new size takes is what it needs, however many
    /// items there are.
    #[test]
    fn a_store_of_a_new_size_clears_what_it_needs() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path(), 32 << 20);
        // The pool is full of these.
        (0..150_000).for_each(|n| set(&store, &format!("small {n}"), 200));
        for (round, bytes) in [3_000, 300_000, 10_000, 1 << 20].into_iter().enumerate() {
            let before = evicted(&store);
            set(&store, &format!("large {round}"), bytes);
            let gone = (evicted(&store) - before) * 256;
            assert!(gone <= (6 << 20) + 4 * bytes as u64, "{gone} bytes went for {bytes}");
            assert!(store.get(format!("large {round}").as_bytes(), NOW, |_| ()).unwrap());
        }
        assert!(store.count().unwrap() > 60_000);
        store.pool().verify().unwrap();
    }

    /// Of the windows that are compared, the one goes in which few items were fetched.
    #[test]
    fn a_window_of_items_that_nobody_fetches_goes() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path(), 64 << 20);
        const ITEMS: usize = 12_000;
        (0..ITEMS).for_each(|n| set(&store, &format!("item {n}"), 3_000));
        // Those that were stored one after the other lie side by side.
        let fetch = |n: usize| store.get(format!("item {n}").as_bytes(), NOW, |_| ()).unwrap();
        let warm = 0..ITEMS / 3;
        warm.clone().for_each(|n| (0..3).for_each(|_| assert!(fetch(n))));
        let evictions = store.evictions().unwrap();
        let stay = |_: &crate::eviction::Sample, _| super::super::hand::Fate::Stays;
        evictions.hand().step(&store, evictions, (ITEMS, NOW), stay).unwrap();
        let size = window_bytes(&Levels::of(&store.pool().stats().unwrap()), 0);
        let mut gone = 0;
        for _ in 0..4 {
            gone += clear_one(&store, evictions, size, &mut BTreeSet::new()).unwrap().unwrap();
        }
        let lost = warm.filter(|&n| !fetch(n)).count();
        assert!(gone > 1_000 && lost < gone / 4, "{lost} of {gone} were fetched");
    }

    /// So a window stays that has a few small items which all clients fetch.
    #[test]
    fn fetches_cost_more_than_the_bytes_of_small_items() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path(), 8 << 20);
        (0..100).for_each(|n| set(&store, &format!("item {n}"), 5));
        let evictions = store.evictions().unwrap();
        let stats = store.pool().stats().unwrap();
        let common = evictions.hand().sample.below(0.5);
        let of_all =
            || cost(&store, evictions, &Levels::of(&stats), common, 0..stats.file_bytes).unwrap();
        let before = of_all();
        let fetch = |n: usize| store.get(format!("item {n}").as_bytes(), NOW, |_| ()).unwrap();
        (0..100).for_each(|n| (0..3).for_each(|_| assert!(fetch(n))));
        assert!(of_all() > before + 200_000, "{} after {before}", of_all());
    }

    #[test]
    fn each_window_is_tried_once() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path(), 8 << 20);
        (0..5_000).for_each(|n| set(&store, &format!("item {n}"), 500));
        let (evictions, mut tried) = (store.evictions().unwrap(), BTreeSet::new());
        let (mut gone, windows) = (0, store.pool().stats().unwrap().file_bytes / SMALLEST);
        for n in 0..windows {
            assert_eq!(tried.len() as u64, n);
            gone += clear_one(&store, evictions, SMALLEST, &mut tried).unwrap().unwrap();
        }
        assert_eq!(clear_one(&store, evictions, SMALLEST, &mut tried).unwrap(), None);
        assert_eq!((gone, store.count().unwrap()), (5_000, 0));
    }

    /// Entries that are no items stay.
    #[test]
    fn entries_that_are_no_items_stay() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path(), 8 << 20);
        let map = store.pool().map::<[u8], [u8]>("memcached items").unwrap();
        map.put(b"strange", b"short").unwrap();
        set(&store, "item", 500);
        let evictions = store.evictions().unwrap();
        let all = 0..store.pool().stats().unwrap().file_bytes;
        assert_eq!(clear(&store, evictions, all).unwrap(), 1);
        assert_eq!(store.count().unwrap(), 1);
        assert!(store.bytes_of(b"strange").unwrap().is_some());
    }
}
