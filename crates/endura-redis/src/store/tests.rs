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

/// The number of entries, counted in short steps.
fn counted(store: &Store, value: &Value) -> i64 {
    loop {
        if let Some(entries) = store.entries.step_of_count(value).unwrap() {
            return entries;
        }
    }
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
        assert_eq!(counted(&store, &value), 3);
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
        let counts = scope.spawn(|| counted(store, value));
        for number in 0..5_000 {
            store.entries.put(value, &field(number * 8 + 1), b"").unwrap();
            store.entries.remove(value, &field(number * 4)).unwrap();
            store.entries.remove(value, &field(39_999 - number)).unwrap();
            // Two at once, on both sides of the walk.
            let two = [&*field(number * 4 + 3), &field(39_997 - number * 4)];
            let added = store.entries.put_all(value, &two.map(|field| (field, &b""[..]))).unwrap();
            if number % 2 == 0 && added == 2 {
                store.entries.remove_all(value, &two).unwrap();
            }
        }
        counts.join().unwrap();
    });
    let there = all(store, value, &Span::ALL, Order::Ascending).len();
    assert_eq!(counted(store, value), there as i64);
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
            let first = store.entries.step_of_count(value).unwrap();
            began.send(first).unwrap();
            has_ended.recv().unwrap();
            counted(store, value)
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

fn place(name: &[u8]) -> Place<'_> {
    Place { database: 0, name, expires: -1 }
}

/// Each line of the catalogue's table, as a start after the crash sees it.
#[test]
fn the_catalogue_after_each_step() {
    let (_folder, path) = store();
    let [old, new] = {
        let store = opened(&path);
        assert!(store.catalogue.is_fresh());
        let [old, new] = [(); 2].map(|()| store.make(Form::Shared).unwrap());
        store.create(&old, place(b"name"), &[(b"f", b"1")]).unwrap();
        store.catalogue.settle().unwrap();
        store.entries.put(&new, b"f", b"2").unwrap();
        [old.id, new.id]
    };
    let numbers = |store: &Store| {
        let records = store.catalogue.read().unwrap();
        records.iter().map(|(id, _)| *id).collect::<Vec<u64>>()
    };
    {
        let store = opened(&path);
        assert!(!store.catalogue.is_fresh());
        assert_eq!(numbers(&store), [old], "entries alone are no key");
        store.catalogue.write(new, Form::Shared, place(b"name"), &[old]).unwrap();
        assert_eq!(numbers(&store), [new], "one key has the name");
        // The same again changes nothing, and the one that it replaces is gone nevertheless.
        store.catalogue.write(old, Form::Shared, place(b"other"), &[]).unwrap();
        store.catalogue.write(new, Form::Shared, place(b"name"), &[old]).unwrap();
        assert_eq!(numbers(&store), [new]);
        // A state that is taken over from a file must not be visible before it is complete.
        store.catalogue.begin_anew(0).unwrap();
        store.catalogue.write(9, Form::Shared, place(b"other"), &[]).unwrap();
    }
    let store = opened(&path);
    let records = store.catalogue.read().unwrap();
    let database = |record: &Record| store.catalogue.spaces().database(record.space);
    let alive: Vec<u64> = records
        .iter()
        .filter(|(_, record)| database(record).is_some())
        .map(|(id, _)| *id)
        .collect();
    assert_eq!(alive, [new], "the records of before: {records:?}");
    // The record of that state must not become visible later, when a database gets a new space.
    store.catalogue.spaces().renew(-1);
    assert!(records.iter().all(|(_, record)| database(record).is_none()));
}

/// Changes of many fields are made at once, or none of them is, in both forms of keys; the count is right while a walk
/// counts.
#[test]
fn fields_are_changed_together() {
    let (_folder, path) = store();
    let store = opened(&path);
    for form in [Form::Shared, Form::Own(endura::Kind::NbTree)] {
        let mut value = store.make(form).unwrap();
        let pairs: [Pair<'_>; 4] = [(b"1", b"1"), (b"2", b"2"), (b"1", b"3"), (b"9", b"9")];
        assert_eq!(store.create(&value, place(b"key"), &pairs).unwrap(), 3);
        assert_eq!(store.entries.put_all(&value, &[(b"2", b"4"), (b"5", b"5")]).unwrap(), 1);
        assert_eq!(store.entries.get(&value, b"1").unwrap(), Some(b"3".to_vec()));
        assert_eq!(all(&store, &value, &Span::ALL, Order::Ascending), ["1", "2", "5", "9"]);
        assert_eq!(value.count.known(), Some(4));
        store.entries.remove_all(&value, &[b"1", b"9"]).unwrap();
        assert_eq!(value.count.known(), Some(2));
        let is_more = |most| store.entries.has_more_than(&value, &Span::ALL, most).unwrap();
        assert!(is_more(1) && !is_more(2));
        // A wrong field behind right ones.
        let long = vec![b'x'; 70_000];
        assert!(store.entries.put_all(&value, &[(b"2", b"7"), (&long, b"1")]).is_err());
        assert_eq!(store.entries.get(&value, b"2").unwrap(), Some(b"4".to_vec()));
        value.count = Count::unknown();
        let is_more = |most| store.entries.has_more_than(&value, &Span::ALL, most).unwrap();
        assert!(is_more(1) && !is_more(2));
        if form == Form::Shared {
            assert_eq!(store.entries.put_all(&value, &[(b"0", b""), (b"6", b"")]).unwrap(), 2);
            assert_eq!(store.entries.count_now(&value).unwrap(), 4);
        }
    }
}

/// Another thread stays inside a write for longer than a commit of the library waits, as the sweeper may on a slow disk.
#[test]
fn a_change_of_many_fields_waits_for_a_slow_writer() {
    let (_folder, path) = store();
    let store = opened(&path);
    let value = store.make(Form::Shared).unwrap();
    let others = store.pool.map::<str, str>("others").unwrap();
    others.put("a", "").unwrap();
    others.put("b", "").unwrap();
    let (is_inside, inside) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let others = &others;
            others
                .update("a", |_| {
                    let slow = others.update("b", |_| {
                        is_inside.send(()).unwrap();
                        std::thread::sleep(std::time::Duration::from_millis(1_500));
                        "slow".into()
                    });
                    slow.unwrap()
                })
                .unwrap();
        });
        inside.recv().unwrap();
        let alone = store.pool.batch().put(&others, "c", "")?.commit();
        assert!(matches!(alone, Err(endura::Error::WritersStay { .. })), "{alone:?}");
        assert_eq!(store.entries.put_all(&value, &[(b"f", b"1"), (b"g", b"2")]).unwrap(), 2);
        Ok::<(), endura::Error>(())
    })
    .unwrap();
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
