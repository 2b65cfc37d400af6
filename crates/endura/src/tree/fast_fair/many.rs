//! Many lookups at once: their descents take turns, so that their misses overlap.

use crate::Result;
use crate::media::Media;
use crate::pool::Guard;

use super::Tree;
use super::node::Node;
use super::route::{Step, Trail};
use super::search::Search;

/// Lookups that are under way at once. Beyond that the cache has no more misses to overlap.
const LANES: usize = 16;

impl<M: Media, const INNER: usize, const LEAF: usize, S: Search> Tree<M, INNER, LEAF, S> {
    /// The values of `keys`, in their order. Each lookup stands for itself; the batch is not one
    /// moment in time.
    pub(super) fn lookup_many(&self, keys: &[u64]) -> Result<Vec<Option<u64>>> {
        let mut values = Vec::with_capacity(keys.len());
        for keys in keys.chunks(LANES) {
            let guard = self.pin()?;
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
        let mut lanes = [root.at; LANES];
        for level in (1..=root.level).rev() {
            for (at, &key) in lanes.iter_mut().zip(keys) {
                // A lane that met a split or a merge has left the pack: it descends alone below.
                if *at != 0 {
                    let node = Node::<M, INNER>::enter(guard.media(), *at, level)?;
                    *at = match self.route(guard, node, level, key)? {
                        Step::Down(child) => child,
                        Step::Right(_) | Step::Onward(_) => 0,
                    };
                }
            }
        }
        for (&at, &key) in lanes.iter().zip(keys) {
            let mut trail = Trail::default();
            let at = match at {
                0 => self.onward(guard, &mut trail, 0, key)?,
                at => at,
            };
            values.push(self.get_at(guard, &mut trail, at, key)?);
        }
        Ok(())
    }
}
