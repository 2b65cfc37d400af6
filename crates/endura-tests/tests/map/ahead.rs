//! Ranges of strings copy entries that they have noted in advance: what `next` returns is in the map all the same.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread;

use endura::{Error, Map, Pool};

fn key(n: u64) -> String {
    format!("key{n:06}")
}

fn value(n: u64) -> Vec<u8> {
    n.to_le_bytes().repeat(12)
}

fn number(value: &[u8]) -> u64 {
    let words = value.as_chunks().0;
    let first = u64::from_le_bytes(words[0]);
    assert!(words.len() == 12 && words.iter().all(|&word| u64::from_le_bytes(word) == first));
    first
}

fn filled(pool: &Pool, keys: u64) -> Map<str, [u8]> {
    let map = pool.map::<str, [u8]>("map").unwrap();
    (0..keys).for_each(|n| _ = map.insert(&key(n), &value(n)).unwrap());
    map
}

fn pool() -> (tempfile::TempDir, Pool) {
    let folder = tempfile::tempdir().unwrap();
    let pool = Pool::open(folder.path().join("pool.endura")).unwrap();
    (folder, pool)
}

/// In both directions, from wherever a range has come to.
#[test]
fn what_was_noted_and_is_gone_is_not_returned() {
    let (_folder, pool) = pool();
    for up in [true, false] {
        for taken in 0..90 {
            let map = filled(&pool, 200);
            let at = |i: u64| if up { i } else { 199 - i };
            let mut range = map.range(..);
            let mut next = || if up { range.next() } else { range.next_back() };
            for i in 0..taken {
                assert_eq!(next().unwrap().unwrap(), (key(at(i)), value(at(i))));
            }
            (taken..taken + 3).for_each(|i| assert!(map.remove(&key(at(i))).unwrap().is_some()));
            map.insert(&key(at(taken + 3)), b"new").unwrap();
            assert_eq!(next().unwrap().unwrap(), (key(at(taken + 3)), b"new".to_vec()));
            map.remove_range(key(10).as_str()..key(190).as_str()).unwrap();
            let rest: Vec<_> = std::iter::from_fn(&mut next).map(|e| e.unwrap().0).collect();
            let mut expected: Vec<_> = (0..10).chain(190..200).map(key).collect();
            if !up {
                expected.reverse();
            }
            let last = key(at(taken + 3));
            expected.retain(|key| if up { *key > last } else { *key < last });
            assert_eq!(rest, expected, "{taken} taken");
            map.clear().unwrap();
        }
    }
}

/// From both ends at once, with a prefix, and with calls of the map in between.
#[test]
fn ranges_meet_whatever_is_called_in_between() {
    let (_folder, pool) = pool();
    let map = filled(&pool, 1_000);
    map.insert("kex", b"").unwrap();
    map.insert("kez", b"").unwrap();
    let mut range = map.prefix("key0002");
    let (mut front, mut back) = (Vec::new(), Vec::new());
    loop {
        let Some(entry) = range.next() else { break };
        front.push(entry.unwrap().0);
        let inner = map.range(front.last().unwrap().as_str()..).take(3).map(Result::unwrap);
        assert!(inner.count() == 3 && map.range_with(.., |_, _| ControlFlow::Break(())).is_ok());
        let Some(entry) = range.next_back() else { break };
        back.push(entry.unwrap().0);
    }
    assert!(range.next().is_none() && range.next_back().is_none());
    front.extend(back.into_iter().rev());
    assert_eq!(front, (200..300).map(key).collect::<Vec<_>>());
    let keys: Vec<_> = map.prefix("key0002").keys().map(Result::unwrap).collect();
    let values: Vec<_> = map.prefix("key0002").values().rev().map(Result::unwrap).collect();
    assert_eq!(keys, front);
    assert_eq!(values, (200..300).rev().map(value).collect::<Vec<_>>());
    assert_eq!(map.retain(|key, _| key.ends_with('7') || key.len() == 3).unwrap(), 900);
    assert_eq!(map.keys().filter(|key| key.as_ref().unwrap().ends_with('7')).count(), 100);
}

/// Values that do not fit beside their keys, and some in between.
#[test]
fn values_of_all_sizes_come_whole() {
    let (_folder, pool) = pool();
    let map = pool.map::<[u8], [u8]>("map").unwrap();
    let lengths = [0, 1, 100, 65_000, 65_533, 65_534, 65_535, 65_536, 65_537, 300_000, 3, 200_000];
    let entry = |i: usize| {
        let bytes = (0..lengths[i % lengths.len()]).map(|at: u32| (at as usize * 31 + i) as u8);
        (vec![b'k', i as u8], bytes.collect::<Vec<u8>>())
    };
    let model: BTreeMap<_, _> = (0..60).map(entry).collect();
    for (key, value) in &model {
        map.insert(key, value).unwrap();
    }
    assert!(map.iter().map(Result::unwrap).eq(model.clone()));
    assert!(map.iter().rev().map(Result::unwrap).eq(model.clone().into_iter().rev()));
    assert!(map.iter().values().map(Result::unwrap).eq(model.values().cloned()));
    let mut seen = BTreeMap::new();
    map.range_with(.., |key, value| _ = seen.insert(key.to_vec(), value.to_vec())).unwrap();
    assert_eq!(seen, model);
}

