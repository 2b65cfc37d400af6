//! What the loads of an `NbTree` get take, each of which gives the address of the next, with no other work around
//! them. No get of this layout can be faster on this machine.
//!
//! The loads, by `read/lookup.rs` and `metadata/descend.rs` of the tree:
//!
//! | load | how often |
//! | --- | --- |
//! | root word of the partition | 1 |
//! | the arena's word for a body; its scale and the heads of its keys, side by side; its child | once for each level |
//! | the arena's word for the cell; the cell | 1 |
//! | the arena's word for the leaf; its fingerprints | 1 |
//! | the entry: key and value, in one line that was prefetched with the fingerprints | 1 |
//!
//! The nodes have the tree's sizes, lie in its arena (so that they have huge pages where its nodes have) and in a
//! mapped file, and are as many and as full as after a load of random keys. The position in a node follows from the
//! key; every node holds a zero, or its own position, that is added. So the processor has to wait for each load, and
//! has nothing to compare.

use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicU64};

use endura_engine::media::{Domain, LINE, Mapped, Media, Ordering, Region};
use endura_engine::runtime::arena::Arena;

use super::floor::time;
use crate::Result;
use crate::experiment::mapped;
use crate::figures::Median;
use crate::keys::key;

/// Keys of a block, after a load of random keys.
const KEYS: u64 = 44;
/// Children of a body, likewise, as a number of bits.
const FILL_BITS: u32 = 5;
const FILL: usize = 1 << FILL_BITS;
/// Children of the topmost body of a partition, at most.
const FANOUT: usize = 64;
const PARTITIONS: usize = 8;
const BLOCK: u64 = 1024;
const SLOTS: u64 = 63;
/// Gets of a round.
const GETS: usize = 200_000;

/// What the loads of a get take.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct GetFloor {
    /// Keys in the map.
    pub keys: u64,
    /// Loads of one get that wait for each other.
    pub loads: usize,
    /// Nanoseconds of a get whose key is known only when the one before has ended.
    pub alone_ns: Median,
    /// Nanoseconds of a get where all keys are known: the processor begins the next one meanwhile, as far ahead as it
    /// looks.
    pub overlapping_ns: Median,
}

/// Measures it for `keys` keys, so often, with a file in `dir`.
pub fn get_floor(dir: &Path, keys: u64, rounds: u32) -> Result<GetFloor> {
    let nodes = Nodes::new(dir, keys)?;
    let blocks = Region::new(&nodes.medium, 0, (nodes.medium.len() / 8) as usize)?;
    let wanted: Vec<u64> = (0..=GETS as u64).map(key).collect();
    let overlapping = || {
        wanted[..GETS].iter().fold(0, |sum: u64, &key| sum.wrapping_add(nodes.get(&blocks, key)))
    };
    let alone = || {
        // The highest bit of what was found, which no leaf's number has.
        (0..GETS).fold(0, |found, i| nodes.get(&blocks, wanted[i + (found >> 63) as usize]))
    };
    overlapping();
    let mut samples = [const { Vec::new() }; 2];
    for _ in 0..rounds.max(1) {
        samples[0].push(time(GETS as u64, alone));
        samples[1].push(time(GETS as u64, overlapping));
    }
    let [alone_ns, overlapping_ns] = samples.map(Median::of);
    Ok(GetFloor { keys, loads: 6 + 3 * nodes.levels as usize, alone_ns, overlapping_ns })
}

#[derive(Debug, Default)]
#[repr(C, align(64))]
struct Line([AtomicU64; 8]);

/// As large as an inner node.
#[derive(Debug)]
#[repr(C)]
struct Body {
    scale: Line,
    heads: [AtomicU32; FANOUT],
    children: [AtomicU64; FANOUT],
    _keys: [Line; FANOUT / 8],
}

impl Default for Body {
    fn default() -> Self {
        Self {
            scale: Line::default(),
            heads: std::array::from_fn(|slot| AtomicU32::new(slot as u32)),
            children: std::array::from_fn(|_| AtomicU64::new(0)),
            _keys: Default::default(),
        }
    }
}

