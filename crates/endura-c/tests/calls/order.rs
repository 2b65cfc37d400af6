//! Iterators, ends and ranges.

use std::ffi::{c_int, c_void};
use std::ptr;

use endura_c::*;

use crate::support::{NOTHING, Opened, Room, c, expect, expect_error, shown, slice};

/// Three-letter keys, each with itself as its value, in a kind of its own and types for it.
fn each_map(test: impl Fn(&Opened, MapHandle)) {
    let opened = Opened::new();
    for kind in ["FastFair", "NbTree", "Roart"] {
        for kind_of_key in ["str", "[u8; 3]"] {
            let map = opened.map(&format!("{kind} {kind_of_key}"), kind_of_key, "[u8]", Some(kind));
            for key in ["aaa", "aab", "aac", "baa", "bab"] {
                expect(c!(endura_put(map, slice(key.as_bytes()), slice(key.as_bytes()))), OK);
            }
            test(&opened, map);
        }
    }
}

fn range(map: MapHandle, from: Option<&str>, to: Option<&str>, flags: u32) -> IterHandle {
    let [from, to] = [from, to].map(|bound| bound.map(|bound| slice(bound.as_bytes())));
    let pointer = |bound: &Option<Slice>| bound.as_ref().map_or(ptr::null(), ptr::from_ref);
    let mut iter = IterHandle::NONE;
    expect(c!(endura_range(map, pointer(&from), pointer(&to), flags, &mut iter)), OK);
    iter
}

/// The next key, whose value is checked.
fn next(iter: IterHandle, is_back: bool) -> Option<String> {
    let (mut key, mut value) = (NOTHING, NOTHING);
    let status = match is_back {
        false => c!(endura_next(iter, &mut key, &mut value)),
        true => c!(endura_next_back(iter, &mut key, &mut value)),
    };
    if status == END {
        return None;
    }
    expect(status, OK);
    let key = shown(key);
    assert!(value.len == 0 || shown(value) == key);
    Some(String::from_utf8(key).unwrap())
}

fn rest(iter: IterHandle) -> Vec<String> {
    let all = std::iter::from_fn(|| next(iter, false)).collect();
    expect(endura_iter_release(iter), OK);
    all
}

#[test]
fn ranges_have_their_bounds() {
    each_map(|_, map| {
        let keys = |from, to, flags| rest(range(map, from, to, flags)).join(" ");
        assert_eq!(keys(None, None, 0), "aaa aab aac baa bab");
        assert_eq!(keys(None, None, DESCENDING | KEYS_ONLY), "bab baa aac aab aaa");
        assert_eq!(keys(Some("aab"), Some("baa"), 0), "aab aac");
        assert_eq!(keys(Some("aab"), Some("baa"), FROM_AFTER), "aac");
        assert_eq!(keys(Some("aab"), Some("baa"), TO_INCLUDED), "aab aac baa");
        let all = DESCENDING | FROM_AFTER | TO_INCLUDED | KEYS_ONLY;
        assert_eq!(keys(Some("aab"), Some("baa"), all), "baa aac");
        assert_eq!(keys(Some("b"), None, 0), "baa bab");
        assert_eq!(keys(Some("x"), Some("a"), 0), "");
        let prefix = |prefix: &str, flags| {
            let mut iter = IterHandle::NONE;
            expect(c!(endura_prefix(map, slice(prefix.as_bytes()), flags, &mut iter)), OK);
            rest(iter).join(" ")
        };
        assert_eq!(prefix("aa", 0), "aaa aab aac");
        assert_eq!(prefix("b", DESCENDING), "bab baa");
        assert_eq!(prefix("", KEYS_ONLY), "aaa aab aac baa bab");
        assert_eq!(prefix("c", 0), "");
    });
}

#[test]
fn an_iterator_goes_from_both_ends_and_is_live() {
    each_map(|_, map| {
        let iter = range(map, None, None, 0);
        assert_eq!(next(iter, false).unwrap(), "aaa");
        assert_eq!(next(iter, true).unwrap(), "bab");
        // What comes and goes meanwhile, also under the iterator.
        expect(c!(endura_remove(map, slice(b"aaa"), ptr::null_mut())), OK);
        expect(c!(endura_remove(map, slice(b"baa"), ptr::null_mut())), OK);
        expect(c!(endura_put(map, slice(b"aax"), slice(b"aax"))), OK);
        assert_eq!(rest(iter), ["aab", "aac", "aax"]);
    });
}

