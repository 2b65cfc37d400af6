//! Many threads at once for a while.

use std::sync::Barrier;
use std::thread;

use crate::byte_world::ByteContents;
use crate::sessions::World;

const THREADS: u64 = 4;
const STEPS: u64 = 40_000;

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        (self.0 >> 33) % n
    }
}

/// Each thread keeps track of its own keys, and reads everybody's.
pub(crate) fn own_keys<C: ByteContents>(world: &World<C>, key: fn(u64) -> Vec<u8>) {
    let space = 900;
    let keys: Vec<Vec<u8>> = {
        let mut keys: Vec<_> = (0..space).map(key).collect();
        keys.sort();
        keys.dedup();
        keys
    };
    let start = Barrier::new(THREADS as usize + 1);
    thread::scope(|scope| {
        for own in 0..THREADS as usize {
            let (keys, start, map) = (&keys, &start, world.map());
            scope.spawn(move || {
                let mine: Vec<_> = keys.iter().skip(own).step_by(THREADS as usize).collect();
                let mut values: Vec<Option<Vec<u8>>> = vec![None; mine.len()];
                let mut random = Random(own as u64);
                start.wait();
                for step in 0..STEPS {
                    let i = random.below(mine.len() as u64) as usize;
                    let new = step.to_le_bytes()[..random.below(8) as usize].to_vec();
                    match random.below(10) {
                        0..4 => {
                            let old = map.insert(mine[i], &new).unwrap();
                            assert_eq!(old, values[i].replace(new));
                        }
                        4..7 => assert_eq!(map.remove(mine[i]).unwrap(), values[i].take()),
                        7 => {
                            let old = map.update(mine[i], &new).unwrap();
                            assert_eq!(old, values[i]);
                            values[i] = old.map(|_| new);
                        }
                        8 => _ = map.get(&keys[random.below(keys.len() as u64) as usize]).unwrap(),
                        _ => assert_eq!(map.get(mine[i]).unwrap(), values[i]),
                    }
                }
                for (key, value) in mine.iter().zip(&values) {
                    assert_eq!(map.get(key).unwrap(), *value);
                }
            });
        }
        start.wait();
        for round in 0..60 {
            let scanned: Vec<_> = match round % 2 {
                0 => world.map().iter().map(|entry| entry.unwrap().0).collect(),
                _ => world.map().iter().rev().map(|entry| entry.unwrap().0).collect(),
            };
            let ordered = scanned.windows(2).all(|pair| (pair[0] < pair[1]) == (round % 2 == 0));
            assert!(ordered && scanned.windows(2).all(|pair| pair[0] != pair[1]));
        }
    });
    world.verify_tidy();
    world.map().clear().unwrap();
    let check = world.verify_tidy();
    assert!(C::bare().is_none_or(|bare| bare == (check.nodes, check.arrays)), "{check:?}");
}

/// Keys that are always there are never passed over, however much happens between them.
pub(crate) fn scans_pass_nothing_over<C: ByteContents>(world: &World<C>) {
    let stays: Vec<Vec<u8>> = (0..300_u32).map(|n| (n * 37).to_be_bytes().to_vec()).collect();
    stays.iter().for_each(|key| _ = world.map().insert(key, "stays").unwrap());
    let done = std::sync::atomic::AtomicBool::new(false);
    thread::scope(|scope| {
        for own in 0..2 {
            let (map, done) = (world.map(), &done);
            scope.spawn(move || {
                let mut random = Random(own);
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    let n = random.below(11_100) as u32;
                    let key = n.to_be_bytes();
                    if n.is_multiple_of(37) {
                        assert!(map.update(key, "stays").unwrap().is_some());
                    } else if random.below(2) == 0 {
                        map.insert(key, "comes").unwrap();
                    } else {
                        map.remove(key).unwrap();
                    }
                }
            });
        }
        for round in 0..150 {
            let entries: Vec<_> = match round % 2 {
                0 => world.map().iter().map(|entry| entry.unwrap()).collect(),
                _ => {
                    let mut down: Vec<_> = world.map().iter().rev().map(|e| e.unwrap()).collect();
                    down.reverse();
                    down
                }
            };
            let found: Vec<_> =
                entries.into_iter().filter(|(_, v)| v == b"stays").map(|(key, _)| key).collect();
            assert_eq!(found, stays);
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    world.verify_tidy();
}

/// A counter that all threads raise, with others around it.
pub(crate) fn no_update_is_lost<C: ByteContents>(world: &World<C>) {
    thread::scope(|scope| {
        for own in 0..THREADS {
            let map = world.map();
            scope.spawn(move || {
                for n in 0..4_000 {
                    let add = |old: Option<&[u8]>| {
                        let old = old.map_or(0, |old| u64::from_le_bytes(old.try_into().unwrap()));
                        Some((old + 1).to_le_bytes().to_vec())
                    };
                    map.fetch_update("counter0", add).unwrap();
                    map.insert(format!("count{own}{:02}", n % 50), "").unwrap();
                    map.remove(format!("count{own}{:02}", (n + 7) % 50)).unwrap();
                }
            });
        }
    });
    let count = world.map().get("counter0").unwrap().unwrap();
    assert_eq!(u64::from_le_bytes(count.try_into().unwrap()), THREADS * 4_000);
    world.verify_tidy();
}