impl Body {
    /// The child in this slot, by way of what a search reads.
    #[inline(always)]
    fn child(&self, slot: usize) -> u64 {
        let head = u64::from(self.heads[slot % FANOUT].load(Ordering::Relaxed));
        let slot = head + self.scale.0[0].load(Ordering::Relaxed);
        self.children[slot as usize % FANOUT].load(Ordering::Relaxed)
    }
}

/// As large as the part of a leaf in DRAM.
#[derive(Debug, Default)]
struct Leaf {
    fingerprints: Line,
    _rest: [Line; 2],
}

#[derive(Debug, Default)]
#[repr(align(128))]
struct Root(AtomicU64);

/// The nodes of a map, which lead from one to the next, and find nothing.
struct Nodes {
    roots: [Root; PARTITIONS],
    bodies: Arena<Body>,
    cells: Arena<AtomicU64>,
    leaves: Arena<Leaf>,
    medium: Mapped,
    /// Bodies on the way to a leaf.
    levels: u32,
    leaves_of_partition: u64,
}

impl Nodes {
    fn new(dir: &Path, keys: u64) -> Result<Self> {
        let leaves_of_partition = keys.div_ceil(KEYS * PARTITIONS as u64).max(1);
        let bytes = leaves_of_partition * PARTITIONS as u64 * BLOCK;
        let medium = mapped(Domain::PageCache, dir, bytes.next_multiple_of(2 << 20))?;
        medium.grow(bytes)?;
        let (bodies, cells, leaves) = (Arena::default(), Arena::default(), Arena::default());
        let roots = Default::default();
        let mut nodes =
            Self { roots, bodies, cells, leaves, medium, levels: 0, leaves_of_partition };
        for partition in 0..PARTITIONS {
            nodes.levels = nodes.fill(partition)?;
        }
        Ok(nodes)
    }

    /// Makes the nodes of a partition from the leaves up; gives the levels of bodies.
    fn fill(&self, partition: usize) -> Result<u32> {
        let first = partition as u64 * self.leaves_of_partition;
        let blocks = Region::new(&self.medium, 0, (self.medium.len() / 8) as usize)?;
        let leaf = |block: u64| {
            let words = (BLOCK / 8) as usize;
            for slot in 0..SLOTS as usize {
                // The value: which block it is. The words of the keys stay 0.
                blocks.store(block as usize * words + 3 + 2 * slot, block, Ordering::Relaxed);
            }
            (block * BLOCK / LINE) << 32 | u64::from(self.leaves.take(0))
        };
        let leaves: Vec<u64> = (first..first + self.leaves_of_partition).map(leaf).collect();
        let cell = |leaves| {
            let number = self.cells.take(0);
            self.cells.get(number).store(self.body(leaves), Ordering::Relaxed);
            u64::from(number)
        };
        let mut children: Vec<u64> = leaves.chunks(FILL).map(cell).collect();
        let mut levels = 2;
        while children.len() > FANOUT {
            children = children.chunks(FILL).map(|some| self.body(some)).collect();
            levels += 1;
        }
        self.roots[partition].0.store(self.body(&children), Ordering::Relaxed);
        Ok(levels)
    }

    fn body(&self, children: &[u64]) -> u64 {
        let number = self.bodies.take(0);
        let words = &self.bodies.get(number).children;
        words.iter().zip(children).for_each(|(word, &child)| word.store(child, Ordering::Relaxed));
        number.into()
    }

