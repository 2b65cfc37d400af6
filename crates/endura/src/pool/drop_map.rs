//! Maps that were dropped: their chunks are freed piece by piece, when nobody can be inside any more.
//!
//! | step | in one pin | a crash after it |
//! | --- | --- | --- |
//! | DROPPING is durable (see [`directory`](crate::pool::directory::registry)) | the whole step | no map; its chunks are stranded |
//! | two epochs later: all its chunks are noted, in DRAM | some hundred | the same |
//! | each is freed | some hundred | the same; those that were freed and taken again belong to who took them, if anything leads to them |
//! | FREE is stored | the whole step | no map |
//!
//! All are noted before the first is freed: the walk reads what is freed, and a chunk that a damaged map
//! leads to twice is freed once. Nobody changes the map meanwhile, so the walk goes on where it was. Of a map
//! that does not walk nothing is freed: its chunks are stranded.
//!
//! Pins are given up in between, so that what others retire becomes free; whoever needs to know that a map is
//! gone entirely (a collection, a close) asks until it is, and a verification counts what is left as waiting.

use std::sync::Arc;

use crate::Result;
use crate::media::Media;
use crate::pool::directory::chunk_set::ChunkSet;
use crate::pool::directory::drops::{Dropped, Inventory};
use crate::pool::directory::map_state::MapState;
use crate::pool::pins::guard::Guard;
use crate::pool::space::Space;
use crate::sync::Backoff;

/// Chunks that are noted or freed in one pin.
const BITE: usize = 512;
/// Steps that an operation takes which has no room: a small map is then gone.
const STEPS_AT_ONCE: usize = 4;
/// How often whoever drops a map looks whether nobody is inside any more.
const LOOKS: usize = 64;

/// What came of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DropStep {
    Worked,
    /// Somebody may still be inside, or another thread is at work.
    Waiting,
    /// None is left.
    Ended,
}

impl<M: Media> Dropped<M> {
    /// Does a little; whether that was the end.
    fn step(&mut self, guard: &Guard<'_, M>) -> Result<bool> {
        if !self.is_noted {
            let (chunks, mut noted) = (&mut self.chunks, Ok(()));
            let mut note = |at, bytes| match chunks.insert(at, bytes) {
                Ok(is_new) => is_new,
                Err(error) => {
                    noted = Err(error);
                    false
                }
            };
            self.is_noted = (self.inventory)(guard.media(), &self.map, &mut note, BITE)?;
            return noted.map(|()| false);
        }
        for (at, bytes) in self.chunks.take(BITE) {
            guard.discard(at, bytes);
        }
        Ok(self.chunks.is_empty())
    }
}

impl<M: Media> Space<M> {
    /// Drops the map of this name; `false` if there is none. The drop is durable on return.
    ///
    /// `inventory` makes a walk over the map's chunks; where it fails the map stays. The walk runs when no operation
    /// can be inside the map any more, and what it tells of is freed: most often before the call returns, else when
    /// space is short, at the next drop, or at the close. It is called in several pins, until it says that it has told
    /// of all chunks: of about so many each time, where each is and its bytes as asked for. It is answered whether it
    /// had not told of that one before. Nothing changes the map meanwhile. O(chunks of the map).
    ///
    /// # Errors
    ///
    /// Those of [`pin_mut`](Self::pin_mut) and of `inventory`.
    pub fn drop_map(
        &self,
        name: &str,
        inventory: impl FnOnce(&MapState) -> Result<Box<Inventory<M>>>,
    ) -> Result<bool> {
        let (entry, others) = {
            let _guard = self.pin_mut()?;
            let mut registry = self.directory.registry.lock();
            let Some(map) = registry.maps.get(name) else { return Ok(false) };
            let inventory = inventory(map)?;
            let Some(map) = registry.begin_drop(&self.media, name)? else { return Ok(false) };
            map.mark_dropped();
            // Who pins after the tag was read sees the mark; who pinned before ends the wait.
            let tag = self.epochs.tag();
            let entry = map.entry();
            let others: Vec<u64> = registry.drops.waiting.iter().map(|d| d.map.entry()).collect();
            registry.drops.waiting.push(Dropped {
                tag,
                map,
                inventory,
                chunks: ChunkSet::default(),
                is_noted: false,
            });
            (entry, others)
        };
        let (mut backoff, mut looks) = (Backoff::default(), 0);
        while looks < LOOKS {
            self.epochs.advance();
            let now = self.epochs.now();
            // Who closes the pool frees the map; who poisons it leaves that to the next open.
            let Ok(guard) = self.pin_mut() else { return Ok(true) };
            let step = self.step_of_drops(&guard, now, Some(entry))?;
            drop(guard);
            match step {
                DropStep::Worked => {}
                DropStep::Ended => break,
                DropStep::Waiting => {
                    looks += 1;
                    backoff.wait();
                }
            }
        }
        // Those of earlier drops that had to wait.
        for entry in others {
            self.free_drops(Some(entry))?;
        }
        Ok(true)
    }

