//! Long keys: the ends of a map that lie at the end of a way through many nodes are found at one go, whatever others
//! do elsewhere in it; and what others do on the way is not taken for damage.

use std::cell::RefCell;

use endura_engine::media::Heap;
use endura_engine::space::PAGE;
use endura_engine::tree::roart::Tree;
use endura_variants::handles::ByteMap;
use endura_variants::sessions;

use crate::support::watched::{Watched, interrupted};

/// Nodes on the way to each end, and more: the last hundred keys need none. As many as a walk notes.
const DEEP: usize = 5_000;

/// Keys of which each but the longest leaves a way of its own.
fn key(byte: u8, len: usize) -> Vec<u8> {
    let mut key = vec![byte; len];
    key.push(b'm');
    key
}

fn deep(bytes: &[u8]) -> ByteMap<Tree<Watched>> {
    let space = sessions::first(Watched::new(Heap::new(64 * PAGE), true)).unwrap();
    let map = ByteMap::over(Tree::<_>::open(&space, "m").unwrap());
    for len in 0..DEEP {
        bytes.iter().for_each(|&byte| _ = map.insert(key(byte, len), "v").unwrap());
    }
    map
}

#[test]
fn a_long_way_to_an_end_does_not_begin_anew_beside_a_writer() {
    let map = deep(b"az");
    // Below a node of their own, which lies on neither way.
    for n in 0..400_u16 {
        map.insert([b"k", &n.to_le_bytes()[..]].concat(), "").unwrap();
    }
    for ask in [ByteMap::first, ByteMap::last] {
        let (alone, loads) = interrupted(Vec::new(), || {}, || ask(&map).unwrap());
        assert!(loads > 2 * DEEP as u64, "{loads}");
        // An array grows, or is replaced by a smaller one, each few writes.
        let (rival, number) = (map.clone(), RefCell::new(0_u32));
        let write = move || {
            let n = number.replace_with(|n| *n + 1);
            let key = [b"k\x07", &(n % 64).to_be_bytes()[..]].concat();
            match n / 64 % 2 {
                0 => rival.insert(key, "").map(drop).unwrap(),
                _ => rival.remove(key).map(drop).unwrap(),
            }
        };
        let times = (0..20 * loads).step_by(50).collect();
        let (found, beside) = interrupted(times, write, || ask(&map).unwrap());
        assert_eq!(found, alone);
        assert!(beside < 2 * loads, "{beside} loads beside a writer, {loads} alone");
    }
}

/// Nodes give way, and others are put between, while searches and scans are among them.
#[test]
fn nodes_that_come_and_go_on_a_long_way_are_no_damage() {
    let map = deep(b"a");
    let (rival, random) = (map.clone(), RefCell::new(1_u64));
    let write = move || {
        let n =
            random.replace_with(|n| n.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1)) >> 33;
        // The longest stays, and is the first.
        let key = key(b'a', n as usize / 2 % (DEEP - 1));
        match n % 2 {
            0 => rival.insert(key, "v").map(drop).unwrap(),
            _ => rival.remove(key).map(drop).unwrap(),
        }
    };
    let (longest, often) = (key(b'a', DEEP - 1), (0..2_000_000).step_by(1_000).collect());
    let (_, loads) = interrupted(often, write, || {
        for _ in 0..4 {
            assert_eq!(map.first().unwrap().unwrap().0, longest);
            let mut keys = map.iter().map(|entry| entry.unwrap().0);
            assert_eq!(keys.next().unwrap(), longest);
            assert!(keys.is_sorted());
            assert!(map.get(&longest).unwrap().is_some());
        }
    });
    assert!(loads > 2_000_000, "{loads}");
    let keys = map.iter().filter(Result::is_ok).count();
    assert!((DEEP / 4..DEEP).contains(&keys), "{keys}");
}
