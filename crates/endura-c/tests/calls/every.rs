//! Every function that takes a handle, called with any handles and harmless arguments.

use std::ffi::{c_int, c_void};
use std::ptr;

use endura_c::*;

use crate::support::{NOTHING, Room, c, slice};

unsafe extern "C" fn begin(_: *mut c_void, _: TransactionHandle) -> c_int {
    0
}

unsafe extern "C" fn stop(_: *mut c_void) -> c_int {
    1
}

unsafe extern "C" fn look(_: *mut c_void, _: *const c_void, _: usize) {}

unsafe extern "C" fn find(_: *mut c_void, _: usize, _: *const Slice) -> c_int {
    0
}

unsafe extern "C" fn visit(_: *mut c_void, _: Slice, _: Slice) -> c_int {
    1
}

/// One handle of each kind.
#[derive(Clone, Copy)]
pub(crate) struct Handles {
    pub(crate) pool: PoolHandle,
    pub(crate) map: MapHandle,
    pub(crate) iter: IterHandle,
    pub(crate) batch: BatchHandle,
    pub(crate) run: TransactionHandle,
}

impl Handles {
    /// Calls all functions; returns what each said.
    pub(crate) fn call_all(self) -> Vec<Status> {
        let parts = [self.pools(), self.numbers(), self.keys(), self.order(), self.changes()];
        parts.concat()
    }

    /// Those that take a pool.
    pub(crate) fn pools(self) -> Vec<Status> {
        let Self { pool, .. } = self;
        let (mut buf, mut new_map) = (Room::new(), MapHandle::NONE);
        let (mut new_batch, first) = (BatchHandle::NONE, buf.at());
        let (absent, none, nowhere) = (c"absent".as_ptr(), ptr::null(), ptr::null_mut());
        vec![
            endura_checkpoint(pool),
            c!(endura_verify(pool, first)),
            endura_recover_leaks(pool),
            c!(endura_stats_json(pool, first)),
            c!(endura_maps_json(pool, first)),
            c!(endura_backup(pool, c"/nowhere/pool".as_ptr())),
            c!(endura_compact(pool, c"/nowhere/pool".as_ptr())),
            c!(endura_rename(pool, absent, absent)),
            c!(endura_drop(pool, absent)),
            c!(endura_map_open(pool, absent, none, none, none, &mut new_map)),
            c!(endura_batch_begin(pool, &mut new_batch)),
            c!(endura_transact(pool, Some(begin), nowhere)),
            c!(endura_read(pool, Some(stop), nowhere)),
            endura_batch_release(new_batch),
        ]
    }

    /// Those of maps of integers.
    pub(crate) fn numbers(self) -> Vec<Status> {
        let Self { map, .. } = self;
        let (mut buf, mut number, mut size) = (Room::new(), 0_u64, 0_usize);
        let (first, n, slice) = (buf.at(), &raw mut number, slice(b"a"));
        let (one, found) = ([1_u64], &mut [0_u8]);
        let (ones, mut pair) = (one.as_ptr(), Pair { key: 0, value: 0 });
        vec![
            c!(endura_get_u64(map, 1, n)),
            endura_put_u64(map, 1, 1),
            endura_add_u64(map, 1, 1),
            c!(endura_replace_u64(map, 1, 1, n)),
            c!(endura_remove_u64(map, 1, n)),
            c!(endura_cas_u64(map, 1, ptr::null(), ptr::null(), n)),
            c!(endura_incr_u64(map, 1, 1, 1, n)),
            c!(endura_pop_u64(map, 0, n, n)),
            c!(endura_get_many_u64(map, ones, 1, n, found.as_mut_ptr())),
            c!(endura_put_many_u64(map, ones, ones, 1, &mut size)),
            c!(endura_scan_u64(map, 0, 0, &mut pair, 1, &mut size)),
            c!(endura_number_key(map, 1, first)),
            c!(endura_key_number(map, slice, n)),
        ]
    }

