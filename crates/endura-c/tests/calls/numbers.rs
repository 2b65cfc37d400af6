//! Maps of integers: every function, with each kind and types of several widths.

use std::ptr;

use endura_c::*;

use crate::support::{Opened, Room, c, expect, expect_error, slice};

/// Maps of these types in each kind that takes them.
fn each_map(test: impl Fn(MapHandle, bool)) {
    let opened = Opened::new();
    for kind in ["FastFair", "NbTree", "Roart"] {
        for (key, value) in [("u64", "u64"), ("i64", "i64"), ("u8", "i16"), ("i32", "u32")] {
            let map = opened.map(&format!("{kind} {key} {value}"), key, value, Some(kind));
            test(map, key.starts_with('i'));
            expect(endura_map_release(map), OK);
        }
    }
}

fn get(map: MapHandle, key: u64) -> Option<u64> {
    let mut value = 77;
    match c!(endura_get_u64(map, key, &mut value)) {
        OK => Some(value),
        status => {
            expect(status, ABSENT);
            assert_eq!(value, 77, "an absent value changes nothing");
            None
        }
    }
}

#[test]
fn values_are_put_and_removed() {
    each_map(|map, _| {
        assert_eq!(get(map, 1), None);
        expect(endura_put_u64(map, 1, 10), OK);
        expect(endura_put_u64(map, 1, 11), OK);
        assert_eq!(get(map, 1), Some(11));
        expect(c!(endura_get_u64(map, 1, ptr::null_mut())), OK);
        expect(endura_add_u64(map, 1, 12), PRESENT);
        expect(endura_add_u64(map, 2, 20), OK);
        let mut old = 0;
        expect(c!(endura_replace_u64(map, 2, 21, &mut old)), OK);
        assert_eq!((old, get(map, 2)), (20, Some(21)));
        expect(c!(endura_replace_u64(map, 3, 30, &mut old)), ABSENT);
        expect(c!(endura_remove_u64(map, 2, &mut old)), OK);
        assert_eq!((old, get(map, 2)), (21, None));
        expect(c!(endura_remove_u64(map, 2, ptr::null_mut())), ABSENT);
        let mut len = 0;
        expect(c!(endura_len(map, &mut len)), OK);
        assert_eq!(len, 1);
        expect(endura_clear(map), OK);
        expect(c!(endura_approximate_len(map, &mut len)), OK);
        assert_eq!(len, 0);
    });
}

#[test]
fn values_are_exchanged() {
    each_map(|map, _| {
        let (none, mut found) = (ptr::null(), 0);
        expect(c!(endura_cas_u64(map, 5, &50, &51, &mut found)), ABSENT);
        expect(c!(endura_cas_u64(map, 5, none, &51, &mut found)), OK);
        expect(c!(endura_cas_u64(map, 5, none, &52, &mut found)), DIFFERENT);
        assert_eq!(found, 51);
        expect(c!(endura_cas_u64(map, 5, &51, &52, ptr::null_mut())), OK);
        expect(c!(endura_cas_u64(map, 5, &51, none, ptr::null_mut())), DIFFERENT);
        expect(c!(endura_cas_u64(map, 5, &52, none, &mut found)), OK);
        assert_eq!(get(map, 5), None);
        expect(c!(endura_cas_u64(map, 5, none, none, &mut found)), OK);
    });
}

#[test]
fn values_are_counted() {
    each_map(|map, is_signed| {
        let mut now = 0;
        expect(c!(endura_incr_u64(map, 9, 5, 10, &mut now)), OK);
        assert_eq!(now, 15);
        expect(c!(endura_incr_u64(map, 9, -6, 10, ptr::null_mut())), OK);
        assert_eq!(get(map, 9), Some(9));
        let (sum, far) = ("does not have the sum", if is_signed { i64::MAX } else { i64::MIN });
        expect_error(c!(endura_incr_u64(map, 9, far, 0, &mut now)), E_TYPE, sum);
        expect_error(c!(endura_incr_u64(map, 8, far, 1, &mut now)), E_TYPE, sum);
        assert_eq!((get(map, 9), get(map, 8)), (Some(9), None));
        let (mut key, mut number) = (Room::new(), 0);
        expect(c!(endura_number_key(map, 9, key.at())), OK);
        expect(c!(endura_incr(map, slice(&key), 1, 0, &mut now)), OK);
        assert_eq!(now, 10);
        expect(c!(endura_key_number(map, slice(&key), &mut number)), OK);
        assert_eq!(number, 9);
        expect(c!(endura_key_number(map, slice(b"123456789"), &mut number)), E_ARGUMENT);
    });
}

