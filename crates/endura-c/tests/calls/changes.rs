//! Batches, transactions and reads of one moment.

use std::ffi::{c_int, c_void};
use std::ptr;

use endura_c::*;

use crate::support::{NOTHING, Opened, Room, c, expect, expect_error, slice, status};

struct Maps {
    opened: Opened,
    numbers: MapHandle,
    texts: MapHandle,
}

fn maps() -> Maps {
    let opened = Opened::new();
    let numbers = opened.map("numbers", "u64", "i32", None);
    let texts = opened.map("texts", "str", "str", None);
    Maps { opened, numbers, texts }
}

fn begin(maps: &Maps) -> BatchHandle {
    let mut batch = BatchHandle::NONE;
    expect(c!(endura_batch_begin(maps.opened.pool, &mut batch)), OK);
    batch
}

fn number(maps: &Maps, key: u64) -> Option<i64> {
    let mut value = 0;
    let found = c!(endura_get_u64(maps.numbers, key, &mut value)) == OK;
    found.then_some(value as i64)
}

fn text(maps: &Maps, key: &str) -> Option<String> {
    let mut value = Room::new();
    let found = c!(endura_get(maps.texts, slice(key.as_bytes()), value.at())) == OK;
    found.then(|| value.text().to_owned())
}

#[test]
fn a_batch_is_made_at_once_or_not_at_all() {
    let maps = maps();
    let (batch, mut len, mut unmet) = (begin(&maps), 9, 9);
    expect(endura_put_u64(maps.numbers, 7, 70), OK);
    expect(c!(endura_batch_put(batch, maps.texts, slice(b"a"), slice(b"A"))), OK);
    expect(endura_batch_put_u64(batch, maps.numbers, 1, -5_i64 as u64), OK);
    expect(endura_batch_delete_u64(batch, maps.numbers, 7), OK);
    expect(c!(endura_batch_expect_u64(batch, maps.numbers, 7, &71)), OK);
    expect(c!(endura_batch_len(batch, &mut len)), OK);
    assert_eq!((len, number(&maps, 1), text(&maps, "a")), (4, None, None));
    expect(c!(endura_batch_commit(batch, &mut unmet)), UNMET);
    assert_eq!((unmet, number(&maps, 1), text(&maps, "a")), (3, None, None));
    expect(endura_put_u64(maps.numbers, 7, 71), OK);
    expect(c!(endura_batch_commit(batch, &mut unmet)), OK);
    assert_eq!(number(&maps, 1), Some(-5));
    assert_eq!((number(&maps, 7), text(&maps, "a").as_deref()), (None, Some("A")));
    expect(c!(endura_batch_len(batch, &mut len)), OK);
    assert_eq!(len, 0);
    // The same batch again, with the other parts.
    expect(c!(endura_batch_expect(batch, maps.texts, slice(b"a"), &slice(b"A"))), OK);
    expect(c!(endura_batch_expect(batch, maps.texts, slice(b"b"), ptr::null())), OK);
    expect(c!(endura_batch_expect_u64(batch, maps.numbers, 7, ptr::null())), OK);
    expect(c!(endura_batch_delete(batch, maps.texts, slice(b"a"))), OK);
    expect(c!(endura_batch_commit(batch, ptr::null_mut())), OK);
    assert_eq!(text(&maps, "a"), None);
    expect(c!(endura_batch_put(batch, maps.texts, slice(b"a"), NOTHING)), OK);
    expect(endura_batch_clear(batch), OK);
    expect(c!(endura_batch_commit(batch, ptr::null_mut())), OK);
    expect(c!(endura_batch_put(batch, maps.texts, slice(b"a"), NOTHING)), OK);
    expect(endura_batch_release(batch), OK);
    assert_eq!(text(&maps, "a"), None);
    expect(endura_batch_release(batch), E_CLOSED);
}

#[test]
fn a_batch_has_maps_of_its_pool_and_keys_of_their_types() {
    let (maps, other) = (maps(), maps());
    let (batch, mut len) = (begin(&maps), 9);
    expect(endura_batch_put_u64(batch, other.numbers, 1, 1), status("other_pool"));
    expect(endura_batch_put_u64(batch, maps.texts, 1, 1), E_TYPE);
    expect(endura_batch_put_u64(batch, maps.numbers, 1, 1 << 40), E_TYPE);
    expect(c!(endura_batch_put(batch, maps.texts, slice(b"\xFF"), NOTHING)), status("encode"));
    expect(c!(endura_batch_len(batch, &mut len)), OK);
    assert_eq!(len, 0);
    expect(endura_close(maps.opened.pool), OK);
    expect_error(endura_batch_clear(batch), E_CLOSED, "the batch was closed");
}

