//! Techniques that are switched off: every choice is a map, leaves pools that the others read, and costs
//! what the technique saves.

use endura_engine::tree::roart::{Full, Techniques};
use endura_variants::roart::{
    FullyOrdered, NonTemporal, Tiny, WithoutArrays, WithoutCompression, WithoutSelection,
};

use crate::byte_crashes::crash_everywhere;
use crate::byte_model::run;
use crate::counts::Counted;
use crate::world::World;

/// Arrays of four, so that nodes are reached soon, and none of what can be switched off.
enum Bare {}

impl Techniques for Bare {
    const LARGEST_ARRAY: usize = 4;
    const COMPRESSED_ENTRIES: bool = false;
    const SELECTIVE_PERSISTENCE: bool = false;
    const MINIMALLY_ORDERED: bool = false;
}

enum Streamed {}

impl Techniques for Streamed {
    const LARGEST_ARRAY: usize = 4;
    const NON_TEMPORAL_COMMIT: bool = true;
}

/// A plain radix tree without entry compression.
enum Apart {}

impl Techniques for Apart {
    const LARGEST_ARRAY: usize = WithoutArrays::LARGEST_ARRAY;
    const COMPRESSED_ENTRIES: bool = WithoutCompression::COMPRESSED_ENTRIES;
}

#[test]
fn every_choice_is_a_map() {
    run::<Bare>(20, 1_000, World::adr);
    run::<Streamed>(20, 1_000, World::adr);
}

#[test]
fn every_choice_survives_a_kill_before_each_store() {
    crash_everywhere::<Bare>(&[b"n1", b"n2", b"n3", b"n4", b"n5"], |map| {
        map.insert("n6", "value").map(drop).unwrap();
    });
    crash_everywhere::<Bare>(&[b"a1", b"a2", b"a3"], |map| _ = map.insert("a4", "value").unwrap());
    crash_everywhere::<Streamed>(&[b"a1", b"a2"], |map| _ = map.update("a1", "new").unwrap());
    crash_everywhere::<Streamed>(&[b"a1", b"a2", b"a3", b"a4"], |map| {
        map.insert("a5", "value").map(drop).unwrap();
    });
}

/// Entries of one choice are found, changed and taken out by another.
#[test]
fn any_choice_reads_what_any_other_wrote() {
    fn goes_on<A: Techniques, B: Techniques>() {
        let keys: Vec<Vec<u8>> =
            (0..600_u32).map(|n| format!("{}/{n}", n % 7).into_bytes()).collect();
        let world = World::<A>::adr().with(&keys).closed_as::<B>();
        for key in &keys {
            assert_eq!(world.map().get(key).unwrap().as_ref(), Some(key));
            world.map().update(key, "other").unwrap();
        }
        let world = world.closed_as::<A>();
        world.verify_tidy();
        for key in &keys {
            assert_eq!(world.map().remove(key).unwrap().unwrap(), b"other");
        }
        assert_eq!(world.verify_tidy().nodes, 1);
    }
    goes_on::<Full, Bare>();
    goes_on::<Bare, Streamed>();
}

/// What it takes to enter the last of `keys`.
fn last<T: Techniques>(keys: &[&str]) -> (u64, u64) {
    let counted = Counted::<T>::new();
    let (last, others) = keys.split_last().unwrap();
    others.iter().for_each(|key| _ = counted.insert(key));
    counted.insert(last)
}

/// Flushes and fences of single inserts: with everything, and without.
#[test]
fn a_technique_saves_what_it_is_said_to_save() {
    // Into a node with room.
    let node = ["n1", "n2", "n3", "n4", "n5", "n6"];
    assert_eq!(last::<Tiny>(&node), (2, 2));
    assert_eq!(last::<Streamed>(&node), (1, 2), "the commit is no flush");
    // The byte first; the count.
    assert_eq!(last::<Bare>(&node), (4, 3));
    // Into an array with room: all of one of four is in one line.
    let array = ["a1", "a2", "a3"];
    assert_eq!(last::<Tiny>(&array), (2, 2));
    assert_eq!(last::<Streamed>(&array), (1, 2));
    assert_eq!(last::<Bare>(&array), (3, 2), "the count");
    // A prefix is split: the node waits for the record.
    let prefix = ["ab1", "ab2", "ab3", "ab4", "ab5", "aa"];
    assert_eq!(last::<Tiny>(&prefix), (3, 2));
    assert_eq!(last::<Bare>(&prefix), (3, 3));
    // An array is split: the node waits for the record.
    let (flushes, fences) = last::<Tiny>(&["s1", "s2", "s3", "s4", "s5"]);
    assert_eq!(last::<Bare>(&["s1", "s2", "s3", "s4", "s5"]), (flushes, fences + 1));
}

/// Averages over a load, of one technique at a time.
#[test]
fn a_load_costs_more_without_each_technique() {
    /// Line flushes, fences, and the nodes that there are then.
    fn load<T: Techniques>() -> (u64, u64, u64) {
        let counted = Counted::<T>::new();
        let (flushes, fences) = counted.cost(|map| {
            for n in 0..20_000_u64 {
                let key = n.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes();
                map.insert(key, n.to_le_bytes()).unwrap();
            }
        });
        (flushes, fences, counted.check().nodes)
    }
    let (flushes, fences, nodes) = load::<Full>();
    let of_nodes = load::<WithoutArrays>();
    assert!(of_nodes.2 > 200 * nodes, "leaf compaction: {of_nodes:?} instead of {nodes} nodes");
    let bytes_apart = load::<Apart>();
    let is_more = bytes_apart.0 > of_nodes.0 && bytes_apart.1 > of_nodes.1;
    assert!(is_more, "entry compression: {bytes_apart:?}, not {of_nodes:?}");
    let all_metadata = load::<WithoutSelection>();
    assert!(all_metadata.0 >= flushes + 20_000 && all_metadata.1 == fences, "{all_metadata:?}");
    let ordered = load::<FullyOrdered>();
    assert!(ordered.0 == flushes && ordered.1 > fences, "minimal order: {ordered:?}");
    let streamed = load::<NonTemporal>();
    assert!(streamed.0 + 20_000 <= flushes && streamed.1 == fences, "{streamed:?}");
}