#[test]
fn entries_are_in_the_order_of_the_numbers() {
    each_map(|map, is_signed| {
        let first = if is_signed { -3_i64 } else { 1 };
        for number in first..first + 7 {
            expect(endura_put_u64(map, number as u64, 100), OK);
        }
        let mut pairs = [Pair { key: 0, value: 0 }; 4];
        let mut scan = |from: i64, flags, max| {
            let mut n = 99;
            let status =
                c!(endura_scan_u64(map, from as u64, flags, pairs.as_mut_ptr(), max, &mut n));
            let keys: Vec<_> = pairs[..n].iter().map(|pair| pair.key as i64 - first).collect();
            assert!(pairs[..n].iter().all(|pair| pair.value == 100));
            (status, keys)
        };
        assert_eq!(scan(first, 0, 4), (OK, vec![0, 1, 2, 3]));
        assert_eq!(scan(first, FROM_AFTER, 2), (OK, vec![1, 2]));
        assert_eq!(scan(first + 5, 0, 4), (END, vec![5, 6]));
        assert_eq!(scan(first + 1, DESCENDING, 4), (END, vec![1, 0]));
        assert_eq!(scan(first + 6, DESCENDING | FROM_AFTER, 3), (OK, vec![5, 4, 3]));
        assert_eq!(scan(first, 0, 0), (OK, vec![]));
        let (mut key, mut value) = (0, 0);
        expect(c!(endura_pop_u64(map, 0, &mut key, &mut value)), OK);
        assert_eq!((key as i64, value), (first, 100));
        expect(c!(endura_pop_u64(map, DESCENDING, &mut key, ptr::null_mut())), OK);
        assert_eq!(key as i64, first + 6);
        expect(endura_clear(map), OK);
        expect(c!(endura_pop_u64(map, 0, &mut key, &mut value)), ABSENT);
    });
}

#[test]
fn many_entries_go_in_one_call() {
    each_map(|map, _| {
        let keys: Vec<u64> = (0..100).collect();
        let values: Vec<u64> = (0..100).map(|n| n / 2).collect();
        let mut done = 0;
        let put = c!(endura_put_many_u64(map, keys.as_ptr(), values.as_ptr(), 100, &mut done));
        expect(put, OK);
        assert_eq!(done, 100);
        let (mut got, mut found) = ([7; 4], [7; 4]);
        let some = [99, 101, 0, 102];
        let (got_at, found_at) = (got.as_mut_ptr(), found.as_mut_ptr());
        expect(c!(endura_get_many_u64(map, some.as_ptr(), 4, got_at, found_at)), ABSENT);
        assert_eq!((got, found), ([49, 0, 0, 0], [1, 0, 1, 0]));
        expect(c!(endura_get_many_u64(map, keys.as_ptr(), 4, got_at, found_at)), OK);
        assert_eq!((got, found), ([0, 0, 1, 1], [1; 4]));
        let none = (ptr::null(), ptr::null_mut(), ptr::null_mut());
        expect(c!(endura_get_many_u64(map, none.0, 0, none.1, none.2)), OK);
    });
    // The third is none of the type's: the first two are there.
    let opened = Opened::new();
    for kind in ["FastFair", "Roart"] {
        let map = opened.map(kind, "u8", "u8", Some(kind));
        let (keys, mut done) = ([1, 2, 300, 4], 9);
        let put = c!(endura_put_many_u64(map, keys.as_ptr(), [1_u64; 4].as_ptr(), 4, &mut done));
        expect_error(put, E_TYPE, "does not have the number 300");
        assert_eq!((done, get(map, 2), get(map, 4)), (2, Some(1), None));
        let (mut values, mut found) = ([0; 4], [0; 4]);
        let (values, found) = (values.as_mut_ptr(), found.as_mut_ptr());
        expect(c!(endura_get_many_u64(map, keys.as_ptr(), 4, values, found)), E_TYPE);
    }
}

#[test]
fn numbers_that_a_type_does_not_have_are_refused() {
    let opened = Opened::new();
    let small = opened.map("small", "u8", "i8", None);
    let (minus_one, minus_200) = (u64::MAX, -200_i64 as u64);
    expect_error(endura_put_u64(small, 256, 0), E_TYPE, "does not have the number 256");
    expect(endura_put_u64(small, minus_one, 0), E_TYPE);
    expect_error(endura_put_u64(small, 0, minus_200), E_TYPE, "does not have the number -200");
    expect(endura_put_u64(small, 0, 128), E_TYPE);
    expect(endura_put_u64(small, 255, minus_one), OK);
    assert_eq!(get(small, 255), Some(minus_one));
    expect(c!(endura_get_u64(small, 256, ptr::null_mut())), E_TYPE);
    expect(c!(endura_cas_u64(small, 1, &1000, ptr::null(), ptr::null_mut())), E_TYPE);
    let texts = opened.map("texts", "str", "u64", None);
    expect_error(endura_put_u64(texts, 1, 1), E_TYPE, "keys `str` and values `u64`");
    let wide = opened.map("wide", "u64", "u128", None);
    expect(endura_put_u64(wide, 1, 1), E_TYPE);
}
