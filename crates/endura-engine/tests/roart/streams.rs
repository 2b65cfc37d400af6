//! Values that are written piece by piece to where they will lie: no second copy, nothing left of one
//! that was given up.

use std::io::{Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use endura_engine::tree::roart::Full;
use endura_engine::tree::{LONGEST_KEY, LONGEST_VALUE};
use endura_engine::{Error, Result};

use endura_engine::space::{LeakRecoverer, PAGE};
use endura_variants::media::Stop;

use crate::byte_races::at_every;
use crate::stage::stopped;
use crate::world::{MapOf, World};

/// Byte `i` of the value that is written.
fn byte(i: usize) -> u8 {
    (i.wrapping_mul(0x9E37_79B9) >> 13) as u8
}

/// Appends bytes `0..len` in pieces of `piece`.
fn pour(out: &mut dyn Write, len: usize, piece: usize) -> Result<()> {
    let mut buffer = vec![0; piece];
    for from in (0..len).step_by(piece) {
        let now = piece.min(len - from);
        buffer[..now].iter_mut().enumerate().for_each(|(i, out)| *out = byte(from + i));
        out.write_all(&buffer[..now]).expect("there is room for the value");
    }
    Ok(())
}

fn is_whole(world: &World<Full>, key: &str, len: usize) -> bool {
    let read = |value: endura_engine::Bytes<'_>| {
        let (mut reader, mut at, mut buffer) = (value.reader(), 0, vec![0; 10_007]);
        loop {
            let now = reader.read(&mut buffer).unwrap();
            if now == 0 {
                return at == len && value.len() == len;
            }
            assert!(buffer[..now].iter().enumerate().all(|(i, b)| *b == byte(at + i)), "at {at}");
            at += now;
        }
    };
    world.map().get_with(key, read).unwrap() == Some(true)
}

#[test]
fn values_of_all_sizes_are_written_and_read_in_pieces() {
    let world = World::<Full>::of_pages(64);
    let sizes = [0, 1, 7, 8, 63, 4096, 32_768, 65_536, 1 << 20, (2 << 20) - 64, (2 << 20) + 1];
    for len in sizes.into_iter().chain([7 << 20]) {
        for piece in [1, 13, 4096, 1 << 16] {
            if len / piece > 1 << 17 {
                continue;
            }
            world.map().insert_from("key", len, |out| pour(out, len, piece)).unwrap();
            assert!(is_whole(&world, "key", len), "{len} in pieces of {piece}");
        }
    }
    assert_eq!(world.verify_tidy().entries, 1);
    world.map().remove("key").unwrap().unwrap();
    assert_eq!(world.verify_tidy().nodes, 1);
}

/// What is left out is zeros; what is too much is not taken, and the writer is told.
#[test]
fn a_value_has_the_length_that_was_announced() {
    let world = World::<Full>::new();
    world
        .map()
        .insert_from("short", 1_000, |out| {
            out.write_all(b"begun").unwrap();
            Ok(())
        })
        .unwrap();
    let value = world.map().get("short").unwrap().unwrap();
    assert!(value.len() == 1_000 && value.starts_with(b"begun"));
    assert!(value[5..].iter().all(|byte| *byte == 0));
    world
        .map()
        .insert_from("long", 4, |out| {
            assert_eq!(out.write(b"more").unwrap(), 4);
            assert_eq!(out.write(b"than four").unwrap(), 0);
            assert!(out.write_all(b"x").is_err());
            Ok(())
        })
        .unwrap();
    assert_eq!(world.map().get("long").unwrap().unwrap(), b"more");
}

/// A writer that gives up, by an error or a panic, leaves the old value and no chunk.
#[test]
fn a_writer_that_gives_up_leaves_nothing() {
    let world = World::<Full>::of_pages(32).with(["key"]);
    for len in [10, 5_000, 5 << 20] {
        let answer = world.map().insert_from("key", len, |out| {
            pour(out, len / 2, 4096)?;
            Err(Error::Dropped)
        });
        assert!(matches!(answer, Err(Error::Dropped)));
        let panics = || world.map().insert_from("key", len, |_| panic!("gives up"));
        assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
        assert_eq!(world.map().get("key").unwrap().unwrap(), b"key");
        assert_eq!(world.verify_tidy().entries, 1);
    }
}

/// A process that is killed in the middle leaves the old value; the chunk is found by the leak recovery.
#[test]
fn a_writer_that_is_killed_leaves_nothing_but_work_for_the_leak_recovery() {
    const LEN: usize = 3_000;
    let stops = at_every(Stop::at_store, |stop| {
        let world = World::<Full>::of_pages(24).with(["key", "other"]);
        let write =
            |map: &MapOf<Full>| map.insert_from("key", LEN, |out| pour(out, LEN, 100)).unwrap();
        stopped(&world, stop, write, || {
            let next = world.crashed();
            let value = next.map().get("key").unwrap().unwrap();
            assert!(value == b"key" || is_whole(&next, "key", LEN));
            let walks = vec![next.map().index().marking()];
            assert!(LeakRecoverer::new(next.space(), walks, 64).finish().unwrap());
            assert_eq!(next.verify_owners().1.leaked, 0);
            assert_eq!(next.keys(), [&b"key"[..], b"other"]);
        })
    });
    assert!(stops > 80, "{stops}");
}

/// What cannot be is refused before anything is written, and says what the limits are.
#[test]
fn limits_are_told() {
    let world = World::<Full>::of_pages(8).with(["key"]);
    let never = |_: &mut dyn Write| -> Result<()> { panic!("nothing to write to") };
    let long_key = vec![b'k'; LONGEST_KEY + 1];
    let told = world.map().insert_from(&long_key, 1, never).unwrap_err();
    assert!(matches!(told, Error::KeyTooLong { len: 65_537, max: 65_536 }), "{told}");
    let told = world.map().insert_from("key", LONGEST_VALUE + 1, never).unwrap_err();
    let max = 1 << 30;
    assert!(matches!(told, Error::ValueTooLong { max: m, len } if (m, len) == (max, max + 1)));
    // More than the pool has.
    let told = world.map().insert_from("key", 9 * PAGE as usize, never).unwrap_err();
    assert!(matches!(told, Error::Full { need, .. } if need >= 9 * PAGE), "{told}");
    let told = world.map().insert_from("key", LONGEST_VALUE, never).unwrap_err();
    assert!(matches!(told, Error::Full { .. }), "{told}");
    assert_eq!(world.map().get("key").unwrap().unwrap(), b"key");
    // All that there is: one run of all pages but the first, but for the line of its header.
    let most = (7 * PAGE - 64 - 24) as usize;
    world.map().insert_from("most", most, |out| pour(out, most, 65_536)).unwrap();
    assert!(is_whole(&world, "most", most));
    let told = world.map().insert("one more", vec![1; 2 * PAGE as usize]).unwrap_err();
    assert!(matches!(told, Error::Full { .. }), "{told}");
    world.map().remove("most").unwrap().unwrap();
    assert_eq!(world.verify_tidy().entries, 1);
}