    /// Those of one key, and of many.
    pub(crate) fn keys(self) -> Vec<Status> {
        let Self { map, .. } = self;
        let (mut buf, mut number, mut size) = (Room::new(), 0_u64, 0_usize);
        let (first, n, slice) = (buf.at(), &raw mut number, slice(b"a"));
        let nowhere = ptr::null_mut();
        vec![
            c!(endura_get(map, slice, first)),
            c!(endura_get_into(map, slice, nowhere, 0, &mut size)),
            c!(endura_get_with(map, slice, Some(look), nowhere)),
            c!(endura_has(map, slice)),
            c!(endura_put(map, slice, slice)),
            c!(endura_add(map, slice, slice)),
            c!(endura_replace(map, slice, slice, first)),
            c!(endura_remove(map, slice, first)),
            c!(endura_cas(map, slice, ptr::null(), ptr::null(), first)),
            c!(endura_incr(map, slice, 1, 1, n)),
            c!(endura_get_many(map, &slice, 1, Some(find), nowhere)),
            c!(endura_put_many(map, &slice, &slice, 1, &mut size)),
        ]
    }

    /// Those of ranges and of maps as wholes.
    pub(crate) fn order(self) -> Vec<Status> {
        let Self { map, iter, .. } = self;
        let slice = slice(b"a");
        let (mut key, mut value, mut kind) = (NOTHING, NOTHING, ptr::null());
        let mut new_iter = IterHandle::NONE;
        let (mut buf, mut second, mut number) = (Room::new(), Room::new(), 0_u64);
        let [first, last] = [buf.at(), second.at()];
        let (n, nowhere) = (&raw mut number, ptr::null_mut());
        vec![
            c!(endura_map_types(map, first, last)),
            c!(endura_map_kind(map, &mut kind)),
            c!(endura_len(map, n)),
            c!(endura_approximate_len(map, n)),
            c!(endura_end(map, 0, first, last)),
            c!(endura_pop(map, 0, first, last)),
            c!(endura_range(map, ptr::null(), ptr::null(), 0, &mut new_iter)),
            endura_iter_release(new_iter),
            c!(endura_prefix(map, slice, 0, &mut new_iter)),
            endura_iter_release(new_iter),
            c!(endura_visit(map, ptr::null(), ptr::null(), 0, Some(visit), nowhere)),
            c!(endura_remove_range(map, &slice, &slice, 0, n)),
            c!(endura_retain(map, Some(visit), nowhere, n)),
            endura_clear(map),
            c!(endura_next(iter, &mut key, &mut value)),
            c!(endura_next_back(iter, &mut key, &mut value)),
            c!(endura_seek(iter, slice)),
        ]
    }

    /// Those of batches and transactions.
    pub(crate) fn changes(self) -> Vec<Status> {
        let Self { map, batch, run, .. } = self;
        let (mut buf, mut number, mut size) = (Room::new(), 0_u64, 0_usize);
        let (first, n, slice) = (buf.at(), &raw mut number, slice(b"a"));
        vec![
            c!(endura_batch_put(batch, map, slice, slice)),
            endura_batch_put_u64(batch, map, 1, 1),
            c!(endura_batch_delete(batch, map, slice)),
            endura_batch_delete_u64(batch, map, 1),
            c!(endura_batch_expect(batch, map, slice, ptr::null())),
            c!(endura_batch_expect_u64(batch, map, 1, ptr::null())),
            c!(endura_batch_len(batch, &mut size)),
            endura_batch_clear(batch),
            c!(endura_batch_commit(batch, &mut size)),
            c!(endura_transaction_get(run, map, slice, first)),
            c!(endura_transaction_get_u64(run, map, 1, n)),
            c!(endura_transaction_put(run, map, slice, slice)),
            endura_transaction_put_u64(run, map, 1, 1),
            c!(endura_transaction_delete(run, map, slice)),
            endura_transaction_delete_u64(run, map, 1),
        ]
    }
}
