//! Maps of any types, whose keys and values are passed as they are stored.

use std::ffi::{c_int, c_void};
use std::ptr;

use endura_c::*;

use crate::support::{NOTHING, Opened, Room, c, expect, expect_error, last_error, shown, slice};

fn texts(opened: &Opened) -> MapHandle {
    opened.map("texts", "str", "[u8]", None)
}

fn get(map: MapHandle, key: &[u8]) -> Option<Vec<u8>> {
    let mut value = Room::new();
    match c!(endura_get(map, slice(key), value.at())) {
        OK => Some(value.to_vec()),
        status => {
            expect(status, ABSENT);
            None
        }
    }
}

#[test]
fn values_are_put_and_removed() {
    let opened = Opened::new();
    for kind in ["FastFair", "NbTree", "Roart"] {
        let map = opened.map(kind, "str", "str", Some(kind));
        let (ada, mut old) = (slice(b"ada"), Room::new());
        expect(c!(endura_has(map, ada)), ABSENT);
        expect(c!(endura_put(map, ada, slice(b"1815"))), OK);
        expect(c!(endura_put(map, ada, slice(b"1816"))), OK);
        expect(c!(endura_has(map, ada)), OK);
        assert_eq!(get(map, b"ada").unwrap(), b"1816");
        expect(c!(endura_add(map, ada, NOTHING)), PRESENT);
        expect(c!(endura_add(map, slice(b""), NOTHING)), OK);
        assert_eq!(get(map, b"").unwrap(), b"");
        expect(c!(endura_replace(map, ada, slice(b"1815"), old.at())), OK);
        assert_eq!(&*old, b"1816");
        expect(c!(endura_replace(map, slice(b"eve"), NOTHING, old.at())), ABSENT);
        expect(c!(endura_remove(map, ada, old.at())), OK);
        assert_eq!(&*old, b"1815");
        expect(c!(endura_remove(map, ada, old.at())), ABSENT);
        expect(c!(endura_remove(map, NOTHING, ptr::null_mut())), OK);
        expect(c!(endura_remove(map, NOTHING, ptr::null_mut())), ABSENT);
    }
}

#[test]
fn what_is_not_of_the_type_is_refused() {
    let opened = Opened::new();
    let map = texts(&opened);
    let encode = crate::support::status("encode");
    expect_error(c!(endura_put(map, slice(b"\xFF"), NOTHING)), encode, "str");
    let numbers = opened.map("numbers", "u32", "bool", None);
    expect_error(c!(endura_put(numbers, slice(b"abc"), slice(b"\x01"))), encode, "u32");
    expect(c!(endura_put(numbers, slice(b"abcd"), slice(b"\x02"))), encode);
    expect(c!(endura_put(numbers, slice(b"abcd"), slice(b"\x01"))), OK);
    expect(c!(endura_incr(map, slice(b"a"), 1, 0, ptr::null_mut())), E_TYPE);
    let long = vec![b'x'; (1 << 16) + 1];
    let too_long = crate::support::status("key_too_long");
    expect_error(c!(endura_put(map, slice(&long), NOTHING)), too_long, "shorten");
}

#[test]
fn values_are_exchanged() {
    let opened = Opened::new();
    let (map, mut found) = (texts(&opened), Room::new());
    let (key, one, two) = (slice(b"key"), slice(b"1"), slice(b"2"));
    expect(c!(endura_cas(map, key, &one, &two, found.at())), ABSENT);
    expect(c!(endura_cas(map, key, ptr::null(), &one, found.at())), OK);
    expect(c!(endura_cas(map, key, &two, &two, found.at())), DIFFERENT);
    assert_eq!(&*found, b"1");
    expect(c!(endura_cas(map, key, &one, &two, ptr::null_mut())), OK);
    expect(c!(endura_cas(map, key, ptr::null(), &one, ptr::null_mut())), DIFFERENT);
    expect(c!(endura_cas(map, key, &two, ptr::null(), found.at())), OK);
    assert_eq!(get(map, b"key"), None);
}

