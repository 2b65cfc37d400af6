//! The state in DRAM: the metadata layer of the paper.

use crate::runtime::arena::Arena;
use crate::space::{Counted, MapState};
use crate::sync::{AtomicU64, Mutex};

use crate::tree::nbtree::keys::form::KeyForm;
use crate::tree::nbtree::keys::key::PARTITIONS;
use crate::tree::nbtree::metadata::body::Body;
use crate::tree::nbtree::metadata::leaf::Leaf;
use crate::tree::nbtree::metadata::links::{Cell, Root};

/// The state in DRAM that all handles of one map share.
#[derive(Debug)]
pub(crate) struct Metadata<K: KeyForm> {
    /// One for each partition; a map with fewer partitions uses the first ones.
    pub(crate) roots: [Root; PARTITIONS],
    /// Held while a thread makes the index of a partition, which happens at most once in a session.
    pub(crate) restarting: [Mutex<()>; PARTITIONS],
    pub(crate) leaves: Arena<Leaf>,
    pub(crate) cells: Arena<Cell>,
    pub(crate) bodies: Arena<Body<K>>,
    /// The most children of a body, 4 to [`ROOM`](crate::tree::nbtree::metadata::body::ROOM).
    pub(crate) fanout: usize,
    /// The number of blocks of earlier sessions that have leaves, and the number of those whose keys were read.
    pub(crate) blocks_found: AtomicU64,
    pub(crate) blocks_read: AtomicU64,
    /// Whether the entries of a block are counted when it is read for the first time.
    pub(crate) recount: bool,
}

impl<K: KeyForm> Metadata<K> {
    /// The state of a map of which no block has been read yet.
    pub(crate) fn of(map: &MapState, fanout: usize) -> Self {
        Self {
            roots: Default::default(),
            restarting: std::array::from_fn(|_| Mutex::new(())),
            leaves: Arena::default(),
            cells: Arena::default(),
            bodies: Arena::default(),
            fanout,
            blocks_found: AtomicU64::new(0),
            blocks_read: AtomicU64::new(0),
            recount: map.counted() != Counted::All,
        }
    }

    /// Bytes of DRAM in nodes, including retired ones.
    pub(crate) fn bytes(&self) -> u64 {
        let of = |nodes: u32, bytes: usize| u64::from(nodes) * bytes as u64;
        of(self.leaves.high_water(), size_of::<Leaf>())
            + of(self.cells.high_water(), size_of::<Cell>())
            + of(self.bodies.high_water(), size_of::<Body<K>>())
    }
}
