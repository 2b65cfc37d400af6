//! What the changes of a commit may allocate. It is set aside before the commit is decided, because a lack of space would
//! come too late after that.
//!
//! The chunks come to the cache of the thread that commits, which keeps them for this commit alone. So a change takes them
//! as it takes any chunk, and a commit that finds them in the cache spends nothing on them.

use crate::media::Media;
use crate::runtime::epoch::Slot;
use crate::space::alloc::class::{Class, Room};
use crate::space::alloc::slab::SizeUse;
use crate::space::alloc::thread_cache::ThreadCache;
use crate::space::layout::UNIT;
use crate::space::pins::guard::Guard;
use crate::space::space::Space;
use crate::sync::Mutex;
use crate::{Error, Result, SpaceLimit};

/// Units of a span that is set aside for chunks whose sizes are not known: enough for a span of chunks of any size. If a
/// chunk needs a larger span of its own, all of them have its size.
const RUN_UNITS: u64 = 16;

/// How many chunks of each size may be allocated.
#[derive(Debug, Clone)]
pub(crate) struct Needs {
    chunks: [usize; Class::COUNT],
    loose: Loose,
}

/// Chunks whose sizes are not known in advance.
#[derive(Debug, Clone, Copy, Default)]
struct Loose {
    bytes: u64,
    /// How many sizes they may have.
    sizes: usize,
    /// Bytes of the largest one.
    largest: u64,
}

impl Default for Needs {
    fn default() -> Self {
        Self { chunks: [0; Class::COUNT], loose: Loose::default() }
    }
}

impl Needs {
    /// Adds chunks of `bytes` bytes.
    pub(crate) fn add(&mut self, bytes: u64, count: usize) {
        match Class::of(bytes) {
            Some(class) => self.chunks[class.index()] += count,
            None => self.add_loose(bytes.saturating_mul(count as u64), count, bytes),
        }
    }

    /// Adds bytes of chunks whose sizes are not known in advance. They have so many different sizes at most, of which the
    /// largest is that many bytes.
    pub(crate) fn add_loose(&mut self, bytes: u64, sizes: usize, largest: u64) {
        let loose = &mut self.loose;
        loose.bytes = loose.bytes.saturating_add(bytes);
        loose.sizes = loose.sizes.saturating_add(sizes);
        loose.largest = loose.largest.max(largest);
    }
}

impl Loose {
    /// The spans to be set aside: how many, and of how many units each.
    fn runs(self) -> (usize, u64) {
        let run = self.largest.div_ceil(UNIT).max(RUN_UNITS);
        // Up to half of a span may be left over. And each size needs a span of its own, whatever is left in others.
        let largest = Class::of(self.largest).map_or(Class::COUNT, |class| class.index() + 1);
        let sizes = Class::all().take(largest).skip(largest.saturating_sub(self.sizes));
        let of_sizes: u64 = sizes.map(Class::few_units).sum();
        let units = (self.bytes / UNIT).saturating_mul(2).saturating_add(of_sizes);
        match self.bytes {
            0 => (0, run),
            _ => (units.div_ceil(run) as usize, run),
        }
    }
}

/// The calling thread keeps chunks for a commit until this is dropped.
pub(crate) struct SetAside<'s, M: Media> {
    space: &'s Space<M>,
    slot: &'s Slot<Mutex<ThreadCache>>,
}

impl<M: Media> Drop for SetAside<'_, M> {
    fn drop(&mut self) {
        // A child of a fork leaves its parent's chunks alone.
        if self.space.is_elsewhere() {
            return;
        }
        let Space { media, allocator, .. } = self.space;
        // In a pin, because a verification counts the free chunks while it keeps writers out. If it is refused, the pool
        // is poisoned or closed.
        let ended = self
            .space
            .pin_mut()
            .and_then(|_pin| self.slot.contents.lock().end_keeping(media, allocator));
        if let Err(error @ Error::Corrupt { .. }) = ended {
            self.space.poison_with(&error);
        }
    }
}

impl<M: Media> Space<M> {
    /// Chunks of this size in the whole pool: no more are in use.
    pub(crate) fn chunks_in_use(&self, bytes: u64) -> usize {
        let class = Class::of(bytes).map(Class::size);
        let is_meant = |size: &&SizeUse| Some(size.chunk_bytes) == class;
        let chunks = |size: &SizeUse| {
            (size.span_bytes.saturating_sub(size.free_bytes) / size.chunk_bytes) as usize
        };
        self.sizes().iter().find(is_meant).map_or(0, chunks)
    }
}

impl<'s, M: Media> Guard<'s, M> {
    /// Sets aside what a commit may allocate.
    ///
    /// # Errors
    ///
    /// [`Error::Full`]; nothing is set aside then.
    pub(crate) fn set_aside(&self, needs: &Needs) -> Result<SetAside<'s, M>> {
        self.slot.contents.lock().begin_keeping();
        let aside = SetAside { space: self.space, slot: self.slot };
        for (class, &count) in Class::all().zip(&needs.chunks).filter(|&(_, &count)| count > 0) {
            self.keep_chunks(class, count)?;
        }
        let (runs, units) = needs.loose.runs();
        let (mut spans, bytes) = (Vec::new(), Room::Run(units).bytes());
        let taken = (0..runs).try_for_each(|_| self.alloc(bytes).map(|at| spans.push(at)));
        // Behind the last one, because in a full pool a chunk comes from what is set aside already.
        let mut cache = self.slot.contents.lock();
        spans.into_iter().for_each(|at| cache.add_run(at, units));
        drop(cache);
        taken.map(|()| aside)
    }

    /// Allocates chunks of these sizes in a span that was set aside, as changes of a commit do that find no other space. For
    /// campaigns, whose pools need not be full for that.
    ///
    /// # Errors
    ///
    /// [`Error::Full`], also if the span is too small.
    pub fn alloc_aside(&self, sizes: &[u64]) -> Result<Vec<u64>> {
        let mut needs = Needs::default();
        sizes.iter().for_each(|&bytes| needs.add_loose(bytes, 1, bytes));
        let _aside = self.set_aside(&needs)?;
        let full = |bytes| Error::full(bytes, 0, SpaceLimit::MaxSize);
        sizes.iter().map(|&bytes| self.alloc_from_aside(full(bytes), bytes)).collect()
    }

    fn keep_chunks(&self, class: Class, count: usize) -> Result<()> {
        let Space { media, allocator, .. } = self.space;
        let lacking = self.slot.contents.lock().lacking(class, count);
        if lacking == 0 {
            return Ok(());
        }
        if !(0..lacking).all(|_| media.grant()) {
            return Err(Error::full(class.size(), 0, SpaceLimit::MaxSize));
        }
        if allocator.would_grow(Room::Slab(class)) {
            self.space.look_around()?;
        }
        let fill = || self.slot.contents.lock().fill(media, allocator, class, count);
        match fill() {
            Err(Error::Full { .. }) => {
                self.space.reclaim(self)?;
                fill()
            }
            filled => filled,
        }
    }
}