#[test]
fn an_iterator_moves_within_its_range() {
    each_map(|_, map| {
        let iter = range(map, Some("aab"), Some("bab"), 0);
        let seek = |iter, key: &str| {
            expect(c!(endura_seek(iter, slice(key.as_bytes()))), OK);
            next(iter, false)
        };
        assert_eq!(seek(iter, "aad").as_deref(), Some("baa"));
        assert_eq!(next(iter, false), None);
        assert_eq!(seek(iter, "aac").as_deref(), Some("aac"));
        assert_eq!(seek(iter, "aaa").as_deref(), Some("aab"));
        assert_eq!(seek(iter, "bab"), None);
        expect(endura_iter_release(iter), OK);
        let iter = range(map, Some("aab"), Some("baa"), DESCENDING | FROM_AFTER);
        assert_eq!(seek(iter, "zzz").as_deref(), Some("aac"));
        assert_eq!(seek(iter, "aac").as_deref(), Some("aac"));
        assert_eq!(seek(iter, "aab"), None);
        expect(endura_iter_release(iter), OK);
    });
}

unsafe extern "C" fn collect(context: *mut c_void, key: Slice, value: Slice) -> c_int {
    // SAFETY: the test passes a vector.
    let keys = unsafe { &mut *context.cast::<Vec<String>>() };
    keys.push(String::from_utf8(shown(key)).unwrap());
    assert!(value.len == 0 || value.len == key.len);
    (keys.len() == 4).into()
}

unsafe extern "C" fn keep_a(_: *mut c_void, key: Slice, _: Slice) -> c_int {
    shown(key).starts_with(b"a").into()
}

#[test]
fn ranges_are_visited_and_removed() {
    each_map(|_, map| {
        let visit = |from: &str, flags| {
            let (mut keys, from) = (Vec::<String>::new(), slice(from.as_bytes()));
            let context = (&raw mut keys).cast();
            let status = c!(endura_visit(map, &from, ptr::null(), flags, Some(collect), context));
            (status, keys.join(" "))
        };
        assert_eq!(visit("aab", KEYS_ONLY), (STOPPED, "aab aac baa bab".into()));
        assert_eq!(visit("aac", 0), (OK, "aac baa bab".into()));
        assert_eq!(visit("aac", DESCENDING), (OK, "bab baa aac".into()));
        assert_eq!(visit("aac", DESCENDING | KEYS_ONLY | FROM_AFTER), (OK, "bab baa".into()));
        let (from, to, mut count) = (slice(b"aab"), slice(b"baa"), 0);
        expect(c!(endura_remove_range(map, &from, &to, 0, &mut count)), OK);
        assert_eq!(count, 2);
        expect(c!(endura_retain(map, Some(keep_a), ptr::null_mut(), &mut count)), OK);
        assert_eq!((count, rest(range(map, None, None, 0))), (2, vec!["aaa".into()]));
        let all = (ptr::null(), ptr::null());
        expect(c!(endura_remove_range(map, all.0, all.1, 0, ptr::null_mut())), OK);
        assert_eq!(next(range(map, None, None, 0), false), None);
    });
}

#[test]
fn the_ends_are_shown_and_popped() {
    each_map(|_, map| {
        let (mut key, mut value) = (Room::new(), Room::new());
        expect(c!(endura_end(map, 0, key.at(), value.at())), OK);
        assert_eq!((key.text(), value.text()), ("aaa", "aaa"));
        expect(c!(endura_end(map, DESCENDING, key.at(), ptr::null_mut())), OK);
        assert_eq!(key.text(), "bab");
        expect(c!(endura_pop(map, DESCENDING, key.at(), value.at())), OK);
        assert_eq!((key.text(), value.text()), ("bab", "bab"));
        for wanted in ["aaa", "aab", "aac", "baa"] {
            expect(c!(endura_pop(map, 0, key.at(), ptr::null_mut())), OK);
            assert_eq!(key.text(), wanted);
        }
        expect(c!(endura_pop(map, 0, key.at(), value.at())), ABSENT);
        expect(c!(endura_end(map, 0, key.at(), value.at())), ABSENT);
    });
}

#[test]
fn flags_without_a_use_are_refused() {
    each_map(|_, map| {
        let (mut iter, mut key, none) = (IterHandle::NONE, Room::new(), ptr::null());
        let useless = "no use for the flags";
        expect_error(c!(endura_range(map, none, none, 16, &mut iter)), E_ARGUMENT, useless);
        expect_error(c!(endura_prefix(map, NOTHING, TO_INCLUDED, &mut iter)), E_ARGUMENT, useless);
        expect(c!(endura_pop(map, KEYS_ONLY, key.at(), ptr::null_mut())), E_ARGUMENT);
        expect(c!(endura_end(map, FROM_AFTER, key.at(), ptr::null_mut())), E_ARGUMENT);
        let removed = c!(endura_remove_range(map, none, none, DESCENDING, ptr::null_mut()));
        expect(removed, E_ARGUMENT);
        expect(
            c!(endura_visit(map, none, none, 1 << 31, Some(collect), ptr::null_mut())),
            E_ARGUMENT,
        );
        assert_eq!(rest(range(map, None, None, 0)).len(), 5);
    });
}
