//! Tests of the store without a server.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use endura::Pool;

use super::*;

fn store() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.endura");
    (folder, path)
}

fn opened(path: &Path) -> Store {
    Store::open(path, Pool::options()).unwrap()
}

fn all(store: &Store, of: &Value, span: &Span, order: Order) -> Vec<String> {
    let mut fields = Vec::new();
    let visit = |field: &[u8], _: &[u8]| {
        fields.push(String::from_utf8_lossy(field).into_owned());
        ControlFlow::Continue(())
    };
    store.entries.visit(of, span, order, visit).unwrap();
    fields
}

#[test]
fn entries_of_two_keys_do_not_meet() {
    let (_folder, path) = store();
    let store = opened(&path);
    let (a, b) = (store.make(Form::Shared).unwrap(), store.make(Form::Shared).unwrap());
    for field in ["", "b", "a", "\u{ff}"] {
        assert!(store.entries.put(&a, field.as_bytes(), b"1").unwrap());
        assert!(!store.entries.put(&a, field.as_bytes(), b"2").unwrap());
    }
    store.entries.put(&b, b"z", b"3").unwrap();
    assert_eq!(all(&store, &a, &Span::ALL, Order::Ascending), ["", "a", "b", "\u{ff}"]);
    assert_eq!(all(&store, &a, &Span::ALL, Order::Descending), ["\u{ff}", "b", "a", ""]);
    assert_eq!(all(&store, &b, &Span::ALL, Order::Descending), ["z"]);
    let span = Span::between(b"[a", b"(b").unwrap().unwrap();
    assert_eq!(all(&store, &a, &span, Order::Ascending), ["a"]);
    assert_eq!(store.entries.get(&a, b"a").unwrap(), Some(b"2".to_vec()));
    assert!(store.entries.remove(&a, b"a").unwrap());
    assert!(!store.entries.remove(&a, b"a").unwrap());
    assert_eq!(a.count.known(), Some(3));
}

#[test]
fn maps_of_integers_are_in_the_order_of_numbers() {
    let (_folder, path) = store();
    let store = opened(&path);
    for kind in [endura::Kind::NbTree, endura::Kind::FastFair] {
        let value = store.make(Form::Own(kind)).unwrap();
        for number in ["10", "-3", "9"] {
            store.entries.put(&value, number.as_bytes(), b"-1").unwrap();
        }
        assert_eq!(all(&store, &value, &Span::ALL, Order::Ascending), ["-3", "9", "10"]);
        assert!(matches!(store.entries.put(&value, b"x", b"1"), Err(Failure::NotAnInteger)));
        assert!(matches!(store.entries.put(&value, b"1", b"x"), Err(Failure::NotAnInteger)));
        assert_eq!(store.entries.count(&value).unwrap(), 3);
        assert_eq!(store.entries.ends(&value, Order::Descending, 1).unwrap()[0].0, b"10");
    }
}

/// Entries are added and removed on both sides of a walk that counts.
#[test]
fn a_count_is_right_while_entries_change() {
    let (_folder, path) = store();
    let store = opened(&path);
    let mut value = store.make(Form::Shared).unwrap();
    let field = |number: u32| format!("{number:06}").into_bytes();
    for number in 0..20_000 {
        store.entries.put(&value, &field(number * 2), b"").unwrap();
    }
    value.count = Count::unknown();
    let (store, value) = (&store, &value);
    std::thread::scope(|scope| {
        let counts = scope.spawn(|| store.entries.count(value).unwrap());
        for number in 0..5_000 {
            store.entries.put(value, &field(number * 8 + 1), b"").unwrap();
            store.entries.remove(value, &field(number * 4)).unwrap();
            store.entries.remove(value, &field(39_999 - number)).unwrap();
        }
        counts.join().unwrap();
    });
    let there = all(store, value, &Span::ALL, Order::Ascending).len();
    assert_eq!(store.entries.count(value).unwrap(), there as i64);
    assert_eq!(value.count.known(), Some(there as i64));
}

