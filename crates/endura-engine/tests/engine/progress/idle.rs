//! What threads keep that do nothing any more, or have exited.

use std::cell::RefCell;
use std::sync::Barrier;

use endura::{Map, Pool};

use crate::support::patience::ends;

const MIB: u64 = 1 << 20;

fn pool() -> (tempfile::TempDir, Pool) {
    let folder = tempfile::tempdir().unwrap();
    let pool = Pool::options().create_new(folder.path().join("pool")).unwrap();
    (folder, pool)
}

/// A value that takes pages of its own.
const VALUE: usize = 3 * MIB as usize / 2;

/// Runs `work` while eight threads live on that have replaced a large value four times each, and do nothing
/// any more. All of it waits, for a reader stayed inside meanwhile.
fn beside_idle_threads(pool: &Pool, map: &Map<str, [u8]>, work: impl FnOnce()) {
    map.insert("theirs", &vec![0; VALUE]).unwrap();
    let (idle, end) = (Barrier::new(9), Barrier::new(9));
    std::thread::scope(|scope| {
        map.get_with("theirs", |_| {
            for _ in 0..8 {
                scope.spawn(|| {
                    (0..4).for_each(|i| _ = map.insert("theirs", &vec![i; VALUE]).unwrap());
                    idle.wait();
                    end.wait();
                });
            }
            idle.wait();
        })
        .unwrap();
        assert!(pool.stats().unwrap().limbo_bytes >= 30 * VALUE as u64);
        work();
        end.wait();
    });
}

/// Threads that have replaced large values, and live on, keep nothing while another one works.
#[test]
fn what_idle_threads_have_retired_is_freed_by_those_who_work() {
    ends("what idle threads have retired is freed by those who work", || {
        let (_folder, pool) = pool();
        let map = pool.map::<str, [u8]>("map").unwrap();
        beside_idle_threads(&pool, &map, || {
            for _ in 0..64 {
                map.insert("own", &vec![1; VALUE]).unwrap();
            }
            let left = pool.stats().unwrap().limbo_bytes;
            // What the one who works has retired last.
            assert!(left <= 6 * MIB, "{left} bytes are left");
        });
    });
}

/// The same before the file grows, also if nothing is retired.
#[test]
fn what_idle_threads_have_retired_is_used_before_the_file_grows() {
    ends("what idle threads have retired is used before the file grows", || {
        let (_folder, pool) = pool();
        let map = pool.map::<str, [u8]>("map").unwrap();
        beside_idle_threads(&pool, &map, || {
            let before = pool.stats().unwrap().bytes_in_use;
            (0..20).for_each(|i| _ = map.insert(&format!("new {i}"), &vec![1; VALUE]).unwrap());
            let after = pool.stats().unwrap().bytes_in_use;
            assert!(after <= before + 12 * MIB, "{before} bytes in use grew to {after}");
        });
    });
}

/// A thread that exits leaves nothing behind.
#[test]
fn a_thread_that_exits_hands_over_what_it_has() {
    ends("a thread that exits hands over what it has", || {
        let (_folder, pool) = pool();
        let (strings, numbers) =
            (pool.map::<str, [u8]>("strings").unwrap(), pool.map::<u64, u64>("numbers").unwrap());
        strings.insert("key", &[0; 300]).unwrap();
        numbers.insert(0, 0).unwrap();
        for round in 0..20_u8 {
            std::thread::scope(|scope| {
                scope
                    .spawn(|| {
                        (0..50).for_each(|_| _ = strings.insert("key", &[round; 300]).unwrap())
                    })
                    .join()
                    .unwrap();
            });
            assert_eq!(pool.stats().unwrap().limbo_bytes, 0, "round {round}");
        }
    })
}

/// Uses maps while its thread is torn down.
struct Flush(RefCell<Option<Both>>);

type Both = (Map<u64, u64>, Map<str, [u8]>);

impl Drop for Flush {
    fn drop(&mut self) {
        if let Some((numbers, strings)) = self.0.borrow_mut().take() {
            numbers.update(7, |old| old.unwrap_or(0) + 1).unwrap();
            strings.insert("x", &[1; 3000]).unwrap();
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
            (pool.map::<u64, u64>("numbers").unwrap(), pool.map::<str, [u8]>("strings").unwrap());
        let run = |threads: u64, flush: bool| {
            for i in 0..threads {
                let (numbers, strings) = (numbers.clone(), strings.clone());
                std::thread::spawn(move || {
                    if flush {
                        let both = (numbers.clone(), strings.clone());
                        FLUSH.with(|flush| *flush.0.borrow_mut() = Some(both));
                    }
                    numbers.insert(1_000 + i, i).unwrap();
                    strings.insert("x", &[2; 3000]).unwrap();
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
            flushed.bytes_in_use <= plain.bytes_in_use + 4 * MIB && flushed.limbo_bytes < MIB,
            "{plain:?}, then {flushed:?}"
        );
    })
}
