//! Keys and values at the edges of what is allowed, and where the original loses them. The numbers
//! are those of the list of scenarios in `docs/trees.md`.

use endura_engine::media::{Heap, Media};
use endura_engine::space::PAGE;
use endura_engine::tree::roart::{Full, Techniques, Tree};
use endura_engine::tree::{LONGEST_KEY, LONGEST_VALUE};
use endura_engine::{Error, Result};
use endura_variants::handles::ByteMap;
use endura_variants::media::Counting;
use endura_variants::roart::{Tiny, WithoutArrays};
use endura_variants::sessions;

use crate::world::World;

/// Enters all keys, finds them and nothing else, and takes them out in the order given.
fn come_and_go<T: Techniques>(keys: &[Vec<u8>], absent: &[Vec<u8>], order: &[usize]) {
    let world = World::<T>::new().with(keys);
    let mut sorted = keys.to_vec();
    sorted.sort();
    assert_eq!(world.keys(), sorted);
    for key in absent {
        assert_eq!(world.map().get(key).unwrap(), None, "{}", key.escape_ascii());
        assert_eq!(world.map().remove(key).unwrap(), None);
    }
    world.verify_tidy();
    for (gone, &next) in order.iter().enumerate() {
        assert_eq!(world.map().remove(&keys[next]).unwrap().as_ref(), Some(&keys[next]));
        for &left in &order[gone + 1..] {
            assert!(world.map().contains_key(&keys[left]).unwrap());
        }
    }
    let check = world.verify_tidy();
    assert_eq!((check.nodes, check.arrays), (1, 0), "only the root remains");
}

fn come_and_go_everywhere(keys: &[Vec<u8>], absent: &[Vec<u8>]) {
    let up: Vec<usize> = (0..keys.len()).collect();
    let down: Vec<usize> = up.iter().rev().copied().collect();
    let prime = if keys.len().is_multiple_of(7) { 11 } else { 7 };
    let mixed: Vec<usize> = up.iter().map(|i| i * prime % keys.len()).collect();
    for order in [up, down, mixed] {
        come_and_go::<Full>(keys, absent, &order);
        come_and_go::<Tiny>(keys, absent, &order);
        come_and_go::<WithoutArrays>(keys, absent, &order);
    }
}

/// R1: keys that are prefixes of each other, zeros and 0xFF.
#[test]
fn r1_keys_that_are_prefixes_of_each_other() {
    let mut keys: Vec<Vec<u8>> =
        ["", "\0", "\0\0", "a", "ab", "a\0", "a\0b", "123", "1231", "123000", "123001", "123456"]
            .map(|key| key.as_bytes().to_vec())
            .into();
    keys.push(vec![0xFF; 300]);
    keys.push(vec![0xFF; 299]);
    let absent = ["\0\0\0", "b", "abc", "1", "12", "12300", "a\0b\0"];
    let mut absent: Vec<Vec<u8>> = absent.map(|key| key.as_bytes().to_vec()).into();
    absent.push(vec![0xFF; 301]);
    absent.push(vec![0xFF]);
    come_and_go_everywhere(&keys, &absent);
}

/// R1: in a full array, when one key more makes it a node: keys that end there.
#[test]
fn r1_a_full_array_with_keys_that_end_where_it_splits() {
    let mut keys: Vec<Vec<u8>> = (0..127).map(|i| format!("123{i:03}").into_bytes()).collect();
    keys.push(b"123".to_vec());
    keys.push(b"1231".to_vec());
    let world = World::<Full>::new().with(&keys);
    assert!(world.verify_tidy().nodes > 1, "it has split");
    keys.sort();
    assert_eq!(world.keys(), keys);
    assert_eq!(world.map().get("12").unwrap(), None);
    come_and_go_everywhere(&keys, &[b"12".to_vec(), b"1230001".to_vec()]);
}

/// R1: all strings of two bytes: nodes of every size, down to nothing again.
#[test]
fn r1_all_strings_of_two_bytes() {
    let keys: Vec<[u8; 2]> = (0..=u16::MAX).map(|n| n.wrapping_mul(40_503).to_be_bytes()).collect();
    let world = World::<Full>::new().with(&keys);
    let check = world.verify_tidy();
    assert_eq!((check.entries, check.nodes), (65_536, 257));
    let sorted: Vec<Vec<u8>> = (0..=u16::MAX).map(|n| n.to_be_bytes().to_vec()).collect();
    assert_eq!(world.keys(), sorted);
    assert!((0..=255).all(|byte| world.map().get([byte]).unwrap().is_none()));
    keys.iter().for_each(|key| assert!(world.map().remove(key).unwrap().is_some()));
    assert_eq!(world.verify_tidy().nodes, 1);
}

