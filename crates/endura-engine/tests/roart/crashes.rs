//! A process that is killed before each of its stores: the map is what it was before the operation
//! or after it, and can be used.

use endura_variants::roart::{Tiny, WithoutArrays};

use crate::byte_crashes::{crash_after, crash_everywhere};
use crate::world::{MapOf, World};

#[test]
fn killed_before_every_store() {
    let insert =
        |key: &'static [u8]| move |map: &MapOf<Tiny>| _ = map.insert(key, "value").unwrap();
    let remove = |key: &'static [u8]| move |map: &MapOf<Tiny>| _ = map.remove(key).unwrap();
    crash_everywhere::<Tiny>(&[], insert(b"alone"));
    crash_everywhere::<Tiny>(&[b"pair-1"], insert(b"pair-2"));
    crash_everywhere::<Tiny>(&[b"a1", b"a2", b"a3", b"a4"], insert(b"a5"));
    crash_everywhere::<Tiny>(&[b"n1", b"n2", b"n3", b"n4", b"n5"], insert(b"n"));
    crash_everywhere::<Tiny>(&[b"n1", b"n2", b"n3", b"n4", b"n"], insert(b"n5"));
    crash_everywhere::<Tiny>(&[b"ab1", b"ab2", b"ab3", b"ab4", b"ab5"], insert(b"aa"));
    crash_everywhere::<Tiny>(&[b"a1", b"a2"], |map| _ = map.update("a1", "new").unwrap());
    crash_everywhere::<Tiny>(&[b"a1"], remove(b"a1"));
    crash_everywhere::<Tiny>(&[b"a1", b"a2"], remove(b"a1"));
    // The last of an array whose parent then has one child left.
    let keys: [&[u8]; 5] = [b"a1x", b"a2", b"a3", b"a4", b"a1y"];
    crash_after::<Tiny>(&keys, &[b"a3", b"a4"], remove(b"a2"));
    crash_after::<Tiny>(&keys, &[b"a3", b"a4", b"a1x"], remove(b"a1y"));
    crash_everywhere::<WithoutArrays>(&[b"aab", b"aac"], |map| _ = map.remove("aab").unwrap());
}

/// R5: a long prefix is split where the node does not remember it; scans end after every crash.
#[test]
fn r5_killed_in_prefix_splits() {
    let keys: Vec<Vec<u8>> = (0..5).map(|n| format!("0123456789abcdef{n}").into_bytes()).collect();
    let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    for fork in ["0", "0123x", "0123456789x", "0123456789abcdex", "x"] {
        crash_everywhere::<Tiny>(&keys, |map| _ = map.insert(fork, "").unwrap());
    }
}

/// R9: nodes that are nearly full, with holes, reopened many times before they are written to.
#[test]
fn r9_nodes_are_written_to_after_restarts() {
    for (count, hole) in [(4, 1), (16, 3), (48, 17), (256, 99)] {
        let key = |n: usize| vec![b'n', n as u8];
        let mut world = World::<Tiny>::new().with((0..count).map(key));
        assert!(world.map().remove(key(hole)).unwrap().is_some());
        for round in 0..4 {
            world = world.killed();
            if round == 0 {
                continue;
            }
            // Not a read of this subtree before the write.
            assert_eq!(world.map().insert(key(hole), "back").unwrap(), None);
            assert_eq!(world.entries().len(), count);
            if count < 256 {
                assert_eq!(world.map().insert(key(count), "one more").unwrap(), None);
            }
            for n in (0..count).filter(|&n| n != hole) {
                assert_eq!(world.map().get(key(n)).unwrap(), Some(key(n)));
            }
            world.verify_owners();
            world = world.killed();
            assert!(world.map().remove(key(hole)).unwrap().is_some());
            if count < 256 {
                world.map().remove(key(count)).unwrap();
            }
        }
    }
}

/// A count after a crash, while others write, comes to the exact number.
#[test]
fn entries_are_counted_after_a_crash() {
    let key = |n: u32| n.wrapping_mul(0x9E37_79B1).to_be_bytes();
    for threads in 0..3_u32 {
        let world = World::<Tiny>::new().with((0..20_000).map(key)).killed();
        assert!(
            matches!(world.map().len().unwrap(), endura_engine::tree::Len::AtLeast(n) if n <= 20_000)
        );
        std::thread::scope(|scope| {
            for thread in 0..threads {
                let map = world.map();
                scope.spawn(move || {
                    for n in (0..3_000).map(|n| thread * 10_000 + n) {
                        map.remove(key(n)).unwrap().unwrap();
                        assert!(map.insert_new(key(100_000 + n), "").unwrap());
                        assert!(map.insert_new(key(200_000 + n), "").unwrap());
                    }
                });
            }
        });
        let expected = 20_000 + u64::from(threads) * 3_000;
        while let endura_engine::tree::Len::AtLeast(n) = world.map().len().unwrap() {
            assert!(n <= expected);
            std::thread::yield_now();
        }
        assert_eq!(world.map().len().unwrap(), endura_engine::tree::Len::Exact(expected));
        assert_eq!(world.verify_owners().0.entries, expected);
    }
}
