//! Handles that threads open, use and release at once.

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use endura_c::*;

use crate::support::{NOTHING, Opened, c, expect, rounds, shown, slice};

#[test]
fn maps_are_released_under_their_users() {
    let opened = Opened::new();
    let (current, is_over) =
        (AtomicU64::new(opened.map("map", "u64", "u64", None).id), AtomicBool::new(false));
    let (uses, closed) = (AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        for thread in 0..3_u64 {
            let (current, is_over, uses, closed) = (&current, &is_over, &uses, &closed);
            scope.spawn(move || {
                let mut key = thread;
                while !is_over.load(Ordering::Relaxed) {
                    let map = MapHandle { id: current.load(Ordering::Relaxed) };
                    key = key.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    match endura_put_u64(map, key >> 56, key) {
                        OK => uses.fetch_add(1, Ordering::Relaxed),
                        status => {
                            expect(status, E_CLOSED);
                            closed.fetch_add(1, Ordering::Relaxed)
                        }
                    };
                }
            });
        }
        for _ in 0..rounds(300) {
            let old = MapHandle { id: current.load(Ordering::Relaxed) };
            let new = opened.map("map", "u64", "u64", None);
            current.store(new.id, Ordering::Relaxed);
            expect(endura_map_release(old), OK);
            thread::yield_now();
        }
        is_over.store(true, Ordering::Relaxed);
    });
    println!("{uses:?} uses, {closed:?} of a closed handle");
    assert!(uses.into_inner() > 0);
}

#[test]
fn pools_are_closed_under_their_users() {
    for _ in 0..rounds(5) {
        let opened = Opened::new();
        let map = opened.map("map", "u64", "str", None);
        let mut iter = IterHandle::NONE;
        (0..100).for_each(|key: u64| {
            expect(c!(endura_put(map, slice(&key.to_be_bytes()), slice(b"value"))), OK);
        });
        expect(c!(endura_range(map, ptr::null(), ptr::null(), 0, &mut iter)), OK);
        thread::scope(|scope| {
            for thread in 0..3_u64 {
                scope.spawn(move || {
                    for key in 0_u64.. {
                        let key = (key * 3 + thread).to_be_bytes();
                        let put = c!(endura_put(map, slice(&key), slice(b"another value")));
                        let (mut at, mut value) = (NOTHING, NOTHING);
                        let stepped = c!(endura_next(iter, &mut at, &mut value));
                        let iterated = [OK, END, E_BUSY, E_CLOSED].contains(&stepped);
                        assert!(iterated, "{stepped}");
                        if put != OK {
                            return expect(put, E_CLOSED);
                        }
                    }
                });
            }
            thread::sleep(std::time::Duration::from_millis(3));
            expect(endura_close(opened.pool), OK);
        });
    }
}

/// Each thread has a last error of its own, and the records of threads that have ended serve others.
#[test]
fn many_threads_come_and_go() {
    let opened = Opened::new();
    let map = opened.map("map", "u64", "u64", None);
    for round in 0..rounds(20) {
        thread::scope(|scope| {
            for thread in 0..8 {
                scope.spawn(move || {
                    let mut iter = IterHandle::NONE;
                    expect(endura_put_u64(map, round * 8 + thread, thread), OK);
                    expect(c!(endura_range(map, ptr::null(), ptr::null(), 0, &mut iter)), OK);
                    let mut key = NOTHING;
                    expect(c!(endura_next(iter, &mut key, ptr::null_mut())), OK);
                    assert_eq!(shown(key).len(), 8);
                    // Released by the close of the pool, if not here.
                    if thread % 2 == 0 {
                        expect(endura_iter_release(iter), OK);
                    }
                });
            }
        });
    }
}
