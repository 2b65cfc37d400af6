//! Operations beside others that are faster each time, and beside a key that never comes to rest: they are
//! not called damage, they do what they have to do once, and they end.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use endura::Pool;
use endura_engine::media::{Heap, Media};
use endura_engine::space::PAGE;
use endura_engine::tree::roart::Tree;
use endura_engine::tree::{ByteChange, ByteIndex};
use endura_variants::handles::ByteMap;
use endura_variants::media::{Counting, Staged, Stop};
use endura_variants::sessions;

use crate::support::patience::ends;
use crate::support::pools::{killed, pool};

/// More than eight bytes that all keys share: no node remembers them all.
const PREFIX: &str = "https://www.example.com/";
/// Its record stands directly in the node of that prefix.
const HOT: &str = "https://www.example.com/~hits";

/// Keys behind the prefix, in no order.
fn key(n: u64) -> String {
    format!("{PREFIX}a{:016x}", (n + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

/// A tree on a medium that is asked what it does.
fn tree<M: Media + 'static>(medium: M) -> ByteMap<Tree<M>> {
    ByteMap::over(Tree::open(&sessions::first(medium).unwrap(), "m").unwrap())
}

/// A write whose rival changes, or takes out and enters, the same key each time before it gets to it.
#[test]
fn a_rival_that_is_faster_each_time_is_no_damage() {
    const TIMES: u64 = 40_000;
    ends("a write beside a faster one", || {
        let (_folder, _, pool) = pool();
        let map = pool.map::<str, [u8]>("m").unwrap();
        (0..1_000).for_each(|n| _ = map.insert(&key(n), b"v").unwrap());
        let mut tries = 0;
        map.update(&key(7), |_| {
            tries += 1;
            if tries <= TIMES && tries % 2 == 0 {
                map.remove(&key(7)).unwrap();
            } else if tries <= TIMES {
                map.insert(&key(7), &tries.to_le_bytes()).unwrap();
            }
            b"mine".to_vec()
        })
        .unwrap();
        assert!(tries > TIMES);
        assert_eq!(map.get(&key(7)).unwrap().unwrap(), b"mine");
        pool.verify().unwrap();
    });
}

/// The value is borrowed, or made anew each time; in the end another one.
#[test]
fn a_large_value_is_written_once_however_often_its_place_is_looked_for() {
    const BYTES: usize = 1 << 20;
    let medium = Arc::new(Counting::new(Heap::adr(64 * PAGE)));
    let map = tree(Arc::clone(&medium));
    let value = vec![7; BYTES];
    for is_borrowed in [true, false] {
        let before = medium.counts();
        let mut tries = 0_u64;
        map.index()
            .modify(b"k", |_| {
                tries += 1;
                if tries < 50 {
                    map.insert("k", tries.to_le_bytes()).unwrap();
                }
                match is_borrowed {
                    true => ByteChange::Put(Cow::Borrowed(&value)),
                    false => ByteChange::Put(Cow::Owned(value.clone())),
                }
            })
            .unwrap();
        let lines = medium.counts().since(before).line_flushes;
        assert!(lines < 2 * BYTES as u64 / 64, "{lines} lines written, borrowed: {is_borrowed}");
        assert_eq!(map.get("k").unwrap().unwrap(), value);
    }
    let mut tries = 0;
    map.index()
        .modify(b"k", |_| {
            tries += 1;
            let text = ["first", "other", "another", "the last"][tries - 1];
            if tries < 4 {
                // Each time another value: a decision about the same one would stay.
                map.insert("k", format!("rival {tries}")).unwrap();
            }
            ByteChange::Put(Cow::Owned(text.into()))
        })
        .unwrap();
    assert_eq!(map.get("k").unwrap().unwrap(), b"the last");
    map.index().check(&mut |_, _| ()).unwrap();
}

/// Beside updates of a record that stands in the node above all others.
#[test]
fn a_leak_recovery_ends_beside_a_hot_key() {
    const KEYS: u64 = 200_000;
    ends("a leak recovery beside a hot key", || {
        let (_folder, path, pool) = pool();
        let map = pool.map::<str, [u8]>("m").unwrap();
        (0..KEYS).for_each(|n| _ = map.insert(&key(n), b"value").unwrap());
        map.insert(HOT, &0_u64.to_le_bytes()).unwrap();
        drop(map);
        killed(pool, &path);
        let pool = Pool::options().recovery_threads(1).open_existing(&path).unwrap();
        let map = pool.map::<str, [u8]>("m").unwrap();
        let (stop, updates) = (AtomicBool::new(false), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        map.insert(HOT, &updates.load(Ordering::Relaxed).to_le_bytes()).unwrap();
                        updates.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            // By the thread in the background alone, then by whoever wants it done.
            let begun = Instant::now();
            while !pool.stats().unwrap().leak_recovery.is_done() && begun.elapsed().as_secs() < 10 {
                std::thread::sleep(Duration::from_millis(5));
            }
            let in_background = pool.stats().unwrap().leak_recovery;
            let is_done = pool.recover_leaks();
            stop.store(true, Ordering::Relaxed);
            assert!(in_background.is_done(), "{in_background:?}");
            assert!(is_done.unwrap());
        });
        assert!(updates.into_inner() > 0);
        assert_eq!(pool.verify().unwrap().shares.leaked, 0);
        assert_eq!(map.iter().count() as u64, KEYS + 1);
    });
}

/// Where a writer stands inside an update of the record above all others, at any of its stores.
#[test]
fn a_scan_beside_a_writer_that_stands_reads_as_much_as_alone() {
    ends("a scan beside a writer that stands", || {
        let medium = Arc::new(Staged::new(Counting::new(Heap::adr(256 * PAGE))));
        let map = tree(Arc::clone(&medium));
        (0..20_000).for_each(|n| _ = map.insert(key(n), b"value").unwrap());
        map.insert(HOT, "0").unwrap();
        let lines = |from: &str| {
            // Once before: it may leave the order of an array.
            let first = || {
                let mut keys = 0;
                map.range_with(from.., |_, _| {
                    keys += 1;
                    if keys < 10 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
                })
                .unwrap();
                assert_eq!(keys, 10);
            };
            first();
            let before = medium.inner().counts();
            first();
            medium.inner().counts().since(before).loads
        };
        let froms: Vec<String> = (0..50).map(|n| key(400 * n)).collect();
        let alone: Vec<u64> = froms.iter().map(|from| lines(from)).collect();
        let mut stops = 0;
        for stop in 1.. {
            let halt = medium.halt("stopped", Stop::at_store(stop));
            let stands = std::thread::scope(|scope| {
                let map = map.clone();
                let thread = std::thread::Builder::new().name("stopped".into());
                let update = move || _ = map.insert(HOT, "1").unwrap();
                let writer = thread.spawn_scoped(scope, update).unwrap();
                while !halt.reached_within(Duration::from_micros(200)) && !writer.is_finished() {}
                let stands = halt.is_reached();
                if stands {
                    for (from, &alone) in froms.iter().zip(&alone) {
                        let beside = lines(from);
                        assert!(beside <= 2 * alone + 100, "{beside} loads, alone {alone}: {stop}");
                    }
                }
                halt.release();
                stands
            });
            if !stands {
                break;
            }
            stops += 1;
        }
        assert!(stops > 5, "{stops}");
    });
}

/// Reads end wherever a writer stands: none of them waits for it.
#[test]
fn readers_go_on_wherever_a_writer_stands() {
    ends("a read beside a writer that stands", || {
        let medium = Arc::new(Staged::new(Heap::adr(64 * PAGE)));
        let map = tree(Arc::clone(&medium));
        let all: Vec<String> = (0..300).map(key).collect();
        for n in 0..300 {
            map.insert(key(n), n.to_string()).unwrap();
        }
        // An update, an entry in an array or a larger one, a remove that leaves one that is smaller.
        type Write = fn(&ByteMap<Tree<Arc<Staged<Heap>>>>);
        let enter: Write = |map| (300..310).for_each(|n| _ = map.insert(key(n), "new").unwrap());
        let leave: Write = |map| (300..310).for_each(|n| _ = map.remove(key(n)).unwrap());
        let update: Write = |map| _ = map.insert(key(7), "7").unwrap();
        for (before, write) in [(leave, update), (leave, enter), (enter, leave)] {
            let mut stops = 0;
            for stop in 1.. {
                before(&map);
                let halt = medium.halt("stopped", Stop::at_store(stop));
                let stands = std::thread::scope(|scope| {
                    let thread = std::thread::Builder::new().name("stopped".into());
                    let writer = thread.spawn_scoped(scope, || write(&map)).unwrap();
                    while !halt.reached_within(Duration::from_micros(200)) && !writer.is_finished()
                    {
                    }
                    let stands = halt.is_reached();
                    if stands {
                        let values = map.get_many(&all).unwrap();
                        let expected = |n: usize| Some(n.to_string().into_bytes());
                        assert!(values.iter().enumerate().all(|(n, value)| *value == expected(n)));
                        assert!(map.iter().count() >= 300 && map.iter().rev().count() >= 300);
                        assert!(map.range::<&str>(all[9].as_str()..).next().is_some());
                    }
                    halt.release();
                    stands
                });
                if !stands {
                    break;
                }
                stops += 1;
            }
            assert!(stops > 2, "{stops}");
        }
    });
}