/// R2: the original computes fingerprints of signed bytes in one place and unsigned in another.
#[test]
fn r2_bytes_from_0x80_on_in_each_position() {
    let mut keys = Vec::new();
    for length in 1..12 {
        for at in 0..length {
            let mut key = vec![1; length];
            key[at] = 0x80 + (at + length) as u8;
            keys.push(key);
        }
    }
    come_and_go_everywhere(&keys, &[vec![0x80], vec![1; 5]]);
}

/// R2: fingerprints only save looks.
#[test]
fn r2_keys_of_one_fingerprint() {
    let fingerprint = |key: &[u8]| {
        let sum = crc32c::crc32c(key);
        (sum ^ sum >> 16) as u16
    };
    let keys = (0_u64..).map(|n| [b"key-".as_slice(), &n.to_be_bytes()].concat());
    let mut alike = keys.filter(|key| fingerprint(key) == 0x1234);
    let keys: Vec<Vec<u8>> = alike.by_ref().take(100).collect();
    let absent: Vec<Vec<u8>> = alike.take(20).collect();
    let down: Vec<usize> = (0..keys.len()).rev().collect();
    come_and_go::<Full>(&keys, &absent, &down);
    come_and_go::<Tiny>(&keys, &absent, &down);
}

/// R3: the longest keys, which differ in the last byte, or only in length.
#[test]
fn r3_keys_of_64_kib() {
    let mut keys: Vec<Vec<u8>> = Vec::new();
    for last in 0..65 {
        let mut key = vec![7; LONGEST_KEY];
        key[LONGEST_KEY - 1] = last * 3;
        keys.push(key);
    }
    keys.extend((1..65).map(|less| vec![7; LONGEST_KEY - less]));
    let up: Vec<usize> = (0..keys.len()).collect();
    come_and_go::<Full>(&keys, &[vec![7; 100], vec![8; LONGEST_KEY]], &up);
    come_and_go::<Tiny>(&keys, &[vec![7; 100], vec![8; LONGEST_KEY]], &up);
}

/// R3: values of every length at which records take another kind of space.
#[test]
fn r3_values_of_all_lengths() {
    let lengths =
        [0, 1, 15, 16, 17, 64, 4097, 32_752, 65_536, 1_048_400, 1_048_600, 2_097_100, 8 << 20];
    let value = |n: usize| -> Vec<u8> { (0..n).map(|i| (i * 7 + i / 251 + n) as u8).collect() };
    let world = World::<Full>::new();
    for n in lengths {
        let (key, bytes) = (n.to_string(), value(n));
        assert_eq!(world.map().insert(&key, &bytes).unwrap(), None);
        let write = |out: &mut dyn std::io::Write| {
            bytes.chunks(1000).try_for_each(|piece| out.write_all(piece)).unwrap();
            Ok(())
        };
        world.map().insert_from(format!("{key}!"), n, write).unwrap();
    }
    world.verify_tidy();
    let world = world.closed();
    for n in lengths {
        assert_eq!(world.map().get(n.to_string()).unwrap(), Some(value(n)));
        assert_eq!(world.map().remove(format!("{n}!")).unwrap(), Some(value(n)));
        assert_eq!(world.map().update(n.to_string(), "x").unwrap(), Some(value(n)));
    }
    world.map().clear().unwrap();
    world.verify_tidy();
}

/// R3: what is too long is refused, and nothing else.
#[test]
fn r3_longer_ones_are_refused() {
    let world = World::<Full>::new();
    let long = vec![0; LONGEST_KEY + 1];
    let refused = world.map().insert(&long, "").unwrap_err();
    assert!(matches!(refused, Error::KeyTooLong { len: 65_537, max: 65_536 }), "{refused}");
    let refused = world.map().insert_from("k", LONGEST_VALUE + 1, |_| unreachable!()).unwrap_err();
    assert!(matches!(refused, Error::ValueTooLong { len: 1_073_741_825, .. }), "{refused}");
    assert_eq!(world.map().get(&long).unwrap(), None);
    assert!(matches!(world.map().remove(&long), Err(Error::KeyTooLong { .. })));
    assert!(world.map().range(long.clone()..).next().is_none());
    assert_eq!(world.map().range(..=long).count(), 0);
    // A value of which half is written has zeros behind that; one that fails leaves nothing.
    world
        .map()
        .insert_from("half", 9, |out| {
            out.write_all(b"abc").unwrap();
            Ok(())
        })
        .unwrap();
    assert_eq!(world.map().get("half").unwrap().unwrap(), b"abc\0\0\0\0\0\0");
    let failed = world.map().insert_from("failed", 9, |_| Err(Error::ReadOnly));
    assert!(matches!(failed, Err(Error::ReadOnly)));
    assert_eq!(world.verify_tidy().entries, 1);
}

