//! What threads keep that do nothing any more, or have exited.

use std::cell::RefCell;
use std::sync::Barrier;

use endura::{FastFair, Pool, Roart};

use crate::patience::ends;

const MIB: u64 = 1 << 20;

fn pool() -> (tempfile::TempDir, Pool) {
    let folder = tempfile::tempdir().unwrap();
    let pool = Pool::options().create(folder.path().join("pool")).unwrap();
    (folder, pool)
}

/// Threads that have replaced large values, and live on, keep nothing while another one works.
#[test]
fn what_idle_threads_have_retired_is_freed_by_those_who_work() {
    ends("what idle threads have retired is freed by those who work", || {
        let (_folder, pool) = pool();
        let map = pool.roart("map").unwrap();
        let value = vec![1; 3 * MIB as usize / 2];
        let (idle, end) = (Barrier::new(9), Barrier::new(9));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    (0..4).for_each(|_| _ = map.insert("theirs", &value).unwrap());
                    idle.wait();
                    end.wait();
                });
            }
            idle.wait();
            let waiting = pool.stats().unwrap().limbo_bytes;
            for _ in 0..64 {
                map.insert("own", &value).unwrap();
            }
            let left = pool.stats().unwrap().limbo_bytes;
            end.wait();
            println!("{waiting} bytes waited, {left} are left");
            // What the one who works has retired last.
            assert!(left <= 6 * MIB, "{waiting} bytes waited, {left} are left");
        });
    })
}

/// The same before the file grows, also if nothing is retired.
#[test]
fn what_idle_threads_have_retired_is_used_before_the_file_grows() {
    ends("what idle threads have retired is used before the file grows", || {
        let (_folder, pool) = pool();
        let map = pool.roart("map").unwrap();
        let value = vec![1; 3 * MIB as usize / 2];
        let (idle, end) = (Barrier::new(9), Barrier::new(9));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    (0..4).for_each(|_| _ = map.insert("theirs", &value).unwrap());
                    idle.wait();
                    end.wait();
                });
            }
            idle.wait();
            let before = pool.stats().unwrap();
            let pages = |bytes: u64| bytes / (2 * MIB);
            // As many as wait and are free; each takes a page.
            let new = pages(before.limbo_bytes * 4 / 3);
            for i in 0..new.saturating_sub(2) {
                map.insert(format!("new {i}"), &value).unwrap();
            }
            let after = pool.stats().unwrap();
            end.wait();
            assert!(new >= 4, "{new} pages wait");
            assert!(
                after.pages_in_use <= before.pages_in_use + 3,
                "{} pages waited; {} in use grew to {}",
                new,
                before.pages_in_use,
                after.pages_in_use
            );
        });
    })
}

/// A thread that exits leaves nothing behind.
#[test]
fn a_thread_that_exits_hands_over_what_it_has() {
    ends("a thread that exits hands over what it has", || {
        let (_folder, pool) = pool();
        let (strings, numbers) =
            (pool.roart("strings").unwrap(), pool.fast_fair("numbers").unwrap());
        strings.insert("key", [0; 300]).unwrap();
        numbers.insert(0, 0).unwrap();
        for round in 0..20_u8 {
            std::thread::scope(|scope| {
                scope
                    .spawn(|| {
                        (0..50).for_each(|_| _ = strings.insert("key", [round; 300]).unwrap())
                    })
                    .join()
                    .unwrap();
            });
            assert_eq!(pool.stats().unwrap().limbo_bytes, 0, "round {round}");
        }
    })
}

/// Uses maps while its thread is torn down.
struct Flush(RefCell<Option<(FastFair, Roart)>>);

impl Drop for Flush {
    fn drop(&mut self) {
        if let Some((numbers, strings)) = self.0.borrow_mut().take() {
            numbers.fetch_update(7, |old| Some(old.unwrap_or(0) + 1)).unwrap();
            strings.insert("x", vec![1; 3000]).unwrap();
        }
    }
}

thread_local! {
    static FLUSH: Flush = const { Flush(RefCell::new(None)) };
}

/// Destructors of thread-locals may use maps, after whatever the library has of its own is gone.
#[test]
fn destructors_that_use_maps_cost_nothing_for_good() {
    ends("destructors that use maps cost nothing for good", || {
        let (_folder, pool) = pool();
        let (numbers, strings) =
            (pool.fast_fair("numbers").unwrap(), pool.roart("strings").unwrap());
        let run = |threads: u64, flush: bool| {
            for i in 0..threads {
                let (numbers, strings) = (numbers.clone(), strings.clone());
                std::thread::spawn(move || {
                    if flush {
                        let both = (numbers.clone(), strings.clone());
                        FLUSH.with(|flush| *flush.0.borrow_mut() = Some(both));
                    }
                    numbers.insert(1_000 + i, i).unwrap();
                    strings.insert("x", vec![2; 3000]).unwrap();
                })
                .join()
                .unwrap();
            }
            pool.stats().unwrap()
        };
        let plain = run(300, false);
        let flushed = run(300, true);
        assert_eq!(numbers.get(7).unwrap(), Some(300));
        assert!(
            flushed.pages_in_use <= plain.pages_in_use + 2 && flushed.limbo_bytes < MIB,
            "{plain:?}, then {flushed:?}"
        );
    })
}