#[test]
fn values_are_counted_under_texts() {
    let opened = Opened::new();
    let (map, mut now) = (opened.map("hits", "str", "i16", None), 0);
    let page = slice(b"/index");
    expect(c!(endura_incr(map, page, -5, 2, &mut now)), OK);
    assert_eq!(now as i64, -3);
    expect(c!(endura_incr(map, page, 1 << 15, 0, &mut now)), OK);
    assert_eq!(now, (1 << 15) - 3);
    expect(c!(endura_incr(map, page, 3, 0, &mut now)), E_TYPE);
    expect(c!(endura_incr(map, slice(b"other"), 0, 1 << 15, &mut now)), E_TYPE);
    assert_eq!(get(map, b"other"), None);
}

#[test]
fn a_value_comes_in_the_callers_memory() {
    let opened = Opened::new();
    for (kind, key, value) in [("Roart", "str", "[u8]"), ("FastFair", "[u8; 3]", "[u8; 4]")] {
        let map = opened.map(kind, key, value, Some(kind));
        expect(c!(endura_put(map, slice(b"key"), slice(b"abcd"))), OK);
        let mut room = [b'.'; 6];
        let mut into = |key: &[u8], most: usize| {
            let mut len = 9;
            room = [b'.'; 6];
            let to = if most == 0 { ptr::null_mut() } else { room.as_mut_ptr().cast() };
            let status = c!(endura_get_into(map, slice(key), to, most, &mut len));
            (status, len, String::from_utf8(room.to_vec()).unwrap())
        };
        assert_eq!(into(b"key", 6), (OK, 4, "abcd..".into()));
        assert_eq!(into(b"key", 4), (OK, 4, "abcd..".into()));
        assert_eq!(into(b"key", 3), (CUT, 4, "abc...".into()));
        assert_eq!(into(b"key", 0), (CUT, 4, "......".into()));
        assert_eq!(into(b"kex", 6), (ABSENT, 9, "......".into()));
        // The key lies where the value goes.
        room = *b"key...";
        let mut len = 0;
        let key = Slice { data: room.as_ptr().cast(), len: 3 };
        expect(c!(endura_get_into(map, key, room.as_mut_ptr().cast(), 6, &mut len)), OK);
        assert_eq!(&room, b"abcd..");
    }
}

#[test]
fn a_buffer_grows_and_may_hold_the_key() {
    let opened = Opened::new();
    let (map, mut buf) = (texts(&opened), Room::new());
    for len in [0, 1, 63, 64, 65, 5_000, 100_000, 3] {
        let value: Vec<u8> = (0..len).map(|n| n as u8).collect();
        expect(c!(endura_put(map, slice(b"a key"), slice(&value))), OK);
        expect(c!(endura_get(map, slice(b"a key"), buf.at())), OK);
        assert_eq!(&*buf, &value);
    }
    // A value is the key of the next value, as in a list.
    expect(c!(endura_put(map, slice(b"first"), slice(b"second"))), OK);
    expect(c!(endura_put(map, slice(b"second"), slice(&[b'x'; 500_000]))), OK);
    expect(c!(endura_get(map, slice(b"first"), buf.at())), OK);
    let key = Slice { data: buf.0.data.cast(), len: buf.0.len };
    expect(c!(endura_get(map, key, buf.at())), OK);
    assert_eq!(buf.len(), 500_000);
    expect(c!(endura_replace(map, slice(b"first"), NOTHING, buf.at())), OK);
    let key = Slice { data: buf.0.data.cast(), len: buf.0.len };
    expect(c!(endura_remove(map, key, buf.at())), OK);
    assert_eq!(buf.len(), 500_000);
}

unsafe extern "C" fn keep(context: *mut c_void, value: *const c_void, len: usize) {
    let kept = context.cast::<Vec<u8>>();
    // SAFETY: the test passes a vector; the library lends the value.
    unsafe { (*kept).extend_from_slice(&shown(Slice { data: value, len })) };
}

#[test]
fn a_value_is_shown() {
    let opened = Opened::new();
    for (kind, key, value) in [("NbTree", "str", "[u8]"), ("NbTree", "u16", "u32")] {
        let (map, mut kept) = (opened.map(value, key, value, Some(kind)), Vec::<u8>::new());
        let context = (&raw mut kept).cast();
        expect(c!(endura_get_with(map, slice(b"ab"), Some(keep), context)), ABSENT);
        expect(c!(endura_put(map, slice(b"ab"), slice(b"wxyz"))), OK);
        expect(c!(endura_get_with(map, slice(b"ab"), Some(keep), context)), OK);
        assert_eq!(kept, b"wxyz");
        expect(c!(endura_get_with(map, slice(b"ab"), None, context)), E_ARGUMENT);
        assert!(last_error().contains("look"));
    }
}

