//! Rebuilding the whole metadata layer at once, by several threads, for programs that prefer to wait for the rebuild.
//! Otherwise each part of the layer is made when it is first needed
//! ([`restart`](crate::tree::nbtree::restart::partition)).

use crate::Result;
use crate::media::Media;
use crate::runtime::threads;
use crate::space::Counted;
use crate::sync::{OnceLock, Ordering};

use crate::tree::nbtree::design::Design;
use crate::tree::nbtree::keys::form::KeyForm;
use crate::tree::nbtree::metadata::links::Top;
use crate::tree::nbtree::read::lookup::Fence;
use crate::tree::nbtree::tree::Tree;

/// Figures about the part of a tree in DRAM, and the progress of its rebuild in this session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Bytes of DRAM in nodes, including retired ones.
    pub metadata_bytes: u64,
    /// The number of partitions whose leaves and inner nodes were made.
    pub partitions: u64,
    /// The number of partitions that there are.
    pub all_partitions: u64,
    /// The number of blocks from earlier sessions that were found in these partitions.
    pub blocks_found: u64,
    /// The number of these blocks whose keys were read.
    pub blocks_read: u64,
}

impl Stats {
    /// Whether the rebuild is complete.
    pub fn is_complete(&self) -> bool {
        self.partitions == self.all_partitions && self.blocks_read == self.blocks_found
    }
}

/// A range of keys of one partition.
struct KeyRange<F> {
    partition: usize,
    low: F,
    /// The end of the range, exclusive.
    high: F,
}

impl<M: Media, const W: usize, const FANOUT: usize, D: Design> Tree<M, W, FANOUT, D> {
    /// The current figures. O(1); exact while no thread uses the map.
    pub fn stats(&self) -> Stats {
        let made = self.meta.roots.iter().filter(|root| root.load() != Top::NONE);
        // Relaxed: the counters order nothing. The number of blocks read is loaded before the number of blocks found,
        // because every block read was found before.
        let blocks_read = self.meta.blocks_read.load(Ordering::Relaxed);
        Stats {
            metadata_bytes: self.meta.bytes(),
            partitions: made.count() as u64,
            all_partitions: D::Keys::PARTITIONS as u64,
            blocks_found: self.meta.blocks_found.load(Ordering::Relaxed),
            blocks_read,
        }
    }

    /// Makes the missing parts of the metadata layer, with `threads` threads (at least one: the caller). Other threads
    /// may use the map meanwhile. O(n).
    ///
    /// # Errors
    ///
    /// Those of [`get`](crate::tree::Index::get).
    pub fn rebuild(&self, threads: usize) -> Result<()> {
        share(threads, D::Keys::PARTITIONS, &|partition| self.prepare(partition))?;
        let mut parts = Vec::new();
        for partition in 0..D::Keys::PARTITIONS {
            self.divide(partition, &mut parts)?;
        }
        share(threads, parts.len(), &|part| self.read_part(&parts[part]))?;
        self.open.map().set_counted(Counted::All);
        Ok(())
    }

    /// Divides a partition into one part for each child of its topmost inner node.
    fn divide(&self, partition: usize, parts: &mut Vec<KeyRange<Fence<D>>>) -> Result<()> {
        let guard = self.open.pin()?;
        let top = self.top(partition)?;
        let body = self.meta.bodies.get(top.body());
        let mut low = D::Keys::first();
        for slot in 1..body.count() {
            let high = self.meta.low_of(guard.media(), (body, top.level()), slot)?;
            parts.push(KeyRange { partition, low, high: high.clone() });
            low = high;
        }
        parts.push(KeyRange { partition, low, high: D::Keys::end() });
        Ok(())
    }

    /// Reads the blocks of a part.
    fn read_part(&self, part: &KeyRange<Fence<D>>) -> Result<()> {
        let mut low = part.low.clone();
        while low < part.high {
            // One pin per leaf: the epoch must not wait for a whole part.
            let guard = self.open.pin()?;
            let key = D::Keys::at(&low);
            [_, low] = self.place_to_read(&guard, part.partition, key)?.fences()?;
        }
        Ok(())
    }
}

/// Calls `work` with each number below `count`, in `threads` threads; returns the first error.
fn share(threads: usize, count: usize, work: &(dyn Fn(usize) -> Result<()> + Sync)) -> Result<()> {
    let failure = OnceLock::new();
    let others = threads.saturating_sub(1) as u32;
    threads::share(others, count as u32, &|number| {
        work(number as usize).map_err(|error| failure.set(error)).is_ok()
    });
    failure.into_inner().map_or(Ok(()), Err)
}