    /// The number of the block that has the key.
    #[inline(always)]
    fn get<M: Media>(&self, blocks: &Region<'_, M>, key: u64) -> u64 {
        let place = u128::from(key << PARTITIONS.ilog2()) * u128::from(self.leaves_of_partition);
        let leaf = (place >> u64::BITS) as usize;
        let root = &self.roots[(key >> (u64::BITS - PARTITIONS.ilog2())) as usize];
        let mut number = root.0.load(Ordering::Acquire);
        // The topmost body has all that is left.
        let mut slots = usize::MAX;
        for height in (1..self.levels).rev() {
            let slot = leaf >> (FILL_BITS * height) & slots;
            number = self.bodies.get(number as u32).child(slot);
            slots = FILL - 1;
        }
        number = self.cells.get(number as u32).load(Ordering::Acquire);
        let child = self.bodies.get(number as u32).child(leaf % FILL);
        let (leaf, block) = (child as u32, (child >> 32) * LINE);
        let entry = ((key & 0xffff) * SLOTS) >> 16;
        blocks.media().prefetch(block + 16 + 16 * entry, 16);
        let fingerprints = &self.leaves.get(leaf).fingerprints;
        let entry = entry + fingerprints.0[entry as usize / 8].load(Ordering::Acquire);
        let word = (block / 8 + 2 + 2 * entry) as usize;
        blocks.load(word, Ordering::Acquire) | blocks.load(word + 1, Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use endura_engine::index::NbTree;
    use endura_engine::media::Heap;
    use endura_engine::tree::{Change, Index};
    use endura_variants::sessions;

    use super::*;

    /// 40,000 keys take two levels of bodies, a million takes three.
    #[test]
    fn each_key_leads_to_its_block_and_all_blocks_are_reached() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        for (keys, levels) in [(1, 2), (40_000, 2), (1_000_000, 3)] {
            let nodes = Nodes::new(dir.path(), keys).expect("nodes");
            assert_eq!(nodes.levels, levels, "{keys}");
            let words = (nodes.medium.len() / 8) as usize;
            let blocks = Region::new(&nodes.medium, 0, words).expect("blocks");
            let all = nodes.leaves_of_partition * PARTITIONS as u64;
            let mut reached = BTreeSet::new();
            for key in (0..32 * all).map(key) {
                let block = nodes.get(&blocks, key);
                // The blocks have equal shares of the keys, in their order.
                let expected = ((u128::from(key) * u128::from(all)) >> u64::BITS) as u64;
                assert_eq!(block, expected, "{key:#x}");
                reached.insert(block);
            }
            assert_eq!(reached.len() as u64, all, "{keys}");
        }
    }

    #[test]
    fn the_nodes_take_no_more_memory_than_those_of_a_tree() {
        const KEYS: u64 = 60_000;
        let space = sessions::first(Arc::new(Heap::new(64 << 20))).expect("a space");
        let tree = NbTree::open(&space, "numbers").expect("a tree");
        for i in 0..KEYS {
            tree.apply(key(i), |_| Change::Put(i)).expect("an insert");
        }
        let mut blocks = 0;
        tree.check(&mut |_, bytes| blocks += bytes).expect("a sound tree");
        let dir = tempfile::tempdir().expect("a temporary folder");
        let nodes = Nodes::new(dir.path(), KEYS).expect("nodes");
        let ours = nodes.leaves_of_partition * PARTITIONS as u64 * BLOCK;
        assert!((ours as f64 / blocks as f64 - 1.0).abs() < 0.1, "{ours} {blocks}");
        let of = |nodes: u32, bytes: usize| u64::from(nodes - 1) * bytes as u64;
        let ours = of(nodes.bodies.take(0), size_of::<Body>())
            + of(nodes.cells.take(0), size_of::<AtomicU64>())
            + of(nodes.leaves.take(0), size_of::<Leaf>());
        // It has retired nodes besides.
        let theirs = tree.stats().metadata_bytes;
        assert!((theirs / 2..theirs).contains(&ours), "{ours} {theirs}");
    }

    #[test]
    fn gets_that_overlap_are_measured_beside_those_that_do_not() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let floor = get_floor(dir.path(), 10_000, 2).expect("a floor");
        assert_eq!((floor.keys, floor.loads), (10_000, 12));
        assert!(floor.alone_ns.median > 0.0 && floor.overlapping_ns.median > 0.0, "{floor:?}");
    }
}