/// A thread starts to count, and then stands still. A caller that cannot wait counts the rest, including what changed
/// meanwhile.
#[test]
fn a_count_does_not_wait_for_a_thread_that_counts() {
    let (_folder, path) = store();
    let store = opened(&path);
    let mut value = store.make(Form::Shared).unwrap();
    let field = |number: u32| format!("{number:06}").into_bytes();
    for number in 0..5_000 {
        store.entries.put(&value, &field(number * 2), b"").unwrap();
    }
    value.count = Count::unknown();
    let (store, value) = (&store, &value);
    std::thread::scope(|scope| {
        let (began, has_begun) = std::sync::mpsc::channel();
        let (end, has_ended) = std::sync::mpsc::channel();
        // Counts the first entries, and then nothing until the other count is complete.
        let counts = scope.spawn(move || {
            let counted = store.entries.begin_to_count(value).unwrap();
            began.send(counted).unwrap();
            has_ended.recv().unwrap();
            store.entries.count(value).unwrap()
        });
        assert_eq!(has_begun.recv().unwrap(), None);
        store.entries.put(value, &field(1), b"").unwrap();
        store.entries.remove(value, &field(9_998)).unwrap();
        store.entries.remove(value, &field(4)).unwrap();
        assert_eq!(store.entries.count_now(value).unwrap(), 4_999);
        end.send(()).unwrap();
        assert_eq!(counts.join().unwrap(), 4_999);
    });
}

/// Each line of the catalogue's table, as a start after the crash sees it.
#[test]
fn the_catalogue_after_each_step() {
    let (_folder, path) = store();
    {
        let store = opened(&path);
        assert!(store.catalogue.is_fresh());
        let (old, new) = (store.make(Form::Shared).unwrap(), store.make(Form::Shared).unwrap());
        store.catalogue.write(old.id, Form::Shared, 0, -1, b"name").unwrap();
        store.catalogue.write(new.id, Form::Shared, 0, 7, b"name").unwrap();
        store.catalogue.settle().unwrap();
    }
    {
        let store = opened(&path);
        assert!(!store.catalogue.is_fresh());
        let records = store.catalogue.read().unwrap();
        assert_eq!(records.len(), 2);
        assert!(records[1].1.sequence > records[0].1.sequence);
        store.catalogue.write(records[0].0, Form::Shared, 0, -1, b"name").unwrap();
        let again = store.catalogue.read().unwrap();
        assert!(again[0].1.sequence > again[1].1.sequence, "later, in a later session too");
        // A state that is taken over from a file must not be visible before it is complete.
        store.catalogue.begin_anew(0).unwrap();
        store.catalogue.write(9, Form::Shared, 0, -1, b"other").unwrap();
    }
    let store = opened(&path);
    let alive = |record: &Record| store.catalogue.spaces().database(record.space).is_some();
    let records = store.catalogue.read().unwrap();
    let alive: Vec<u64> =
        records.iter().filter(|(_, record)| alive(record)).map(|(id, _)| *id).collect();
    assert_eq!(alive.len(), 2, "the records of before: {records:?}");
    assert!(!alive.contains(&9));
    // The record of that state must not become visible later, when a database gets a new space.
    store.catalogue.spaces().renew(-1);
    assert!(
        records.iter().all(|(_, record)| store.catalogue.spaces().database(record.space).is_none())
    );
}

#[test]
fn what_a_kill_left_is_swept() {
    let (_folder, path) = store();
    {
        let store = opened(&path);
        for form in [Form::Shared, Form::Shared, Form::Own(endura::Kind::NbTree)] {
            let value = store.make(form).unwrap();
            for field in 0..100 {
                store.entries.put(&value, field.to_string().as_bytes(), b"1").unwrap();
            }
        }
    }
    let store = opened(&path);
    assert!(store.fresh() > 3, "numbers that have entries are not given again");
    store.sweeper.hold();
    store.sweeper.strays(vec![2], store.first_of_session());
    assert_eq!(store.entries.next_number(0).unwrap(), Some(1));
    store.sweeper.let_go();
    while store.sweeper.pending() > 0 {
        std::thread::yield_now();
    }
    assert_eq!(store.entries.next_number(0).unwrap(), Some(2));
    assert_eq!(store.entries.next_number(3).unwrap(), None);
    assert!(store.entries.numbers_of_own().unwrap().is_empty());
}
