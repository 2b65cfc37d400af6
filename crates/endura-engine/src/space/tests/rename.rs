//! Maps that are renamed.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::*;
use crate::Error;
use crate::space::layout::{DIRECTORY, ENTRY, NEW_NAME};

const WRITES: Session = Session { generation: 2, clean: false, read_only: false };
const READS: Session = Session { read_only: true, ..WRITES };

const LIVE: u64 = 1;
const RENAMED: u64 = 12;

fn names(space: &Space<Heap>) -> Vec<String> {
    space.maps().unwrap().iter().map(|map| map.name().to_string()).collect()
}

fn made(names: &[&str]) -> Space<Heap> {
    let space = pool(4);
    for (name, kind) in names.iter().zip(1..) {
        space.open_map(name, kind, 5, |_, _| Ok(7)).unwrap();
    }
    space
}

fn word(medium: &Heap, at: u64) -> u64 {
    Region::new(medium, at, 1).unwrap().load(0, Ordering::Relaxed)
}

fn put(medium: &Heap, at: u64, value: u64) {
    Region::new(medium, at, 1).unwrap().store(0, value, Ordering::Relaxed);
}

/// Writes a name into the place of new names, or into an entry.
fn put_name(medium: &Heap, at: u64, name: &[u8]) {
    put(medium, at + 8, (name.len() as u64) << 56);
    for (i, chunk) in name.chunks(8).enumerate() {
        let mut bytes = [0; 8];
        bytes[..chunk.len()].copy_from_slice(chunk);
        put(medium, at + 64 + 8 * i as u64, u64::from_le_bytes(bytes));
    }
}

#[test]
fn a_renamed_map_is_the_same_map() {
    let space = made(&["first", "second"]);
    let map = space.find_map("first").unwrap().unwrap();
    map.add(3);
    let longest = "\u{e4}".repeat(127) + "x";
    for name in [&longest, "x", "\u{e4}/\n"] {
        let before = map.name();
        space.rename_map(&before, name).unwrap();
        assert_eq!(&*map.name(), name);
        assert!(space.find_map(&before).unwrap().is_none());
        assert!(Arc::ptr_eq(&map, &space.find_map(name).unwrap().unwrap()));
        assert!(!map.is_dropped() && map.sum() == 3);
        for session in [WRITES, READS] {
            let next = Space::mount(copy(space.media()), session).unwrap();
            let mut expected = [name, "second"];
            expected.sort_unstable();
            assert_eq!(names(&next), expected);
            let found = next.find_map(name).unwrap().unwrap();
            assert_eq!((found.kind(), found.parameters(), found.entry()), (1, 5, map.entry()));
            assert_eq!(word(next.media(), found.root()), 7);
        }
    }
    // The old name can be used again, and the map can be dropped by the new one.
    assert_eq!(space.open_map("first", 9, 0, |_, _| Ok(7)).unwrap().kind(), 9);
    assert!(space.drop_map("\u{e4}/\n", |_| Ok(Box::new(|_, _, _, _| Ok(true)))).unwrap());
    assert!(map.is_dropped());
    assert_eq!(names(&space), ["first", "second"]);
}

#[test]
fn what_cannot_be_renamed_stays_as_it_is() {
    let space = made(&["first", "second"]);
    let before = copy(space.media());
    let told = |from: &str, to: &str| space.rename_map(from, to).unwrap_err();
    assert!(matches!(told("first", "second"), Error::MapExists { name } if name == "second"));
    assert!(matches!(told("first", "first"), Error::MapExists { name } if name == "first"));
    assert!(matches!(told("third", "fourth"), Error::NoSuchMap { name } if name == "third"));
    assert!(matches!(told("", "fourth"), Error::NoSuchMap { .. }));
    for name in ["", "a\0b", &"x".repeat(256)] {
        assert!(matches!(told("first", name), Error::BadName));
    }
    assert_eq!(names(&space), ["first", "second"]);
    assert!((0..PAGE).step_by(8).all(|at| word(space.media(), at) == word(&before, at)));
    let reader = Space::mount(copy(space.media()), READS).unwrap();
    assert!(matches!(reader.rename_map("first", "third"), Err(Error::ReadOnly)));
}

