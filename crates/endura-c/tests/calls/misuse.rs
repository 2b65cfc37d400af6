//! Wrong calls end in a status: NULL, handles that are closed, invented or of another kind, callbacks that call back in.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use endura_c::*;

use crate::every::Handles;
use crate::support::{NOTHING, Opened, Room, c, expect, expect_error, shown, slice, status};

fn handles() -> (Opened, Handles) {
    let opened = Opened::new();
    let map = opened.map("map", "u64", "u64", None);
    let (mut iter, mut batch) = (IterHandle::NONE, BatchHandle::NONE);
    expect(c!(endura_range(map, ptr::null(), ptr::null(), 0, &mut iter)), OK);
    expect(c!(endura_batch_begin(opened.pool, &mut batch)), OK);
    let (pool, run) = (opened.pool, TransactionHandle::NONE);
    (opened, Handles { pool, map, iter, batch, run })
}

#[test]
fn handles_of_a_closed_pool_are_closed() {
    let (opened, all) = handles();
    expect(endura_close(opened.pool), OK);
    let statuses = all.call_all();
    let wrong: Vec<_> = statuses.iter().enumerate().filter(|(_, it)| **it != E_CLOSED).collect();
    // Releases of no handle, and uses of a transaction that was never there.
    let mut others: Vec<Status> = wrong.iter().map(|(_, status)| **status).collect();
    others.sort_unstable();
    assert_eq!(others, [[E_HANDLE; 6].as_slice(), &[OK; 3]].concat(), "{wrong:?}");
    let Handles { map, iter, batch, .. } = all;
    for closed in [endura_map_release(map), endura_iter_release(iter), endura_batch_release(batch)]
    {
        expect(closed, E_CLOSED);
    }
}

#[test]
fn no_handle_is_none() {
    let (pool, map, iter) = (PoolHandle::NONE, MapHandle::NONE, IterHandle::NONE);
    let (batch, run) = (BatchHandle::NONE, TransactionHandle::NONE);
    let statuses = Handles { pool, map, iter, batch, run }.call_all();
    assert!(statuses.iter().all(|status| [OK, E_HANDLE].contains(status)), "{statuses:?}");
    assert_eq!(statuses.iter().filter(|status| **status == OK).count(), 3);
    for released in [
        endura_close(PoolHandle::NONE),
        endura_map_release(MapHandle::NONE),
        endura_iter_release(IterHandle::NONE),
        endura_batch_release(BatchHandle::NONE),
    ] {
        expect(released, OK);
    }
}

/// A handle with one bit changed is another one's, or none: every function ends in a status.
#[test]
fn changed_handles_end_in_a_status() {
    let (opened, all) = handles();
    for bit in 0..64 {
        let flip = |id: u64| id ^ 1 << bit;
        let changed = Handles {
            pool: PoolHandle { id: flip(all.pool.id) },
            map: MapHandle { id: flip(all.map.id) },
            iter: IterHandle { id: flip(all.iter.id) },
            batch: BatchHandle { id: flip(all.batch.id) },
            run: TransactionHandle { id: flip(all.batch.id) },
        };
        changed.call_all();
    }
    // The handle of one kind as that of another.
    let id = all.map.id;
    let other = Handles {
        pool: PoolHandle { id },
        map: MapHandle { id: opened.pool.id },
        iter: IterHandle { id },
        batch: BatchHandle { id },
        run: TransactionHandle { id },
    };
    let wrong = other.call_all();
    assert!(wrong.iter().all(|status| [OK, E_HANDLE].contains(status)), "{wrong:?}");
    expect(endura_put_u64(all.map, 1, 1), OK);
}

unsafe extern "C" fn find(_: *mut c_void, _: usize, _: *const Slice) -> c_int {
    0
}

