//! Dropped maps: their chunks are freed piece by piece, once no operation can be inside the map.
//!
//! | step | work in one pin | a crash after it |
//! | --- | --- | --- |
//! | DROPPING is durable ([`directory`]) | the whole step | no map; its chunks are stranded |
//! | two epochs later: all its chunks are noted, in DRAM | some hundred chunks | the same |
//! | each is freed | some hundred chunks | the same; a chunk allocated again belongs to its new owner, if it is linked |
//! | FREE is stored | the whole step | no map |
//!
//! All chunks are noted before the first is freed, for two reasons: the walk reads the chunks, and a damaged map may
//! lead to one chunk twice. No operation changes the map meanwhile, so each pin continues the walk where the one before
//! stopped. If the walk fails, nothing is freed: the chunks are stranded.
//!
//! The work is spread over many pins, so that chunks which other threads retire can become free in between. A
//! leak recovery or a close that needs the map to be gone repeats the step until it is. A verification counts the
//! remaining chunks as waiting.
//!
//! [`directory`]: crate::space::directory::registry

use std::sync::Arc;

use crate::Result;
use crate::media::Media;
use crate::space::alloc::class::Room;
use crate::space::directory::chunk_set::ChunkSet;
use crate::space::directory::drops::{Dropped, Inventory};
use crate::space::directory::map_state::MapState;
use crate::space::pins::guard::Guard;
use crate::space::space::Space;
use crate::sync::Backoff;

/// The most chunks that are noted or freed in one pin.
const BITE: usize = 512;
/// Steps by an operation that has run out of space. A small map is gone after that many.
const STEPS_AT_ONCE: usize = 4;
/// How often a thread that drops a map looks whether all other threads have left the map. All looks together take some
/// milliseconds, most of them asleep.
const LOOKS: u32 = Backoff::AWAKE + 10;

/// The outcome of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DropStep {
    Worked,
    /// An operation may still be inside, or another thread is freeing the map.
    Waiting,
    /// No dropped map is left.
    Ended,
}

impl<M: Media> Dropped<M> {
    /// Does one bite of work. Returns whether that was the end.
    fn step(&mut self, guard: &Guard<'_, M>) -> Result<bool> {
        if !self.is_noted {
            let (chunks, mut noted) = (&mut self.chunks, Ok(()));
            let allocator = &guard.space.allocator;
            let mut note = |at, bytes| match allocator.check(guard.media(), at, Room::of(bytes)) {
                Ok(()) => chunks.insert(at, bytes),
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
    /// Drops the map of this name; returns `false` if there is none. The drop is durable on return.
    ///
    /// `inventory` makes a walk that lists the chunks of the map, which are then freed. If `inventory` fails, the map
    /// stays.
    ///
    /// The walk runs when no operation can be inside the map: mostly before this call returns, otherwise when space is
    /// short, at the next drop, or at the close. The walk is called in several pins, and each call lists about as many
    /// chunks as it is asked for, each by its offset and its bytes as requested. The callback that the walk calls with
    /// each chunk returns whether that chunk is new. The walk returns whether it has listed all chunks. No operation
    /// changes the map meanwhile. O(chunks of the map).
    ///
    /// # Errors
    ///
    /// The errors of [`pin_mut`](Self::pin_mut) and of `inventory`.
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
            // A pin that begins after the tag was read sees the mark. Only the pins that began before have to be waited
            // for.
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
            // The drop is durable even if no pin begins here. The close frees the chunks, or if the pool was poisoned,
            // the next open does.
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
        // Frees the chunks of earlier drops that had to wait.
        for entry in others {
            self.free_drops(Some(entry))?;
        }
        Ok(true)
    }

    /// Frees a part of a dropped map that no operation is inside of at epoch `now`: the map with the directory entry
    /// `of`, or any map.
    pub(crate) fn step_of_drops(
        &self,
        guard: &Guard<'_, M>,
        now: u64,
        of: Option<u64>,
    ) -> Result<DropStep> {
        // The caller may be an operation that ran out of space and holds this lock further up the call stack. The drop
        // can wait.
        let Some(mut registry) = self.directory.registry.try_lock() else {
            return Ok(DropStep::Waiting);
        };
        let drops = &mut registry.drops;
        let is_meant = |entry: u64| of.is_none_or(|of| of == entry);
        // A long commit takes new epochs while its intent still has the map's entry.
        let has_expired =
            |d: &Dropped<M>| is_meant(d.map.entry()) && d.tag.has_expired(now) && d.map.is_quiet();
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

    /// Frees a few bites of dropped maps, for an operation that has run out of space.
    pub(crate) fn free_some_of_drops(&self, guard: &Guard<'_, M>, now: u64) -> Result<()> {
        for _ in 0..STEPS_AT_ONCE {
            if self.step_of_drops(guard, now, None)? != DropStep::Worked {
                break;
            }
        }
        Ok(())
    }

    /// Frees all that can be freed now of the dropped map with the directory entry `of`, or of any, in many pins.
    /// Returns whether there was anything to free. It must be called outside of operations.
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

    /// The dropped maps whose chunks are not all noted yet. No chunk of them has been freed.
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
