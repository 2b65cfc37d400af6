//! Arenas of nodes in DRAM. Lock-free structures refer to a node by its number.
//!
//! A node consists of atomics and lives as long as its arena. A thread takes and returns only the right to use it. So a
//! stale number never leads to memory that is no node. It could lead to a node that has another meaning by now, but the
//! epochs of the pool prevent that.
//!
//! A retired node may be reused when the epoch is two beyond its tag, by the proof in [`epoch`](super::epoch). Each
//! thread has its own lists of retired and of free nodes, under a lock without contention, and passes surplus nodes to
//! other threads.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::collections::VecDeque;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::AtomicPtr;

use crate::os::memory;
use crate::runtime::epoch::RetireTag;
use crate::runtime::once_box::OnceBox;
use crate::runtime::retired::Retired;
use crate::runtime::thread;
use crate::sync::{AtomicU32, Mutex, Ordering};

/// How many nodes the smallest bucket has; each further bucket has twice as many. The number is small, because in a
/// pool with many maps most maps are small.
const FIRST: u32 = 4;
/// Bucket `b` has the places from `1 << b` up to `2 << b`, where the place of a node is its number plus [`FIRST`]. The
/// buckets are enough for all numbers of 32 bits.
const BUCKETS: usize = 33;
/// How many lists of own nodes there are. Two threads that share one may wait for each other briefly.
const PLACES: usize = 64;
/// Bytes of a huge page.
const HUGE_PAGE: usize = 2 << 20;
/// How many free nodes a thread keeps; with more it passes some to the surplus.
const KEPT: usize = 256;

#[derive(Debug, Default)]
#[repr(align(128))]
struct OwnNodes(Mutex<FreeNodes>);

/// The free and the retired nodes of a thread.
#[derive(Debug, Default)]
struct FreeNodes {
    free: Vec<u32>,
    /// Oldest first.
    retired: VecDeque<Retired<u32>>,
}

impl FreeNodes {
    /// Frees the retired nodes that have expired at epoch `now`.
    fn free_expired(&mut self, now: u64) {
        while let Some(&number) = self.retired.front().and_then(|oldest| oldest.expired(now)) {
            self.retired.pop_front();
            self.free.push(number);
        }
    }
}

/// The place of a node, and its bucket.
#[inline(always)]
fn place(number: u32) -> (usize, usize) {
    let place = u64::from(number) + u64::from(FIRST);
    (place as usize, place.ilog2() as usize)
}

/// Nodes of one type. [`take`](Self::take) never returns number 0.
#[derive(Debug)]
pub struct Arena<T> {
    buckets: [OnceBox<Bucket<T>>; BUCKETS],
    /// For each bucket the address where place 0 would be, so that a lookup need not subtract; null if the bucket does
    /// not exist yet.
    origins: [AtomicPtr<T>; BUCKETS],
    /// Each list is made when a thread that uses it first takes or returns a node, because most maps are written by few
    /// threads.
    own: Box<[OnceBox<OwnNodes>; PLACES]>,
    /// Surplus nodes of threads.
    surplus: Mutex<Vec<u32>>,
    next: AtomicU32,
}

impl<T> Default for Arena<T> {
    fn default() -> Self {
        Self {
            buckets: [const { OnceBox::new() }; BUCKETS],
            origins: [const { AtomicPtr::new(null_mut()) }; BUCKETS],
            own: Box::new([const { OnceBox::new() }; PLACES]),
            surplus: Mutex::default(),
            next: AtomicU32::new(1),
        }
    }
}

impl<T: Default> Arena<T> {
    /// The node with this number, whichever structure uses it now.
    #[inline(always)]
    pub fn get(&self, number: u32) -> &T {
        let (place, bucket) = place(number);
        // Acquire: pairs with the store in `make`, which comes after the nodes were made.
        let mut origin = self.origins[bucket].load(Ordering::Acquire);
        if origin.is_null() {
            origin = self.make(bucket);
        }
        // SAFETY: bucket `b` has the nodes of the places from `1 << b` up to `2 << b`, whose `ilog2` is `b`, and its
        // origin is `1 << b` nodes before the first one. The nodes are only ever borrowed shared, and live as long as
        // `self`.
        unsafe { &*origin.wrapping_add(place) }
    }

    /// Like [`get`](Self::get), but never makes a bucket: returns `None` if no node of the bucket was ever used.
    #[inline(always)]
    pub(crate) fn get_made(&self, number: u32) -> Option<&T> {
        let (place, bucket) = place(number);
        // Acquire, as in `get`.
        let origin = self.origins[bucket].load(Ordering::Acquire);
        // SAFETY: as in `get`.
        (!origin.is_null()).then(|| unsafe { &*origin.wrapping_add(place) })
    }

    #[cold]
    fn make(&self, bucket: usize) -> *mut T {
        let nodes = self.buckets[bucket].make(|| Bucket::new(1 << bucket));
        let origin = nodes.start.as_ptr().wrapping_sub(1 << bucket);
        // Release: pairs with `get`. A second store of the same value has no effect.
        self.origins[bucket].store(origin, Ordering::Release);
        origin
    }

