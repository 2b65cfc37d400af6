//! Pops, and the ends of a map that many empty leaves lie before: rivals that are faster each time are no damage,
//! an entry that only scans come across is, and no pin lasts longer than some hundred leaves.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use endura_engine::media::{Heap, Media, Ordering, Region};
use endura_engine::space::PAGE;
use endura_engine::tree::fast_fair::LineBinary;
use endura_engine::tree::{
    ByteChange, ByteIndex, Bytes, Change, Entry, Index, Len, Popped, fast_fair, nbtree, roart,
};
use endura_engine::{Error, Result};
use endura_variants::handles::{ByteMap, WordMap};
use endura_variants::sessions;

use crate::support::patience::ends;
use crate::support::watched::{Watched, epochs_of};

/// More often than once was called damage.
const TIMES: u64 = 100_100;

/// An index beside a rival that takes out each first entry before the one who chose it does, and then enters
/// it again.
struct Beside<I> {
    index: I,
    times: std::sync::atomic::AtomicU64,
}

impl<I> Beside<I> {
    fn new(index: I) -> Self {
        Self { index, times: TIMES.into() }
    }

    fn is_faster(&self) -> bool {
        let faster = |left: u64| left.checked_sub(1);
        self.times.fetch_update(Ordering::Relaxed, Ordering::Relaxed, faster).is_ok()
    }
}

impl<I: Index> Index for Beside<I> {
    type Cursor = I::Cursor;

    fn get(&self, key: u64) -> Result<Option<u64>> {
        self.index.get(key)
    }

    fn get_many(&self, keys: &[u64]) -> Result<Vec<Option<u64>>> {
        self.index.get_many(keys)
    }

    fn modify(&self, key: u64, decide: impl FnMut(Option<u64>) -> Change) -> Result<Option<u64>> {
        self.index.modify(key, decide)
    }

    fn scan_up(&self, cursor: &mut Self::Cursor, key: u64) -> Result<Option<(u64, u64)>> {
        self.index.scan_up(cursor, key)
    }

    fn scan_down(&self, cursor: &mut Self::Cursor, key: u64) -> Result<Option<(u64, u64)>> {
        self.index.scan_down(cursor, key)
    }

    fn first(&self) -> Result<Option<(u64, u64)>> {
        self.index.first()
    }

    fn last(&self) -> Result<Option<(u64, u64)>> {
        self.index.last()
    }

    fn check_ends(&self) -> Result<()> {
        self.index.check_ends()
    }

    fn pop(&self, smallest: bool, entry: (u64, u64)) -> Result<Popped> {
        let is_faster = self.is_faster();
        if is_faster {
            self.index.modify(entry.0, |_| Change::Remove)?;
        }
        let popped = self.index.pop(smallest, entry)?;
        if is_faster {
            self.index.modify(entry.0, |_| Change::Put(0))?;
        }
        Ok(popped)
    }

    fn len(&self) -> Result<Len> {
        self.index.len()
    }

    fn exact_len(&self) -> Result<u64> {
        self.index.exact_len()
    }
}

type Bounds<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);

impl<I: ByteIndex> ByteIndex for Beside<I> {
    type Cursor = I::Cursor;

    fn get_with<R>(&self, key: &[u8], read: impl FnOnce(Bytes<'_>) -> R) -> Result<Option<R>> {
        self.index.get_with(key, read)
    }

    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        self.index.get_many(keys)
    }

    fn modify<'v>(
        &self,
        key: &[u8],
        decide: impl FnMut(Option<Bytes<'_>>) -> ByteChange<'v>,
    ) -> Result<()> {
        self.index.modify(key, decide)
    }

    fn insert_from(
        &self,
        key: &[u8],
        len: usize,
        write: impl FnMut(&mut dyn std::io::Write) -> Result<()>,
    ) -> Result<()> {
        self.index.insert_from(key, len, write)
    }

    fn check_key(&self, key: &[u8]) -> Result<()> {
        self.index.check_key(key)
    }

    fn put_record(&self, key: &[u8], at: u64) -> Result<()> {
        self.index.put_record(key, at)
    }

