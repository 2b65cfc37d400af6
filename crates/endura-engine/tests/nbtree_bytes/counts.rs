//! What an operation asks of persistent memory, counted.

use std::sync::Arc;

use endura_engine::media::Heap;
use endura_engine::space::{PAGE, Space};
use endura_engine::tree::nbtree::ByteTree;
use endura_variants::handles::ByteMap;
use endura_variants::media::{Counting, Counts};
use endura_variants::sessions;

type Nb = ByteTree<Counting<Heap>, 128, 64>;

fn map_on(heap: Heap) -> (Arc<Space<Counting<Heap>>>, ByteMap<Nb>) {
    let space = sessions::first(Counting::by_line(heap)).unwrap();
    let map = ByteMap::over(Nb::open_strings(&space, "map").unwrap());
    (space, map)
}

fn counted(space: &Space<Counting<Heap>>, work: impl FnOnce()) -> Counts {
    let before = space.media().counts();
    work();
    space.media().counts().since(before)
}

fn key(n: u64) -> Vec<u8> {
    format!("key:{:020}", n.wrapping_mul(0x9E37_79B9_7F4A_7C15)).into_bytes()
}

/// Lines of a record with this key and a value of 8 bytes: a chunk begins at a line.
fn lines_of_record(key: &[u8]) -> u64 {
    (16 + key.len() as u64 + 8).div_ceil(64)
}

/// The lines of the record and one of the block; the fence of the record and that of the entry.
#[test]
fn an_operation_without_a_structural_change_writes_back_its_record_and_one_line() {
    let (space, map) = map_on(Heap::adr(8 * PAGE));
    map.insert(key(1), "12345678").unwrap();
    // Here and there a record is the first one in its part of a span, whose header is flushed then.
    let mut parts = 0;
    let mut is_record_and_line = |counts: Counts, lines: u64| {
        let more = counts.fences - 2;
        parts += more;
        (counts.line_flushes, more < 2) == (lines + 1 + more, true)
    };
    for n in 2..60 {
        let lines = lines_of_record(&key(n));
        let counts = counted(&space, || assert_eq!(map.insert(key(n), "12345678").unwrap(), None));
        assert!(is_record_and_line(counts, lines), "insert {n}: {counts:?}");
        let counts = counted(&space, || _ = map.insert(key(n), "87654321").unwrap());
        assert!(is_record_and_line(counts, lines), "update {n}: {counts:?}");
        let counts = counted(&space, || _ = map.get(key(n)).unwrap());
        assert_eq!((counts.line_flushes, counts.fences, counts.stores), (0, 0, 0), "get {n}");
        let counts = counted(&space, || assert_eq!(map.get(key(n + 100)).unwrap(), None));
        assert_eq!((counts.line_flushes, counts.fences, counts.stores), (0, 0, 0), "miss {n}");
    }
    assert!(parts < 6, "{parts}");
    for n in 10..60 {
        let counts = counted(&space, || _ = map.remove(key(n)).unwrap());
        assert_eq!((counts.line_flushes, counts.fences, counts.stores), (1, 1, 1), "remove {n}");
    }
}

/// Averages over a uniform load, structural changes included.
#[test]
fn a_uniform_load_costs_little_more() {
    const KEYS: u64 = 100_000;
    let (space, map) = map_on(Heap::adr(40 * PAGE));
    let counts = counted(&space, || {
        (0..KEYS).for_each(|n| assert_eq!(map.insert(key(n), "12345678").unwrap(), None));
    });
    let per = |count: u64| count as f64 / KEYS as f64;
    assert!(per(counts.line_flushes) <= 2.9, "{} lines", per(counts.line_flushes));
    assert!(per(counts.fences) <= 2.2, "{} fences", per(counts.fences));
    let memory = per(map.index().stats().metadata_bytes);
    assert!(memory <= 12.0, "{memory} bytes of DRAM");
    println!("{} lines, {} fences, {memory} bytes", per(counts.line_flushes), per(counts.fences));
}