/// R4: as deep as a tree can be, on a small stack: nothing recurs.
#[test]
fn r4_the_deepest_trees_need_no_stack() {
    let run = || {
        let mut keys: Vec<Vec<u8>> = (0..300).map(|length| vec![b'p'; length]).collect();
        keys.extend((0..200).map(|i| vec![b'p'; LONGEST_KEY - 2 * i]));
        let world = World::<Tiny>::new().with(&keys);
        keys.sort();
        assert_eq!(world.keys(), keys);
        assert!(world.verify_tidy().height >= 100);
        let mut fork = vec![b'p'; LONGEST_KEY];
        fork[LONGEST_KEY - 1] = b'q';
        assert_eq!(world.map().insert(&fork, "").unwrap(), None);
        assert_eq!(world.map().last().unwrap().unwrap().0, fork);
        world.map().clear().unwrap();
        assert_eq!(world.verify_tidy().nodes, 1);
    };
    std::thread::Builder::new().stack_size(64 << 10).spawn(run).unwrap().join().unwrap();
}

/// R5: prefixes of 1 to 20 bytes, of which a node remembers 8, left at every position.
#[test]
fn r5_a_prefix_is_left_at_every_position() {
    for length in 1..=20 {
        for at in 0..length {
            let stem: Vec<u8> = (0..length as u8).map(|i| b'a' + i).collect();
            let mut keys: Vec<Vec<u8>> =
                (0..6).map(|i| [&stem[..], &[b'0' + i]].concat()).collect();
            let mut fork = stem.clone();
            fork[at] = b'Z';
            keys.push(fork.clone());
            keys.push([&fork[..], b"and more"].concat());
            keys.push(stem[..at].to_vec());
            let absent = [[&stem[..], b"x"].concat(), [&fork[..], b"x"].concat()];
            let up: Vec<usize> = (0..keys.len()).collect();
            let down: Vec<usize> = up.iter().rev().copied().collect();
            come_and_go::<Tiny>(&keys, &absent, &up);
            come_and_go::<Tiny>(&keys, &absent, &down);
        }
    }
}

/// R16: compare and exchange of byte strings.
#[test]
fn r16_values_are_compared_whole() {
    let world = World::<Full>::new().with([b"k"]);
    let map = world.map();
    for (expected, new, found) in [
        (Some(&b"k"[..]), Some(&b"value"[..]), None),
        (Some(b"valu"), Some(b"x"), Some(&b"value"[..])),
        (Some(b"value2"), Some(b"x"), Some(b"value")),
        (Some(b"valuE"), None, Some(b"value")),
        (None, Some(b"x"), Some(b"value")),
        (Some(b"value"), Some(b""), None),
        (None, None, Some(b"")),
        (Some(b""), None, None),
        (Some(b""), Some(b"x"), Some(b"absent")),
        (None, Some(b"again"), None),
    ] {
        let answer = map.compare_exchange("k", expected, new).unwrap();
        let wanted = match found {
            None => Ok(()),
            Some(b"absent") => Err(None),
            Some(found) => Err(Some(found.to_vec())),
        };
        assert_eq!(answer, wanted, "{expected:?}");
    }
    assert_eq!(map.get("k").unwrap().unwrap(), b"again");
}

/// Values of all lengths up to 32, seen where they lie, behind keys of all lengths up to 8: they begin anywhere in
/// a word.
fn first_bytes_of_values<M: Media>(medium: M) -> Result<()> {
    let space = sessions::first(medium)?;
    let map = ByteMap::over(Tree::<_>::open(&space, "map")?);
    let all: [u8; 32] = std::array::from_fn(|at| at as u8 + 1);
    for key in (0..=8).map(|len| &b"12345678"[..len]) {
        for want in (0..=32).map(|len| &all[..len]) {
            map.insert(key, want)?;
            let seen = map.get_with(key, |bytes| {
                assert_eq!(bytes.first_chunk::<0>(), Some([]));
                assert_eq!(bytes.first_chunk::<1>(), want.first_chunk().copied());
                assert_eq!(bytes.first_chunk::<8>(), want.first_chunk().copied());
                assert_eq!(bytes.first_chunk::<13>(), want.first_chunk().copied());
                assert_eq!(bytes.to_array::<16>(), want.try_into().ok());
                bytes.to_vec()
            });
            assert_eq!(seen?.as_deref(), Some(want));
        }
    }
    Ok(())
}

#[test]
fn the_first_bytes_are_those_of_a_slice_wherever_they_lie() -> Result<()> {
    first_bytes_of_values(Heap::new(64 * PAGE))?;
    // It does not show where its words lie.
    first_bytes_of_values(Counting::new(Heap::new(64 * PAGE)))
}
