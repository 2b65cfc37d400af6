//! R17: how many lines are flushed and how many fences wait, on a medium that wants both.

use std::sync::Arc;

use endura_engine::media::Heap;
use endura_engine::space::PAGE;
use endura_engine::tree::TreeCheck;
use endura_engine::tree::roart::{Full, Techniques, Tree};
use endura_variants::handles::ByteMap;
use endura_variants::media::{Counting, Counts};
use endura_variants::roart::Tiny;
use endura_variants::sessions;

type Medium = Arc<Counting<Heap>>;

pub(crate) struct Counted<T: Techniques> {
    medium: Medium,
    map: ByteMap<Tree<Medium, T>>,
}

impl<T: Techniques> Counted<T> {
    pub(crate) fn new() -> Self {
        let medium = Arc::new(Counting::new(Heap::adr(256 * PAGE)));
        let space = sessions::first(Arc::clone(&medium)).unwrap();
        // A page for every size of chunk that is used below: taking one costs flushes of its own.
        let guard = space.pin_mut().unwrap();
        // All of them before one is given back: a page with nothing in it goes to the next size.
        let sizes = [32, 64, 128, 192, 256, 448, 704, 1024, 1344, 2112];
        let chunks = sizes.map(|bytes| (guard.alloc(bytes).unwrap(), bytes));
        chunks.into_iter().for_each(|(at, bytes)| guard.discard(at, bytes));
        drop(guard);
        Self { medium, map: ByteMap::over(Tree::open(&space, "map").unwrap()) }
    }

    /// Line flushes and fences of one operation.
    pub(crate) fn cost(&self, operation: impl FnOnce(&ByteMap<Tree<Medium, T>>)) -> (u64, u64) {
        let before = self.medium.counts();
        operation(&self.map);
        let Counts { line_flushes, fences, .. } = self.medium.counts().since(before);
        (line_flushes, fences)
    }

    pub(crate) fn check(&self) -> TreeCheck {
        self.map.index().check(&mut |_, _| ()).unwrap()
    }

    pub(crate) fn insert(&self, key: impl AsRef<[u8]>) -> (u64, u64) {
        self.cost(|map| assert!(map.insert(key, "value").unwrap().is_none()))
    }
}

/// Into an array of any size with room: the record's line and the slot's.
#[test]
fn r17_an_insert_into_an_array_flushes_two_lines() {
    let counted = Counted::<Full>::new();
    let mut cheap = 0;
    for n in 0..128 {
        cheap += u64::from(counted.insert(format!("k{n:03}")) == (2, 2));
    }
    // All but the first pair, and the moves to arrays of 8, 16, 24, 40, 64, 96 and 128.
    assert_eq!(cheap, 128 - 8);
}

/// Into a node of any size with room.
#[test]
fn r17_an_insert_into_a_node_flushes_two_lines() {
    let counted = Counted::<Tiny>::new();
    let mut cheap = 0;
    for n in 0..=255_u8 {
        cheap += u64::from(counted.insert([b'n', n]) == (2, 2));
    }
    // All but the pair, the split at the fifth key, two moves to larger nodes, and the first chunk of one part of a span
    // after the first, which had been used before.
    assert_eq!(cheap, 256 - 5);
}

#[test]
fn r17_updates_removes_and_splits() {
    let counted = Counted::<Full>::new();
    assert_eq!(counted.insert("single"), (2, 2));
    let (flushes, fences) = counted.insert("sibling");
    assert!(flushes <= 4 && fences == 2, "a single record becomes an array: {flushes} + {fences}");
    let update = counted.cost(|map| assert!(map.update("single", "other").unwrap().is_some()));
    assert_eq!(update, (2, 2));
    let remove = counted.cost(|map| assert!(map.remove("single").unwrap().is_some()));
    assert_eq!(remove, (1, 1));
    let absent = counted.cost(|map| assert!(map.remove("single").unwrap().is_none()));
    let kept = counted.cost(|map| assert!(!map.insert_new("sibling", "").unwrap()));
    let read = counted.cost(|map| assert!(map.get("sibling").unwrap().is_some()));
    assert_eq!([absent, kept, read], [(0, 0); 3]);
}

#[test]
fn r17_a_prefix_split_flushes_three_lines() {
    let counted = Counted::<Tiny>::new();
    (0..6_u8).for_each(|n| _ = counted.insert([b"prefix".as_slice(), &[n]].concat()));
    assert_eq!(counted.insert("preface"), (3, 2));
    assert_eq!(counted.insert("pre"), (3, 2));
}

/// Random keys and values of 8 bytes, allocation and splits included.
fn random_load(entries: u64) {
    let counted = Counted::<Full>::new();
    let (flushes, fences) = counted.cost(|map| {
        for n in 0..entries {
            let key = n.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes();
            map.insert(key, n.to_le_bytes()).unwrap();
        }
    });
    let [flushes, fences] = [flushes, fences].map(|n| n as f64 / entries as f64);
    println!("{entries} entries: {flushes:.3} line flushes + {fences:.3} fences each");
    assert!(flushes <= 2.8 && fences <= 2.2, "{flushes} + {fences}");
}

#[test]
fn r17_a_random_load_on_average() {
    random_load(300_000);
}

#[test]
#[ignore = "a million: cargo test --release -p endura-engine --test roart -- --ignored --nocapture r17"]
fn r17_a_random_load_of_a_million_on_average() {
    random_load(1_000_000);
}