    fn scan_up(
        &self,
        cursor: &mut Self::Cursor,
        keys: Bounds<'_>,
        visit: impl FnMut(Bytes<'_>, Bytes<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.index.scan_up(cursor, keys, visit)
    }

    fn scan_down(
        &self,
        cursor: &mut Self::Cursor,
        keys: Bounds<'_>,
        visit: impl FnMut(Bytes<'_>, Bytes<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.index.scan_down(cursor, keys, visit)
    }

    fn show(
        &self,
        cursor: &mut Self::Cursor,
        keys: Bounds<'_>,
        upwards: bool,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        self.index.show(cursor, keys, upwards, visit)
    }

    fn next_entry(
        &self,
        cursor: &mut Self::Cursor,
        keys: Bounds<'_>,
        upwards: bool,
        with_value: bool,
        entry: &mut Entry,
    ) -> Result<bool> {
        self.index.next_entry(cursor, keys, upwards, with_value, entry)
    }

    fn first<R>(&self, read: impl FnOnce(Bytes<'_>, Bytes<'_>) -> R) -> Result<Option<R>> {
        self.index.first(read)
    }

    fn last<R>(&self, read: impl FnOnce(Bytes<'_>, Bytes<'_>) -> R) -> Result<Option<R>> {
        self.index.last(read)
    }

    fn check_ends(&self) -> Result<()> {
        self.index.check_ends()
    }

    fn pop(&self, smallest: bool, key: &[u8], value: &[u8]) -> Result<Popped> {
        let is_faster = self.is_faster();
        if is_faster {
            self.index.modify(key, |_| ByteChange::Remove)?;
        }
        let popped = self.index.pop(smallest, key, value)?;
        if is_faster {
            self.index.modify(key, |_| ByteChange::Put(b"v".into()))?;
        }
        Ok(popped)
    }

    fn len(&self) -> Result<Len> {
        self.index.len()
    }

    fn exact_len(&self) -> Result<u64> {
        self.index.exact_len()
    }
}

#[test]
fn a_rival_that_takes_each_first_entry_is_no_damage() {
    ends("pops beside a faster one", || {
        let medium = || sessions::first(Heap::new(16 * PAGE)).unwrap();
        let map = WordMap::over(Beside::new(
            fast_fair::Tree::<_, 64, 64, LineBinary>::open(&medium(), "m").unwrap(),
        ));
        map.index().index.modify(7, |_| Change::Put(0)).unwrap();
        assert_eq!(map.pop_first().unwrap(), Some((7, 0)));
        let map =
            WordMap::over(Beside::new(nbtree::Tree::<_, 128, 64>::open(&medium(), "m").unwrap()));
        map.index().index.modify(7, |_| Change::Put(0)).unwrap();
        assert_eq!(map.pop_last().unwrap(), Some((7, 0)));
        let map = ByteMap::over(Beside::new(roart::Tree::<_>::open(&medium(), "m").unwrap()));
        map.index().index.modify(b"7", |_| ByteChange::Put(b"v".into())).unwrap();
        assert_eq!(map.pop_first().unwrap(), Some((b"7".to_vec(), b"v".to_vec())));
    });
}

/// The words of the chunks of a tree, each with where it is, by the bytes of the chunk.
fn words<M: Media, S>(
    medium: &M,
    check: impl FnOnce(&mut dyn FnMut(u64, u64)) -> Result<S>,
) -> Vec<(u64, Region<'_, M>)> {
    let mut chunks = Vec::new();
    assert!(check(&mut |at, bytes| chunks.push((at, bytes))).is_ok());
    let region = |(at, bytes)| (bytes, Region::new(medium, at, bytes as usize / 8).unwrap());
    chunks.into_iter().map(region).collect()
}

fn is_lost<T: std::fmt::Debug>(popped: Result<T>) {
    assert!(matches!(popped, Err(Error::Corrupt { .. })), "{popped:?}");
}

#[test]
fn what_only_scans_find_is_damage() {
    ends("pops of what no search finds", || {
        let medium = Arc::new(Heap::new(16 * PAGE));
        let pool = sessions::first(Arc::clone(&medium)).unwrap();
        let tree = fast_fair::Tree::<_, 64, 64, LineBinary>::open(&pool, "m").unwrap();
        let map = WordMap::over(tree.clone());
        let keys = [0x1111_1111, 0x2222_2222, 0x3333_3333, 0x4444_4444];
        keys.iter().for_each(|&key| _ = map.insert(key, 5).unwrap());
        for (_, words) in words(&*medium, |visit| tree.check(visit)) {
            for i in 0..words.words() {
                let word = words.load(i, Ordering::Relaxed);
                if word == keys[0] || word == keys[3] {
                    words.store(i, word ^ keys[0] ^ keys[3], Ordering::Relaxed);
                }
            }
        }
        is_lost(map.pop_first());
        is_lost(map.pop_last());

        // The first byte of the least key is changed in the record.
        let medium = Arc::new(Heap::new(16 * PAGE));
        let pool = sessions::first(Arc::clone(&medium)).unwrap();
        let tree = roart::Tree::<_>::open(&pool, "m").unwrap();
        let map = ByteMap::over(tree.clone());
        for key in [b"aaaaaaaa", b"bbbbbbbb", b"cccccccc"] {
            map.insert(key, "value").unwrap();
        }
        let least = u64::from_le_bytes(*b"aaaaaaaa");
        for (_, words) in words(&*medium, |visit| tree.check(visit)) {
            for i in 0..words.words() {
                if words.load(i, Ordering::Relaxed) == least {
                    words.store(i, least ^ 2, Ordering::Relaxed);
                }
            }
        }
        is_lost(map.pop_first());
    });
}

/// Keys in a thousand leaves, in some way.
const KEYS: u64 = 40_000;

#[test]
fn a_look_past_many_empty_leaves_gives_its_pin_up() {
    let often = |what: &str, epochs: usize| {
        assert!(epochs > 4, "{what}: the epoch went on {epochs} times");
    };
    let medium = Arc::new(Watched::new(Heap::new(64 * PAGE), true));
    let pool = sessions::first(Arc::clone(&medium)).unwrap();
    let tree = fast_fair::Tree::<_, 128, 64, LineBinary>::open(&pool, "m").unwrap();
    let map = WordMap::over(tree.clone());
    (0..KEYS).for_each(|key| _ = map.insert(key, 0).unwrap());
    for (bytes, words) in words(&*medium, |visit| tree.check(visit)) {
        if bytes == 64 * 8 {
            let (low, high) = (words.load(1, Ordering::Relaxed), words.load(2, Ordering::Relaxed));
            let dead = if high == 0 { low.wrapping_sub(1) } else { high };
            (8..64).step_by(2).for_each(|i| words.store(i, dead, Ordering::Relaxed));
        }
    }
    let found = Cell::new(Some((0, 0)));
    let epochs = epochs_of(&pool, || found.set(map.first().unwrap()));
    assert_eq!(found.get(), None);
    often("FastFair", epochs);
    map.insert(u64::MAX, 1).unwrap();
    assert_eq!(map.first().unwrap(), Some((u64::MAX, 1)));

    // Where merges find no room.
    let medium = Arc::new(Watched::new(Heap::new(64 * PAGE), false));
    let pool = sessions::first(Arc::clone(&medium)).unwrap();
    let map = WordMap::over(nbtree::Tree::<_, 64, 64>::open(&pool, "m").unwrap());
    (0..KEYS).for_each(|key| _ = map.insert(key, 0).unwrap());
    medium.refuse(true);
    (0..KEYS).for_each(|key| _ = map.remove(key).unwrap());
    medium.refuse(false);
    let epochs = epochs_of(&pool, || found.set(map.last().unwrap()));
    assert_eq!(found.get(), None);
    often("NbTree", epochs);
    map.insert(u64::MAX, 1).unwrap();
    assert_eq!(map.pop_first().unwrap(), Some((u64::MAX, 1)));

    // Words that lead to a record lead nowhere.
    let medium = Arc::new(Watched::new(Heap::new(64 * PAGE), true));
    let pool = sessions::first(Arc::clone(&medium)).unwrap();
    let tree = roart::Tree::<_>::open(&pool, "m").unwrap();
    let map = ByteMap::over(tree.clone());
    let key = |n: u64| n.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes();
    (0..KEYS).for_each(|n| _ = map.insert(key(n), vec![7; 1000]).unwrap());
    let chunks = words(&*medium, |visit| tree.check(visit));
    let records: BTreeSet<u64> = chunks
        .iter()
        .filter(|(bytes, _)| *bytes > 1000 && *bytes < 1100)
        .map(|(_, words)| words.offset())
        .collect();
    for (bytes, words) in &chunks {
        if !records.contains(&words.offset()) {
            for i in 0..*bytes as usize / 8 {
                if records.contains(&(words.load(i, Ordering::Relaxed) & ((1 << 48) - 1))) {
                    words.store(i, 0, Ordering::Relaxed);
                }
            }
        }
    }
    let found = Cell::new(Some(()));
    let epochs = epochs_of(&pool, || found.set(map.first().unwrap().map(drop)));
    assert_eq!(found.get(), None);
    often("Roart", epochs);
}

/// A write whose rival is faster each time, and how often the epoch goes on meanwhile.
#[test]
fn a_write_beside_faster_ones_gives_its_pin_up() {
    const TIMES: u64 = 3_000;
    ends("a write beside a faster one", || {
        let pool = sessions::first(Heap::new(16 * PAGE)).unwrap();
        let (mut tries, mut epochs) = (0, BTreeSet::new());
        let mut next = || {
            tries += 1;
            let _ = pool.relieve();
            epochs.insert(pool.now());
            tries
        };
        let map = WordMap::over(nbtree::Tree::<_, 128, 64>::open(&pool, "n").unwrap());
        map.index()
            .modify(7, |_| {
                let tries = next();
                if tries <= TIMES && tries % 2 == 0 {
                    map.remove(7).unwrap();
                } else if tries <= TIMES {
                    map.insert(7, tries).unwrap();
                }
                Change::Put(1 << 40)
            })
            .unwrap();
        assert_eq!(map.get(7).unwrap(), Some(1 << 40));
        assert_eq!(map.len().unwrap(), Len::Exact(1));
        // The same value changes each time.
        map.index()
            .modify(7, |old| {
                let tries = next();
                if tries <= 2 * TIMES {
                    map.insert(7, old.unwrap() + 1).unwrap();
                }
                Change::Put(5)
            })
            .unwrap();
        assert_eq!(map.get(7).unwrap(), Some(5));
        assert!(tries > 2 * TIMES && epochs.len() > 20, "{} epochs in {tries} tries", epochs.len());
    });
}