fn expect_all(calls: &[Status], wanted: Status) {
    let wrong: Vec<_> = calls.iter().enumerate().filter(|(_, it)| **it != wanted).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

const BAD: Slice = Slice { data: ptr::null(), len: 1 };

#[test]
fn null_is_an_argument_error_of_pools_and_numbers() {
    let (_opened, Handles { pool, map, .. }) = handles();
    let (key, null, mut len, mut buf) = (slice(b"12345678"), ptr::null_mut(), 0, Room::new());
    let (bad, missing, options) = (BAD, ptr::null(), Options::DEFAULT);
    let calls = [
        c!(endura_open(ptr::null(), &options, &mut PoolHandle::NONE.clone())),
        c!(endura_open(c"/nowhere/x".as_ptr(), &options, ptr::null_mut())),
        c!(endura_backup(pool, ptr::null())),
        c!(endura_backup_of_checkpoint(ptr::null(), ptr::null(), ptr::null())),
        c!(endura_compact(pool, ptr::null())),
        c!(endura_restore(ptr::null(), ptr::null(), 0)),
        c!(endura_stats_json(pool, ptr::null_mut())),
        c!(endura_maps_json(pool, ptr::null_mut())),
        c!(endura_rename(pool, ptr::null(), c"b".as_ptr())),
        c!(endura_drop(pool, ptr::null())),
        c!(endura_map_open(pool, ptr::null(), missing, missing, missing, &mut map.clone())),
        c!(endura_map_open(pool, c"a".as_ptr(), missing, missing, missing, ptr::null_mut())),
        c!(endura_map_types(map, ptr::null_mut(), buf.at())),
        c!(endura_map_kind(map, ptr::null_mut())),
        c!(endura_len(map, null)),
        c!(endura_approximate_len(map, null)),
        c!(endura_pop_u64(map, 0, null, null)),
        c!(endura_get_many_u64(map, ptr::null(), 1, null, ptr::null_mut())),
        c!(endura_put_many_u64(map, ptr::null(), ptr::null(), 1, &mut len)),
        c!(endura_put_many_u64(map, &7, &7, usize::MAX, &mut len)),
        c!(endura_scan_u64(map, 0, 0, ptr::null_mut(), 1, &mut len)),
        c!(endura_scan_u64(map, 0, 0, ptr::null_mut(), 0, ptr::null_mut())),
        c!(endura_number_key(map, 0, ptr::null_mut())),
        c!(endura_key_number(map, key, null)),
        c!(endura_key_number(map, bad, null)),
    ];
    expect_all(&calls, E_ARGUMENT);
    let bad_text = c"\xFF".as_ptr();
    expect_error(c!(endura_drop(pool, bad_text)), E_ARGUMENT, "`name` is not UTF-8");
    expect(c!(endura_len(map, &mut 0)), OK);
}

#[test]
fn null_is_an_argument_error_of_entries_and_changes() {
    let (_opened, Handles { pool, map, iter, batch, .. }) = handles();
    let (key, null, mut len, mut buf) = (slice(b"12345678"), ptr::null_mut(), 0, Room::new());
    let (mut iterator, bad) = (iter, BAD);
    let calls = [
        c!(endura_get(map, bad, buf.at())),
        c!(endura_get(map, Slice { len: usize::MAX, ..key }, buf.at())),
        c!(endura_get(map, key, ptr::null_mut())),
        c!(endura_get_into(map, key, ptr::null_mut(), 1, &mut len)),
        c!(endura_get_into(map, key, ptr::null_mut(), 0, ptr::null_mut())),
        c!(endura_get_with(map, key, None, ptr::null_mut())),
        c!(endura_has(map, bad)),
        c!(endura_put(map, key, bad)),
        c!(endura_cas(map, key, &bad, ptr::null(), buf.at())),
        c!(endura_pop(map, 0, ptr::null_mut(), ptr::null_mut())),
        c!(endura_end(map, 0, ptr::null_mut(), ptr::null_mut())),
        c!(endura_get_many(map, &key, 1, None, ptr::null_mut())),
        c!(endura_get_many(map, ptr::null(), 1, Some(find), ptr::null_mut())),
        c!(endura_put_many(map, &key, &bad, 1, &mut len)),
        c!(endura_range(map, &bad, ptr::null(), 0, &mut iterator)),
        c!(endura_range(map, ptr::null(), ptr::null(), 0, ptr::null_mut())),
        c!(endura_prefix(map, bad, 0, &mut iterator)),
        c!(endura_next(iter, ptr::null_mut(), ptr::null_mut())),
        c!(endura_next_back(iter, ptr::null_mut(), ptr::null_mut())),
        c!(endura_seek(iter, bad)),
        c!(endura_visit(map, ptr::null(), ptr::null(), 0, None, ptr::null_mut())),
        c!(endura_retain(map, None, ptr::null_mut(), null)),
        c!(endura_batch_begin(pool, ptr::null_mut())),
        c!(endura_batch_put(batch, map, bad, key)),
        c!(endura_batch_len(batch, ptr::null_mut())),
        c!(endura_transact(pool, None, ptr::null_mut())),
        c!(endura_read(pool, None, ptr::null_mut())),
    ];
    expect_all(&calls, E_ARGUMENT);
}

/// What callbacks do with the pool that they are called about.
struct Inside {
    pool: PoolHandle,
    map: MapHandle,
    iter: IterHandle,
    depth: u32,
}

unsafe extern "C" fn call_back(context: *mut c_void, _: Slice, _: Slice) -> c_int {
    // SAFETY: the test passes an `Inside`.
    let inside = unsafe { &mut *context.cast::<Inside>() };
    let refused = status("inside_operation");
    let (pool, map) = (inside.pool, inside.map);
    for status in [endura_close(pool), endura_checkpoint(pool)] {
        expect(status, refused);
    }
    let to = c"/tmp/endura-c-never-made".as_ptr();
    expect(c!(endura_backup(pool, to)), refused);
    expect(endura_put_u64(map, 100 + u64::from(inside.depth), 1), OK);
    expect(c!(endura_next(inside.iter, &mut NOTHING.clone(), ptr::null_mut())), OK);
    inside.depth += 1;
    if inside.depth < 20 {
        let visited = c!(endura_visit(map, ptr::null(), ptr::null(), 0, Some(call_back), context));
        expect(visited, STOPPED);
    }
    1
}

/// Deeper than the announcements of a thread go.
#[test]
fn callbacks_may_use_the_map_and_may_not_close_the_pool() {
    let options = Options { flags: CHECKPOINTS_ON_DEMAND, ..Options::DEFAULT };
    let opened = Opened::with(&options);
    let map = opened.map("map", "u64", "u64", None);
    (0..50).for_each(|key| expect(endura_put_u64(map, key, key), OK));
    let mut iter = IterHandle::NONE;
    expect(c!(endura_range(map, ptr::null(), ptr::null(), 0, &mut iter)), OK);
    let mut inside = Inside { pool: opened.pool, map, iter, depth: 0 };
    let context = (&raw mut inside).cast();
    let visited = c!(endura_visit(map, ptr::null(), ptr::null(), 0, Some(call_back), context));
    expect(visited, STOPPED);
    assert_eq!(inside.depth, 20);
    let mut len = 0;
    expect(c!(endura_len(map, &mut len)), OK);
    assert_eq!(len, 70);
}

unsafe extern "C" fn release_own(context: *mut c_void, _: Slice, _: Slice) -> c_int {
    // SAFETY: the test passes a handle.
    let map = unsafe { *context.cast::<MapHandle>() };
    let released = endura_map_release(map);
    assert!([OK, E_CLOSED].contains(&released));
    expect(endura_put_u64(map, 1, 1), E_CLOSED);
    0
}

#[test]
fn a_map_that_its_callback_releases_stays_until_the_call_returns() {
    let opened = Opened::new();
    let mut map = opened.map("map", "u64", "u64", None);
    (0..100).for_each(|key| expect(endura_put_u64(map, key, key), OK));
    let context = (&raw mut map).cast();
    let visited = c!(endura_visit(map, ptr::null(), ptr::null(), 0, Some(release_own), context));
    expect(visited, OK);
    expect(endura_put_u64(map, 1, 1), E_CLOSED);
}

/// What a callback has seen.
#[derive(Default)]
struct Stay {
    has_begun: AtomicBool,
    sum: AtomicUsize,
}

/// Reads the value some time after the close has begun.
unsafe extern "C" fn stay(context: *mut c_void, _: Slice, value: Slice) -> c_int {
    // SAFETY: the test passes a `Stay`.
    let stay = unsafe { &*context.cast::<Stay>() };
    stay.has_begun.store(true, Ordering::SeqCst);
    thread::sleep(Duration::from_millis(200));
    let sum = shown(value).into_iter().map(usize::from).sum();
    stay.sum.store(sum, Ordering::SeqCst);
    0
}

unsafe extern "C" fn stay_with(context: *mut c_void, data: *const c_void, len: usize) {
    // SAFETY: as for `stay`.
    unsafe { stay(context, NOTHING, Slice { data, len }) };
}

#[test]
fn what_a_callback_was_lent_stays_while_another_thread_closes_the_pool() {
    let value = vec![7; 100_000];
    for is_visit in [false, true] {
        let (opened, own) = (Opened::new(), Stay::default());
        let map = opened.map("map", "str", "[u8]", None);
        expect(c!(endura_put(map, slice(b"key"), slice(&value))), OK);
        thread::scope(|scope| {
            let own = &own;
            let reader = scope.spawn(move || {
                let context = ptr::from_ref(own).cast_mut().cast();
                match is_visit {
                    true => c!(endura_visit(map, ptr::null(), ptr::null(), 0, Some(stay), context)),
                    false => c!(endura_get_with(map, slice(b"key"), Some(stay_with), context)),
                }
            });
            while !own.has_begun.load(Ordering::SeqCst) {
                thread::yield_now();
            }
            expect(endura_close(opened.pool), OK);
            let read = reader.join().unwrap();
            assert!([OK, E_CLOSED].contains(&read), "{read}");
        });
        assert_eq!(own.sum.into_inner(), 700_000);
    }
}

unsafe extern "C" fn close_in_another_thread(context: *mut c_void, _: TransactionHandle) -> c_int {
    // SAFETY: the test passes a handle.
    let pool = unsafe { *context.cast::<PoolHandle>() };
    thread::scope(|scope| {
        scope.spawn(move || expect(endura_close(pool), OK));
    });
    0
}

/// Between its reads and writes a transaction is no operation: it cannot be made any more.
#[test]
fn a_pool_may_be_closed_beside_a_transaction() {
    let opened = Opened::new();
    let mut pool = opened.pool;
    let context = (&raw mut pool).cast();
    let made = c!(endura_transact(pool, Some(close_in_another_thread), context));
    assert!([OK, E_CLOSED].contains(&made), "{made}");
    expect(endura_checkpoint(pool), E_CLOSED);
}
