//! Many lookups at once: their descents take turns, so that their misses overlap.

use crate::Result;
use crate::media::Media;
use crate::pool::Guard;
use crate::volatile::prefetch::prefetch;

use super::Tree;
use super::body::Body;
use super::design::Design;
use super::key::{Local, split};
use super::leaf::{Leaf, slots};

/// Lookups that are under way at once. Beyond that the cache has no more misses to overlap.
const LANES: usize = 16;

impl<M: Media, const W: usize, const FANOUT: usize, D: Design> Tree<M, W, FANOUT, D> {
    /// The values of `keys`, in their order. Each lookup stands for itself; the batch is not one
    /// moment in time.
    pub(super) fn lookup_many(&self, keys: &[u64]) -> Result<Vec<Option<u64>>> {
        let mut values = Vec::with_capacity(keys.len());
        for keys in keys.chunks(LANES) {
            let guard = self.pin()?;
            self.look_up_lanes(&guard, keys, &mut values)?;
        }
        Ok(values)
    }

    fn look_up_lanes(
        &self,
        guard: &Guard<'_, M>,
        keys: &[u64],
        values: &mut Vec<Option<u64>>,
    ) -> Result<()> {
        // Each pass asks for what the next one reads.
        let mut bodies = Vec::with_capacity(LANES);
        for &key in keys {
            let (partition, key) = split(key);
            bodies.push((key, self.meta.bottom_body(self.top(guard, partition)?, key)));
        }
        let ask = |(key, body): (Local, &Body)| {
            let leaf = body.child(body.slot(key));
            prefetch::<Leaf>(self.meta.leaves.get(leaf));
            (key, leaf)
        };
        let lanes: Vec<_> = bodies.into_iter().map(ask).collect();
        let mut places = Vec::with_capacity(LANES);
        for &(key, leaf) in &lanes {
            let place = self.current(guard, leaf, key)?;
            if let Some(slot) = slots(place.matching(key)).next() {
                place.block.prefetch_slot(slot);
            }
            places.push(place);
        }
        for (place, &(key, _)) in places.iter().zip(&lanes) {
            values.push(place.probe(key).map(|slot| place.block.value(slot)));
            place.settle_answer(guard.media(), key);
        }
        Ok(())
    }
}
