//! N22. What an operation asks of persistent memory, counted.

use std::sync::Arc;

use endura_engine::media::Heap;
use endura_engine::space::{PAGE, Space};
use endura_engine::tree::nbtree::Tree;
use endura_variants::handles::WordMap;
use endura_variants::media::{Counting, Counts};
use endura_variants::sessions;

use crate::support::ops::scatter;

type Nb = Tree<Counting<Heap>, 128, 64>;

fn map_on(heap: Heap) -> (Arc<Space<Counting<Heap>>>, WordMap<Nb>) {
    let space = sessions::first(Counting::new(heap)).unwrap();
    let map = WordMap::over(Nb::open(&space, "map").unwrap());
    (space, map)
}

fn counted(space: &Space<Counting<Heap>>, work: impl FnOnce()) -> Counts {
    let before = space.media().counts();
    work();
    space.media().counts().since(before)
}

/// The paper's Table 1: one line written back, one fence; a lookup reads one entry.
#[test]
fn an_operation_without_a_structural_change_writes_back_one_line() {
    let (space, map) = map_on(Heap::adr(8 * PAGE));
    map.insert(1, 1).unwrap();
    for key in 2..60 {
        let counts = counted(&space, || assert_eq!(map.insert(key, key).unwrap(), None));
        // The value, PENDING, LIVE: 16 bytes, hence one line.
        assert_eq!((counts.line_flushes, counts.fences, counts.stores), (1, 1, 3), "{key}");
    }
    for key in 2..60 {
        let counts = counted(&space, || assert_eq!(map.insert(key, 7).unwrap(), Some(key)));
        assert_eq!((counts.line_flushes, counts.fences, counts.stores), (1, 1, 1), "{key}");
    }
    let mut loads = 0;
    for key in 2..60 {
        let counts = counted(&space, || assert_eq!(map.get(key).unwrap(), Some(7)));
        assert_eq!((counts.line_flushes, counts.fences, counts.stores), (0, 0, 0), "{key}");
        loads += counts.loads;
    }
    // Key and value, and now and then a key with the same tag.
    assert!((2 * 58..2 * 58 + 20).contains(&loads), "{loads}");
    for key in 10..60 {
        let counts = counted(&space, || assert_eq!(map.remove(key).unwrap(), Some(7)));
        assert_eq!((counts.line_flushes, counts.fences, counts.stores), (1, 1, 1), "{key}");
    }
}

/// On eADR one fence ends each operation that writes. (A flush is no instruction there.)
#[test]
fn where_caches_are_durable_one_fence_ends_an_operation() {
    let (space, map) = map_on(Heap::new(32 * PAGE));
    let counts = counted(&space, || {
        (0..20_000).for_each(|n| assert_eq!(map.insert(scatter(n), n).unwrap(), None));
        (0..20_000).for_each(|n| assert_eq!(map.insert(scatter(n), 1).unwrap(), Some(n)));
        (0..20_000).for_each(|n| assert_eq!(map.remove(scatter(n)).unwrap(), Some(1)));
    });
    let once = counted(&space, || _ = map.insert(1, 1).unwrap());
    assert_eq!((once.fences, once.stores), (1, 3));
    assert!(counts.fences < 80_000, "{counts:?}");
}

/// Averages over a uniform load, structural changes included, and what it takes in the pool and in
/// DRAM.
#[test]
fn a_uniform_load_costs_little_more() {
    // `ENDURA_KEYS` sets another number.
    let given = std::env::var("ENDURA_KEYS").ok().map(|text| text.parse().unwrap());
    let keys: u64 = given.unwrap_or(1_000_000);
    let (space, map) = map_on(Heap::adr((keys / 16_000 + 8) * PAGE));
    let counts = counted(&space, || {
        (0..keys).for_each(|n| assert_eq!(map.insert(scatter(n), n).unwrap(), None));
    });
    let per = |count: u64| count as f64 / keys as f64;
    assert!(per(counts.line_flushes) <= 2.2, "{} lines", per(counts.line_flushes));
    assert!(per(counts.fences) <= 1.2, "{} fences", per(counts.fences));
    let stats = space.stats();
    let pool = per(stats.bytes_in_use - stats.free_chunk_bytes - 12 * 4096);
    assert!(pool <= 34.0, "{pool} bytes in the pool");
    let memory = per(map.index().stats().metadata_bytes);
    assert!(memory <= 12.0, "{memory} bytes of DRAM");
    println!(
        "{} lines, {} fences, {pool} + {memory} bytes",
        per(counts.line_flushes),
        per(counts.fences)
    );
}
