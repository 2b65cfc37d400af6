//! Batches of lookups. The descents of a batch alternate, so that their cache misses overlap.
//!
//! A single lookup prefetches a whole node, so that it waits only once for the node. In a batch the waits overlap, and
//! what costs time is the number of lines fetched. So the search in a node has two parts, and each prefetches only the
//! lines that it may read.

use crate::Result;
use crate::media::{Mark, Media};
use crate::space::Guard;

use crate::tree::fast_fair::nodes::header::route_key;
use crate::tree::fast_fair::nodes::lock_word::LockWord;
use crate::tree::fast_fair::nodes::node::Node;
use crate::tree::fast_fair::nodes::search::{Last, Search, last_from, narrow};
use crate::tree::fast_fair::path::trail::Trail;
use crate::tree::fast_fair::tree::Tree;

/// The number of lookups that run at once. More lookups would cause more cache misses at a time than the processor can
/// handle.
const LANES: usize = 16;

impl<M: Media, const INNER: usize, const LEAF: usize, S: Search> Tree<M, INNER, LEAF, S> {
    /// The values of `keys`, in their order. Each lookup is linearizable by itself; the batch as a whole is not.
    pub(crate) fn lookup_many(&self, keys: &[u64]) -> Result<Vec<Option<u64>>> {
        match self.look_up_all(keys) {
            Ok(values) => Ok(values),
            Err(error) => Err(self.open.space().noted(error)),
        }
    }

    #[inline(always)]
    fn look_up_all(&self, keys: &[u64]) -> Result<Vec<Option<u64>>> {
        let mut values = Vec::with_capacity(keys.len());
        for keys in keys.chunks(LANES) {
            let guard = self.open.pin()?;
            self.get_lanes(&guard, keys, &mut values)?;
        }
        Ok(values)
    }

    fn get_lanes(
        &self,
        guard: &Guard<'_, M>,
        keys: &[u64],
        values: &mut Vec<Option<u64>>,
    ) -> Result<()> {
        let root = self.root(guard)?;
        let mut lanes = [Lane::default(); LANES];
        let lanes = &mut lanes[..keys.len()];
        lanes.iter_mut().for_each(|lane| lane.at = root.at);
        for level in (1..=root.level).rev() {
            for (lane, &key) in lanes.iter_mut().zip(keys) {
                lane.narrow::<M, INNER, S>(guard.media(), level, route_key(key))?;
            }
            for (lane, &key) in lanes.iter_mut().zip(keys) {
                let Some(node) = lane.node::<M, INNER>(guard.media())? else { continue };
                guard.media().mark(Mark::Step("read.inner"));
                let child = lane.last::<M, INNER, S>(&node, route_key(key)).value(&node);
                match level {
                    1 => S::fetch::<M, LEAF>(guard.media(), child),
                    2 => S::fetch::<M, INNER>(guard.media(), child),
                    _ => {}
                }
                lane.at = if node.confirms(lane.version) { child } else { 0 };
            }
        }
        for (lane, &key) in lanes.iter_mut().zip(keys) {
            lane.narrow::<M, LEAF, S>(guard.media(), 0, key)?;
        }
        for (lane, &key) in lanes.iter().zip(keys) {
            values.push(self.get_in_lane(guard, lane, key)?);
        }
        Ok(())
    }

    fn get_in_lane(&self, guard: &Guard<'_, M>, lane: &Lane, key: u64) -> Result<Option<u64>> {
        if let Some(node) = lane.node::<M, LEAF>(guard.media())? {
            let last = lane.last::<M, LEAF, S>(&node, key);
            let value = (last.key(&node) == key).then(|| last.value(&node));
            guard.media().mark(Mark::Step("read.leaf"));
            if node.confirms(lane.version) {
                return Ok(value);
            }
        }
        let mut trail = Trail::default();
        let at = self.onward(guard, &mut trail, 0, key)?;
        self.get_at(guard, &mut trail, at, key)
    }
}

/// One lookup of a batch, at the node that it has reached. A lookup that meets a split or a merge leaves the batch and
/// descends alone.
#[derive(Clone, Copy, Default)]
struct Lane {
    /// The node; 0 if the lookup has left the batch.
    at: u64,
    version: LockWord,
    low: u64,
    /// Where the search in the node continues.
    from: usize,
}

impl Lane {
    /// Starts the search in a node of `level`, and prefetches the lines that its second part needs.
    #[inline(always)]
    fn narrow<M: Media, const W: usize, S: Search>(
        &mut self,
        media: &M,
        level: u64,
        key: u64,
    ) -> Result<()> {
        if self.at == 0 {
            return Ok(());
        }
        let node = Node::<M, W>::enter(media, self.at, level)?;
        self.version = node.version();
        let fences = node.peek_fences();
        if !self.version.is_plain() || key < fences.low || !fences.is_below_high(key) {
            self.at = 0;
            return Ok(());
        }
        self.low = fences.low;
        self.from = narrow::<S, M, W>(&node, fences, key);
        S::fetch_from::<M, W>(media, self.at, self.from);
        Ok(())
    }

    #[inline(always)]
    fn node<'m, M: Media, const W: usize>(&self, media: &'m M) -> Result<Option<Node<'m, M, W>>> {
        if self.at == 0 { Ok(None) } else { Node::fresh(media, self.at).map(Some) }
    }

    /// Ends the search. The result counts if the node still has the lane's version.
    #[inline(always)]
    fn last<M: Media, const W: usize, S: Search>(&self, node: &Node<'_, M, W>, key: u64) -> Last {
        last_from::<S, M, W>(node, self.low, key, self.from)
    }
}