/// Whatever part of the name has reached the entry, the name in the place of new names counts. The next open for
/// writing completes the rename.
#[test]
fn an_open_completes_what_was_begun() {
    let space = made(&["first", "second"]);
    let at = space.find_map("first").unwrap().unwrap().entry();
    put_name(space.media(), NEW_NAME, b"a name beyond one word");
    put(space.media(), NEW_NAME + 16, at);
    put(space.media(), at, RENAMED);
    for half in [&b"first"[..], b"a name bt", b"", b"\xFF\xFF"] {
        for (i, byte) in (0..32).zip(half.iter().chain([&0; 32])) {
            let word_at = at + 64 + i / 8 * 8;
            let bits = i % 8 * 8;
            let kept = word(space.media(), word_at) & !(0xFF << bits);
            put(space.media(), word_at, kept | u64::from(*byte) << bits);
        }
        let reader = Space::mount(copy(space.media()), READS).unwrap();
        assert_eq!(names(&reader), ["a name beyond one word", "second"]);
        assert_eq!(word(reader.media(), at), RENAMED, "a reader writes nothing");
        let writer = Space::mount(copy(space.media()), WRITES).unwrap();
        assert_eq!(names(&writer), names(&reader));
        assert_eq!(word(writer.media(), at), LIVE);
        // The place can be used for the next rename.
        writer.rename_map("second", "third").unwrap();
        let next = Space::mount(copy(writer.media()), WRITES).unwrap();
        assert_eq!(names(&next), ["a name beyond one word", "third"]);
        assert_eq!(next.find_map("a name beyond one word").unwrap().unwrap().kind(), 1);
    }
}

#[test]
fn damaged_new_names_are_reported() {
    for (name, what) in [
        (&b""[..], "none"),
        (b"a\xFF", "not UTF-8"),
        (b"a\0b", "NUL"),
        (b"second", "the name of another map"),
    ] {
        let space = made(&["first", "second"]);
        put_name(space.media(), NEW_NAME, name);
        put(space.media(), NEW_NAME + 16, DIRECTORY);
        put(space.media(), DIRECTORY, RENAMED);
        for session in [WRITES, READS] {
            let mounted = Space::mount(copy(space.media()), session);
            assert!(matches!(mounted.err(), Some(Error::Corrupt { .. })), "{what}");
        }
    }
    let space = made(&["first", "second"]);
    put_name(space.media(), NEW_NAME, b"third");
    put(space.media(), NEW_NAME + 16, DIRECTORY);
    [DIRECTORY, DIRECTORY + ENTRY].iter().for_each(|&at| put(space.media(), at, RENAMED));
    let mounted = Space::mount(copy(space.media()), WRITES);
    assert!(matches!(mounted.err(), Some(Error::Corrupt { .. })), "two at once");
    // What an earlier rename has left there belongs to no other map.
    let space = made(&["first", "second"]);
    space.rename_map("first", "third").unwrap();
    assert!(space.drop_map("third", |_| Ok(Box::new(|_, _, _, _| Ok(true)))).unwrap());
    put(space.media(), DIRECTORY + ENTRY, RENAMED);
    let mounted = Space::mount(copy(space.media()), WRITES);
    assert!(matches!(mounted.err(), Some(Error::Corrupt { .. })), "another map's");
}

/// A thread that lists the maps during a rename finds the map once. Entries that it counts are not lost.
#[test]
fn a_map_that_is_being_renamed_has_one_name() {
    let (space, done) = (made(&["a"]), AtomicBool::new(false));
    let map = space.find_map("a").unwrap().unwrap();
    std::thread::scope(|s| {
        s.spawn(|| {
            for _ in 0..2_000 {
                space.rename_map("a", "b").unwrap();
                space.rename_map("b", "a").unwrap();
            }
            done.store(true, Ordering::Relaxed);
        });
        let mut seen = 0;
        while !done.load(Ordering::Relaxed) {
            let maps = space.maps().unwrap();
            assert!(maps.len() == 1 && ["a", "b"].contains(&&*maps[0].name()));
            assert!(Arc::ptr_eq(&maps[0], &map));
            map.add(1);
            seen += 1;
        }
        assert_eq!(map.sum(), seen);
    });
}
