//! All that is in DRAM: the metadata layer of the paper.

use crate::pool::{Counted, MapState};
use crate::runtime::arena::Arena;
use crate::sync::{AtomicU64, Mutex};

use super::body::Body;
use super::key::PARTITIONS;
use super::leaf::Leaf;
use super::route::{Cell, Root};

/// What all handles of one map share in DRAM.
#[derive(Debug)]
pub(super) struct Metadata {
    pub(super) roots: [Root; PARTITIONS],
    /// Held while the index of a partition is made, at most once in a session.
    pub(super) restarting: [Mutex<()>; PARTITIONS],
    pub(super) leaves: Arena<Leaf>,
    pub(super) cells: Arena<Cell>,
    pub(super) bodies: Arena<Body>,
    /// The most children of a body, 4 to [`ROOM`](super::body::ROOM).
    pub(super) fanout: usize,
    /// Blocks of earlier sessions whose leaves were made, and those whose keys were read.
    pub(super) blocks_found: AtomicU64,
    pub(super) blocks_read: AtomicU64,
    /// Whether the entries of a block are counted when it is read for the first time.
    pub(super) recount: bool,
}

impl Metadata {
    /// Of a map of whose blocks nothing was read yet.
    pub(super) fn of(map: &MapState, fanout: usize) -> Self {
        Self {
            roots: Default::default(),
            restarting: std::array::from_fn(|_| Mutex::new(())),
            leaves: Arena::new(),
            cells: Arena::new(),
            bodies: Arena::new(),
            fanout,
            blocks_found: AtomicU64::new(0),
            blocks_read: AtomicU64::new(0),
            recount: map.counted() != Counted::All,
        }
    }

    /// Bytes of DRAM in nodes, those that wait for an epoch included.
    pub(super) fn bytes(&self) -> u64 {
        let of = |nodes: u32, bytes: usize| u64::from(nodes) * bytes as u64;
        of(self.leaves.high_water(), size_of::<Leaf>())
            + of(self.cells.high_water(), size_of::<Cell>())
            + of(self.bodies.high_water(), size_of::<Body>())
    }
}