#[test]
fn a_range_ends_with_its_map_and_with_its_pool() {
    let (folder, pool) = pool();
    let map = filled(&pool, 200);
    let mut range = map.iter();
    assert_eq!(range.by_ref().take(5).map(Result::unwrap).count(), 5);
    assert!(pool.drop_map("map").unwrap());
    assert!(matches!(range.next(), Some(Err(Error::Dropped))));
    assert!(range.next().is_none());

    let map = filled(&pool, 200);
    let (mut range, mut back) = (map.iter(), map.iter().rev());
    assert_eq!(range.by_ref().take(5).map(Result::unwrap).count(), 5);
    assert_eq!(back.by_ref().take(5).map(Result::unwrap).count(), 5);
    pool.close().unwrap();
    assert!(matches!(range.next(), Some(Err(Error::Closed { .. }))));
    assert!(matches!(back.next(), Some(Err(Error::Closed { .. }))));
    assert!(range.next().is_none() && back.next().is_none());
    drop((range, back, map, pool));
    let pool = Pool::open(folder.path().join("pool.endura")).unwrap();
    assert_eq!(pool.map::<str, [u8]>("map").unwrap().iter().count(), 200);
}

const KEYS: u64 = 400;

/// Keys that stay, with a value that grows, between keys that come and go.
struct Beside {
    map: Map<str, [u8]>,
    /// The value of an even key of which a write has returned.
    written: Vec<AtomicU64>,
    /// Of an odd key: 0 absent, 1 present (modulo 4), 2 and 3 while that changes; counts on.
    states: Vec<AtomicU64>,
    done: AtomicBool,
}

impl Beside {
    fn write(&self, seed: u64) {
        let mut random = seed;
        for round in 1..150 {
            for n in 0..KEYS {
                if n % 2 == 0 {
                    // Odd seeds write the values, even ones insert and remove: each key has one writer.
                    if seed % 2 == 1 {
                        self.map.insert(&key(n), &value(round)).unwrap();
                        self.written[n as usize].store(round, SeqCst);
                    }
                } else if seed.is_multiple_of(2) {
                    random = random.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
                    let state = &self.states[n as usize];
                    if random >> 62 != 0 {
                        continue;
                    }
                    let now = state.fetch_add(2, SeqCst);
                    let is_there = now % 2 == 1;
                    match is_there {
                        true => _ = self.map.remove(&key(n)).unwrap().unwrap(),
                        false => assert_eq!(self.map.insert(&key(n), &value(n)).unwrap(), None),
                    }
                    state.store(now / 4 * 4 + 4 + u64::from(!is_there), SeqCst);
                }
            }
        }
        self.done.store(true, SeqCst);
    }

    /// One step from `last`, which is the last key returned, or an even one before the first.
    fn step(&self, range: &mut endura::Range<str, [u8]>, up: bool, last: i64) -> Option<i64> {
        let (one, two) = if up { (last + 1, last + 2) } else { (last - 1, last - 2) };
        let is_inside = |n: i64| (0..KEYS as i64).contains(&n);
        let state = |n: i64| if is_inside(n) { self.states[n as usize].load(SeqCst) } else { 0 };
        let before = [one, two].map(state);
        let written: Vec<u64> = [one, two]
            .map(|n| if is_inside(n) { self.written[n as usize].load(SeqCst) } else { 0 })
            .into();
        let entry = if up { range.next() } else { range.next_back() };
        let after = [one, two].map(state);
        let Some(entry) = entry else {
            // An odd key may be the last.
            assert!(!(is_inside(one) && one % 2 == 0 || is_inside(two) && two % 2 == 0));
            return None;
        };
        let (found, value) = entry.unwrap();
        let found: i64 = found[3..].parse().unwrap();
        let i = usize::from(found != one);
        assert!(found == one || found == two, "{found} after {last}");
        // No even key is passed over.
        assert!(i == 0 || one % 2 != 0, "{found} after {last}");
        if found % 2 == 0 {
            assert!(number(&value) >= written[i], "{found}: {} is stale", number(&value));
        } else {
            assert_eq!(number(&value), found as u64);
            let was_absent = before[i] == after[i] && before[i] % 4 == 0;
            assert!(!was_absent, "{found} was absent all the time");
        }
        Some(found)
    }
}

/// Each entry is in the map at some moment of the call that returns it, with the value of that moment.
#[test]
fn nothing_stale_is_returned_beside_writers() {
    let (_folder, pool) = pool();
    let map = pool.map::<str, [u8]>("map").unwrap();
    (0..KEYS).step_by(2).for_each(|n| _ = map.insert(&key(n), &value(0)).unwrap());
    let counters = || (0..KEYS).map(|_| AtomicU64::new(0)).collect();
    let beside =
        Beside { map, written: counters(), states: counters(), done: AtomicBool::new(false) };
    thread::scope(|scope| {
        for seed in 1..3 {
            let beside = &beside;
            scope.spawn(move || beside.write(seed));
        }
        for up in [true, false] {
            let beside = &beside;
            scope.spawn(move || {
                while !beside.done.load(SeqCst) {
                    let mut range = beside.map.iter();
                    let mut last = if up { -1 } else { KEYS as i64 };
                    while let Some(next) = beside.step(&mut range, up, last) {
                        last = next;
                    }
                }
            });
        }
    });
}