/// What a run does, and how often it ran.
struct Order<'m> {
    maps: &'m Maps,
    runs: u32,
    answer: c_int,
    kept: TransactionHandle,
}

unsafe extern "C" fn move_ten(context: *mut c_void, run: TransactionHandle) -> c_int {
    // SAFETY: the test passes an `Order`.
    let order = unsafe { &mut *context.cast::<Order<'_>>() };
    let (maps, mut value) = (order.maps, 0);
    order.kept = run;
    expect(c!(endura_transaction_get_u64(run, maps.numbers, 1, &mut value)), OK);
    order.runs += 1;
    if order.runs == 1 {
        // Another write comes between: this run is in vain.
        expect(c!(endura_incr_u64(maps.numbers, 1, 5, 0, ptr::null_mut())), OK);
    }
    let moved = (value as i64 - 10) as u64;
    expect(endura_transaction_put_u64(run, maps.numbers, 1, moved), OK);
    let mut own = 0;
    expect(c!(endura_transaction_get_u64(run, maps.numbers, 1, &mut own)), OK);
    assert_eq!(own, moved, "a run sees its own writes");
    expect(c!(endura_transaction_put(run, maps.texts, slice(b"to"), slice(b"10"))), OK);
    let mut buf = Room::new();
    expect(c!(endura_transaction_get(run, maps.texts, slice(b"to"), buf.at())), OK);
    assert_eq!(buf.text(), "10");
    expect(c!(endura_transaction_delete(run, maps.texts, slice(b"from"))), OK);
    expect(c!(endura_transaction_get(run, maps.texts, slice(b"from"), buf.at())), ABSENT);
    expect(endura_transaction_delete_u64(run, maps.numbers, 9), OK);
    expect(endura_close(maps.opened.pool), status("inside_operation"));
    order.answer
}

#[test]
fn a_transaction_is_made_upon_what_it_has_read() {
    let maps = maps();
    expect(endura_put_u64(maps.numbers, 1, 100), OK);
    expect(endura_put_u64(maps.numbers, 9, 1), OK);
    expect(c!(endura_put(maps.texts, slice(b"from"), NOTHING)), OK);
    let mut order = Order { maps: &maps, runs: 0, answer: 0, kept: TransactionHandle::NONE };
    let context = (&raw mut order).cast();
    expect(c!(endura_transact(maps.opened.pool, Some(move_ten), context)), OK);
    assert_eq!((order.runs, number(&maps, 1), number(&maps, 9)), (2, Some(95), None));
    assert_eq!((text(&maps, "to").as_deref(), text(&maps, "from")), (Some("10"), None));
    let kept = order.kept;
    expect_error(
        c!(endura_transaction_get_u64(kept, maps.numbers, 1, ptr::null_mut())),
        E_CLOSED,
        "the transaction was closed",
    );
    order = Order { maps: &maps, runs: 1, answer: 7, kept };
    let context = (&raw mut order).cast();
    expect(c!(endura_transact(maps.opened.pool, Some(move_ten), context)), STOPPED);
    assert_eq!(number(&maps, 1), Some(95), "nothing was made");
}

struct Look<'m> {
    maps: &'m Maps,
    runs: u32,
    seen: (Option<i64>, Option<i64>),
    answer: c_int,
}

unsafe extern "C" fn look(context: *mut c_void) -> c_int {
    // SAFETY: the test passes a `Look`.
    let look = unsafe { &mut *context.cast::<Look<'_>>() };
    look.runs += 1;
    let first = number(look.maps, 1);
    if look.runs == 1 {
        // A commit between the two reads.
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let batch = begin(look.maps);
                expect(endura_batch_put_u64(batch, look.maps.numbers, 1, 2), OK);
                expect(endura_batch_put_u64(batch, look.maps.numbers, 2, 2), OK);
                expect(c!(endura_batch_commit(batch, ptr::null_mut())), OK);
                expect(endura_batch_release(batch), OK);
            });
        });
    }
    look.seen = (first, number(look.maps, 2));
    look.answer
}

#[test]
fn a_read_sees_each_batch_whole() {
    let maps = maps();
    expect(endura_put_u64(maps.numbers, 1, 1), OK);
    expect(endura_put_u64(maps.numbers, 2, 1), OK);
    let mut seen = Look { maps: &maps, runs: 0, seen: (None, None), answer: 0 };
    let context = (&raw mut seen).cast();
    expect(c!(endura_read(maps.opened.pool, Some(look), context)), OK);
    assert!(seen.runs > 1, "{} runs", seen.runs);
    assert_eq!(seen.seen, (Some(2), Some(2)));
    seen.answer = 1;
    let context = (&raw mut seen).cast();
    expect(c!(endura_read(maps.opened.pool, Some(look), context)), STOPPED);
}