    /// Frees a part of a dropped map that nobody is inside of at epoch `now`: of the one with this entry, or
    /// of any.
    pub(crate) fn step_of_drops(
        &self,
        guard: &Guard<'_, M>,
        now: u64,
        of: Option<u64>,
    ) -> Result<DropStep> {
        // Whoever holds the lock may be the caller's caller, short of space; this can wait.
        let Some(mut registry) = self.directory.registry.try_lock() else {
            return Ok(DropStep::Waiting);
        };
        let drops = &mut registry.drops;
        let is_meant = |entry: u64| of.is_none_or(|of| of == entry);
        let has_expired = |d: &Dropped<M>| is_meant(d.map.entry()) && d.tag.has_expired(now);
        let Some(expired) = drops.waiting.iter().position(has_expired) else {
            let mut left =
                drops.waiting.iter().map(|d| d.map.entry()).chain(drops.under_way.iter().copied());
            return Ok(if left.any(is_meant) { DropStep::Waiting } else { DropStep::Ended });
        };
        let mut dropped = drops.waiting.swap_remove(expired);
        let entry = dropped.map.entry();
        drops.under_way.push(entry);
        drop(registry);
        let outcome = dropped.step(guard);
        let mut registry = self.directory.registry.lock();
        registry.drops.under_way.retain(|&other| other != entry);
        if outcome? {
            registry.end_drop(&self.media, entry)?;
        } else {
            registry.drops.waiting.push(dropped);
        }
        Ok(DropStep::Worked)
    }

    /// A few steps, for an operation that has no room.
    pub(crate) fn free_some_of_drops(&self, guard: &Guard<'_, M>, now: u64) -> Result<()> {
        for _ in 0..STEPS_AT_ONCE {
            if self.step_of_drops(guard, now, None)? != DropStep::Worked {
                break;
            }
        }
        Ok(())
    }

    /// All that can be freed now of the map with this entry, or of any, in many pins; whether there was
    /// something. To be called outside of operations.
    pub(crate) fn free_drops(&self, of: Option<u64>) -> Result<bool> {
        let mut has_worked = false;
        loop {
            let guard = self.pin_mut()?;
            match self.step_of_drops(&guard, self.epochs.now(), of)? {
                DropStep::Worked => has_worked = true,
                DropStep::Waiting | DropStep::Ended => return Ok(has_worked),
            }
        }
    }

    /// Dropped maps whose chunks were not all noted: they are as they were.
    pub(crate) fn dropped_maps(&self) -> Vec<Arc<MapState>> {
        let registry = self.directory.registry.lock();
        let whole = registry.drops.waiting.iter().filter(|dropped| !dropped.is_noted);
        whole.map(|dropped| Arc::clone(&dropped.map)).collect()
    }

    /// Chunks of dropped maps that were noted and are still to be freed.
    pub(crate) fn chunks_of_drops(&self) -> Vec<(u64, u64)> {
        let registry = self.directory.registry.lock();
        let noted = registry.drops.waiting.iter().filter(|dropped| dropped.is_noted);
        noted.flat_map(|dropped| dropped.chunks.iter()).collect()
    }
}
