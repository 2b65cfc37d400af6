//! Walks over whole maps give their pins up: what others retire meanwhile becomes free again.
//!
//! Beside each walk a thread replaces a value, and looks how much waits to be reused. As long as one pin
//! lasts that only grows; if pins are given up it becomes less, again and again.

use std::sync::atomic::{AtomicBool, Ordering};

use endura::{Len, Pool};

use crate::patience::ends;
use crate::pools::{killed, pool};

/// Times that less must wait beside a walk. Beside a single pin it is less twice at most: what had been retired
/// before the pin, or as it began, still becomes free.
const OFTEN: u32 = 6;

fn key(n: u64) -> u64 {
    (n + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    FastFair,
    NbTree,
    Roart,
}

impl Kind {
    const ALL: [Self; 3] = [Self::FastFair, Self::NbTree, Self::Roart];

    /// Enough for some hundred pins.
    fn keys(self) -> u64 {
        if self == Self::Roart { 300_000 } else { 150_000 }
    }

    fn fill(self, pool: &Pool) {
        let keys = (0..self.keys()).map(key);
        match self {
            Self::FastFair => {
                let map = pool.fast_fair("m").unwrap();
                keys.for_each(|key| _ = map.insert(key, key).unwrap());
            }
            Self::NbTree => {
                let map = pool.nbtree("m").unwrap();
                keys.for_each(|key| _ = map.insert(key, key).unwrap());
            }
            Self::Roart => {
                let map = pool.roart("m").unwrap();
                keys.for_each(|key| _ = map.insert(key.to_be_bytes(), b"value").unwrap());
            }
        }
    }

    fn len(self, pool: &Pool) -> Len {
        match self {
            Self::FastFair => pool.fast_fair("m").unwrap().len(),
            Self::NbTree => pool.nbtree("m").unwrap().len(),
            Self::Roart => pool.roart("m").unwrap().len(),
        }
        .unwrap()
    }

    fn clear(self, pool: &Pool) {
        match self {
            Self::FastFair => pool.fast_fair("m").unwrap().clear(),
            Self::NbTree => pool.nbtree("m").unwrap().clear(),
            Self::Roart => pool.roart("m").unwrap().clear(),
        }
        .unwrap();
    }
}

/// Runs `walk` beside a writer, and looks whether its pins let memory be reused.
fn gives_its_pin_up(what: &str, pool: &Pool, walk: impl FnOnce()) {
    let beside = pool.roart("beside").unwrap();
    let (runs, stop) = (AtomicBool::new(false), AtomicBool::new(false));
    let (looks, times_less) = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let (mut looks, mut times_less, mut before) = (0, 0, 0);
            while !stop.load(Ordering::Acquire) {
                (0..16).for_each(|n| _ = beside.insert("k", [n; 2048]).unwrap());
                let waits = pool.stats().unwrap().limbo_bytes;
                looks += 1;
                times_less += u32::from(waits < before);
                before = waits;
                if looks == 20 && !runs.swap(true, Ordering::AcqRel) {
                    // From here on beside the walk.
                    (looks, times_less) = (0, 0);
                }
            }
            (looks, times_less)
        });
        while !runs.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        walk();
        stop.store(true, Ordering::Release);
        writer.join().unwrap()
    });
    // A walk that ends before that holds nobody up.
    assert!(looks < 60 || times_less >= OFTEN, "{what}: less {times_less} times of {looks}");
}

fn killed_and_opened(kind: Kind) -> (tempfile::TempDir, Pool) {
    let (folder, path, pool) = pool();
    kind.fill(&pool);
    killed(pool, &path);
    let pool = Pool::options().max_size(1 << 30).collectors(0).open(&path).unwrap();
    (folder, pool)
}

#[test]
fn a_count_after_a_kill_gives_its_pins_up() {
    for kind in Kind::ALL {
        ends("a count", move || {
            let (_folder, pool) = killed_and_opened(kind);
            gives_its_pin_up(&format!("count of {kind:?}"), &pool, || {
                while kind.len(&pool) != Len::Exact(kind.keys()) {
                    std::thread::yield_now();
                }
            });
        });
    }
}

#[test]
fn a_collection_gives_its_pins_up() {
    for kind in Kind::ALL {
        ends("a collection", move || {
            let (_folder, pool) = killed_and_opened(kind);
            let collect = || assert!(pool.collect().unwrap());
            gives_its_pin_up(&format!("collection of {kind:?}"), &pool, collect);
            assert_eq!(pool.verify().unwrap().shares.leaked, 0);
        });
    }
}

#[test]
fn clear_and_drop_give_their_pins_up() {
    for kind in Kind::ALL {
        ends("a clear and a drop", move || {
            let (_folder, path, pool) = pool();
            kind.fill(&pool);
            gives_its_pin_up(&format!("clear of {kind:?}"), &pool, || kind.clear(&pool));
            kind.fill(&pool);
            let drop = || assert!(pool.drop_map("m").unwrap());
            gives_its_pin_up(&format!("drop of {kind:?}"), &pool, drop);
            // Where the drop had to wait it is freed now at the latest.
            pool.close().unwrap();
            let pool = Pool::options().open(&path).unwrap();
            let report = pool.verify().unwrap();
            assert_eq!((report.maps.len(), report.shares.leaked), (1, 0));
            assert!(report.shares.reached < 1 << 20, "{report:?}");
        });
    }
}