    /// Takes a node that no other thread uses, at epoch `now`. Its contents are meaningless.
    pub fn take(&self, now: u64) -> u32 {
        let mut nodes = self.own().lock();
        if nodes.free.is_empty() {
            nodes.free_expired(now);
        }
        if nodes.free.is_empty()
            && let Some(mut surplus) = self.surplus.try_lock()
        {
            let from = surplus.len().saturating_sub(KEPT / 2);
            nodes.free.extend(surplus.drain(from..));
        }
        // Relaxed: no other memory depends on the counter.
        nodes.free.pop().unwrap_or_else(|| self.next.fetch_add(1, Ordering::Relaxed))
    }

    /// Returns a node that no other thread has seen.
    pub(crate) fn discard(&self, number: u32) {
        let mut nodes = self.own().lock();
        nodes.free.push(number);
        self.pass_on(&mut nodes);
    }

    /// Returns a node that has been unlinked. `tag` was read after the unlink, and `now` after `tag`.
    pub(crate) fn retire(&self, tag: RetireTag, now: u64, number: u32) {
        let mut nodes = self.own().lock();
        nodes.retired.push_back(Retired::new(tag, number));
        nodes.free_expired(now);
        self.pass_on(&mut nodes);
    }

    fn pass_on(&self, nodes: &mut FreeNodes) {
        if nodes.free.len() > KEPT {
            self.surplus.lock().extend(nodes.free.drain(..KEPT / 2));
        }
    }

    fn own(&self) -> &Mutex<FreeNodes> {
        let own = &self.own[thread::current() % PLACES];
        &own.get().unwrap_or_else(|| own.make(OwnNodes::default)).0
    }

    /// How many different nodes were ever taken. This number bounds how many were in use at once, including those that
    /// waited for an epoch.
    pub(crate) fn high_water(&self) -> u32 {
        self.next.load(Ordering::Relaxed) - 1
    }
}

/// Nodes in one allocation, which is aligned to huge pages if it is at least as large as one.
#[derive(Debug)]
struct Bucket<T> {
    start: NonNull<T>,
    count: usize,
}

// SAFETY: a bucket owns its nodes, as a `Box<[T]>` does.
unsafe impl<T: Send> Send for Bucket<T> {}
// SAFETY: as above; it lends only shared references.
unsafe impl<T: Sync> Sync for Bucket<T> {}

impl<T: Default> Bucket<T> {
    fn new(count: usize) -> Self {
        let layout = Self::layout(count);
        assert!(layout.size() > 0, "nodes have a size");
        // SAFETY: the layout has a size.
        let Some(start) = NonNull::new(unsafe { alloc(layout) }.cast::<T>()) else {
            handle_alloc_error(layout)
        };
        // SAFETY: the memory was just made, and is ours.
        unsafe { memory::advise_huge_pages(start.as_ptr().cast(), layout.size()) };
        for node in 0..count {
            // SAFETY: `layout` has space for `count` nodes, and no other thread knows of them.
            unsafe { start.add(node).write(T::default()) };
        }
        Self { start, count }
    }
}

impl<T> Bucket<T> {
    fn layout(count: usize) -> Layout {
        let layout = Layout::array::<T>(count).and_then(|layout| {
            let fills_one = layout.size() >= HUGE_PAGE;
            if fills_one { layout.align_to(HUGE_PAGE) } else { Ok(layout) }
        });
        layout.unwrap_or_else(|_| unreachable!("2^32 nodes fit into the address space"))
    }
}

impl<T> Drop for Bucket<T> {
    fn drop(&mut self) {
        // SAFETY: `new` made `count` nodes there with this layout, and no borrow of one is left.
        unsafe {
            NonNull::slice_from_raw_parts(self.start, self.count).drop_in_place();
            dealloc(self.start.as_ptr().cast(), Self::layout(self.count));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn numbers_lead_to_different_nodes() {
        let arena = Arena::<AtomicU32>::default();
        let numbers: Vec<u32> = (0..1_000).map(|_| arena.take(1)).collect();
        for &number in &numbers {
            assert!(number != 0);
            arena.get(number).store(number, Ordering::Relaxed);
        }
        assert_eq!(BTreeSet::from_iter(&numbers).len(), 1_000);
        assert!(numbers.iter().all(|&n| arena.get(n).load(Ordering::Relaxed) == n));
        assert_eq!(arena.high_water(), 1_000);
    }

    #[test]
    fn a_retired_node_waits_for_two_epochs() {
        let arena = Arena::<AtomicU32>::default();
        let first = arena.take(1);
        arena.retire(RetireTag::of(1), 1, first);
        assert_ne!(arena.take(2), first);
        assert_eq!(arena.take(3), first);
        arena.discard(first);
        assert_eq!(arena.take(3), first, "nobody had seen it");
    }

    /// One thread takes nodes and another one retires them: the surplus gets back to the first.
    #[test]
    fn nodes_come_round_between_threads() {
        let arena = Arena::<AtomicU32>::default();
        let (to, from) = std::sync::mpsc::sync_channel::<u32>(64);
        std::thread::scope(|scope| {
            let arena = &arena;
            scope.spawn(move || {
                from.iter().for_each(|number| arena.retire(RetireTag::of(1), 3, number))
            });
            scope.spawn(move || (0..20_000).for_each(|_| to.send(arena.take(3)).unwrap()));
        });
        assert!(arena.high_water() < 3_000, "{}", arena.high_water());
    }
}
