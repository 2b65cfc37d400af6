//! A walk over what the links of a pool lead to, for its leak recovery.

use std::sync::Arc;

use endura_engine::Result;
use endura_engine::media::{Ordering, Region};
use endura_engine::space::{Guard, LeakWalk, MapState};

use super::ops::{SIZES, SLOTS};
use crate::sim::Sim;

/// Bytes of the node of a map.
pub(super) const NODE_BYTES: u64 = 512;

/// Offset and bytes of the chunk that a link leads to.
pub(super) fn chunk(link: u64) -> Option<(u64, u64)> {
    (link != 0).then(|| (link >> 3, SIZES[(link & 7) as usize - 1]))
}

/// The slots one by one, then the maps.
pub(super) struct Links {
    pub(super) links: Arc<MapState>,
    pub(super) next: usize,
}

impl Links {
    fn word(&self, guard: &Guard<'_, Sim>, at: u64) -> Result<u64> {
        let word = Region::new(guard.media(), at, 1)?;
        word.flush(0, 1);
        Ok(word.load(0, Ordering::Acquire))
    }
}

impl LeakWalk<Sim> for Links {
    fn step(
        &mut self,
        guard: &Guard<'_, Sim>,
        visit: &mut dyn FnMut(u64, u64) -> Result<()>,
        bite: usize,
    ) -> Result<bool> {
        for _ in 0..bite {
            if self.next < SLOTS {
                let link = self.word(guard, self.links.spare() + 8 * self.next as u64)?;
                if let Some((at, bytes)) = chunk(link) {
                    visit(at, bytes)?;
                }
                self.next += 1;
                continue;
            }
            for map in guard.space().maps()? {
                match self.word(guard, map.root())? {
                    0 => {}
                    root => visit(root, NODE_BYTES)?,
                }
            }
            return Ok(true);
        }
        Ok(false)
    }
}