struct Seen {
    values: Vec<(usize, Option<Vec<u8>>)>,
    most: usize,
}

unsafe extern "C" fn see(context: *mut c_void, index: usize, value: *const Slice) -> c_int {
    // SAFETY: the test passes a `Seen`; the library lends the value.
    let (seen, value) = unsafe { (&mut *context.cast::<Seen>(), value.as_ref()) };
    seen.values.push((index, value.map(|value| shown(*value))));
    (seen.values.len() == seen.most).into()
}

#[test]
fn many_entries_go_in_one_call() {
    let opened = Opened::new();
    let map = texts(&opened);
    let keys: Vec<String> = (0..600).map(|n| format!("key {n:03}")).collect();
    let slices: Vec<Slice> = keys.iter().map(|key| slice(key.as_bytes())).collect();
    let mut done = 0;
    let (keys_at, values_at) = (slices.as_ptr(), slices.as_ptr());
    expect(c!(endura_put_many(map, keys_at, values_at, 599, &mut done)), OK);
    assert_eq!(done, 599);
    let mut seen = Seen { values: Vec::new(), most: usize::MAX };
    let context = (&raw mut seen).cast();
    expect(c!(endura_get_many(map, keys_at, 600, Some(see), context)), OK);
    for (at, (index, value)) in seen.values.iter().enumerate() {
        let wanted = (at < 599).then(|| keys[at].clone().into_bytes());
        assert_eq!((*index, value), (at, &wanted));
    }
    assert_eq!(seen.values.len(), 600);
    seen = Seen { values: Vec::new(), most: 300 };
    expect(c!(endura_get_many(map, keys_at, 600, Some(see), context)), STOPPED);
    assert_eq!(seen.values.len(), 300);
    let wrong = [slices[599], slice(b"\xFF"), slices[0]];
    let put = c!(endura_put_many(map, wrong.as_ptr(), values_at, 3, &mut done));
    expect(put, crate::support::status("encode"));
    assert_eq!((done, get(map, b"key 599").is_some()), (1, true));
}

#[test]
fn types_are_those_that_were_recorded() {
    let opened = Opened::new();
    let mut open = MapHandle::NONE;
    let (name, none) = (c"ages".as_ptr(), ptr::null());
    let no_such_map = crate::support::status("no_such_map");
    expect(c!(endura_map_open(opened.pool, name, none, none, none, &mut open)), no_such_map);
    let first = opened.map("ages", "(u8, str)", "Option<u32>", None);
    expect(c!(endura_map_open(opened.pool, name, none, none, none, &mut open)), OK);
    assert_ne!(first, open);
    let (mut key, mut value, mut kind) = (Room::new(), Room::new(), ptr::null());
    expect(c!(endura_map_types(open, key.at(), value.at())), OK);
    assert_eq!((key.text(), value.text()), ("(u8, str)", "Option<u32>"));
    expect(c!(endura_map_kind(open, &mut kind)), OK);
    // SAFETY: it is a constant.
    assert_eq!(unsafe { std::ffi::CStr::from_ptr(kind) }, c"Roart");
    let (u64, f64, text) = (c"u64".as_ptr(), c"f64".as_ptr(), c"string".as_ptr());
    let wrong_types = crate::support::status("wrong_types");
    expect(c!(endura_map_open(opened.pool, name, u64, f64, none, &mut open)), wrong_types);
    assert_eq!(open, MapHandle::NONE);
    let new = c"new".as_ptr();
    let unknown = c!(endura_map_open(opened.pool, new, text, f64, none, &mut open));
    expect_error(unknown, E_ARGUMENT, "`string` is no type of a key");
    expect(c!(endura_map_open(opened.pool, new, u64, none, none, &mut open)), E_ARGUMENT);
    let btree = c"BTree".as_ptr();
    expect(c!(endura_map_open(opened.pool, new, u64, f64, btree, &mut open)), E_ARGUMENT);
    // Nothing was created.
    expect(c!(endura_map_open(opened.pool, new, none, none, none, &mut open)), no_such_map);
}
