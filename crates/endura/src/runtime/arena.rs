//! Arenas of nodes in DRAM. Lock-free structures point at a node by its number.
//!
//! A node consists of atomics and lives as long as its arena. A thread takes and gives back only the right to use it.
//! So a stale number leads to a node that means something else, never to memory that is no node. The epochs of the pool
//! prevent the first; the second cannot happen.
//!
//! A retired node may be reused when the epoch is two beyond its tag, by the proof in [`epoch`](super::epoch). Each
//! thread has its own lists of retired and of free nodes, under a lock without contention, and passes surplus nodes on
//! to others.

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

/// Nodes in the first bucket that is used; each has twice as many as the one before. Few: most maps of a pool with
/// many maps are small.
const FIRST: u32 = 4;
/// Bucket `b` is for the places `1 << b` to twice that, where the place of a node is its number and
/// [`FIRST`]. Enough for all numbers of 32 bits.
const BUCKETS: usize = 33;
/// Places for threads; two threads that share one wait for each other a little.
const PLACES: usize = 64;
/// Bytes of a large page.
const HUGE_PAGE: usize = 2 << 20;
/// The most free nodes that a thread keeps before it passes on half.
const KEPT: usize = 256;

#[derive(Debug, Default)]
#[repr(align(128))]
struct OwnNodes(Mutex<FreeNodes>);

/// The nodes that a thread may hand out, now or later.
#[derive(Debug, Default)]
struct FreeNodes {
    free: Vec<u32>,
    /// Oldest first.
    retired: VecDeque<Retired<u32>>,
}

impl FreeNodes {
    /// Frees what has expired at epoch `now`.
    fn free_expired(&mut self, now: u64) {
        while let Some(&number) = self.retired.front().and_then(|oldest| oldest.expired(now)) {
            self.retired.pop_front();
            self.free.push(number);
        }
    }
}

/// The place of a node, and the bucket that it lies in.
#[inline(always)]
fn place(number: u32) -> (usize, usize) {
    let place = u64::from(number) + u64::from(FIRST);
    (place as usize, place.ilog2() as usize)
}

/// Nodes of one type. Number 0 is never handed out.
#[derive(Debug)]
pub struct Arena<T> {
    buckets: [OnceBox<Bucket<T>>; BUCKETS],
    /// Of each bucket where place 0 would be, so that a lookup need not subtract; null if the bucket was
    /// not made yet.
    origins: [AtomicPtr<T>; BUCKETS],
    /// Made when a thread with that place takes or gives back its first node: most maps are written by few threads.
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
        // SAFETY: bucket `b` has the nodes of the places from `1 << b` up to twice that, in which `ilog2` is
        // `b`, and its origin is so far before the first one. They are only ever lent out shared, and live
        // as long as `self`.
        unsafe { &*origin.wrapping_add(place) }
    }

    /// As [`get`](Self::get) of a node that was handed out: there is nothing to make.
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
        // Release: pairs with `get`. Twice is as good as once.
        self.origins[bucket].store(origin, Ordering::Release);
        origin
    }

    /// A node that no other thread uses, at epoch `now`. Its contents mean nothing.
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
        // Relaxed: a number orders nothing.
        nodes.free.pop().unwrap_or_else(|| self.next.fetch_add(1, Ordering::Relaxed))
    }

    /// Gives back a node that no other thread has seen.
    pub(crate) fn discard(&self, number: u32) {
        let mut nodes = self.own().lock();
        nodes.free.push(number);
        self.pass_on(&mut nodes);
    }

    /// Gives back a node that is unreachable; `tag` was read after it became so, `now` later.
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

    /// How many nodes were ever in use at once, those that wait for an epoch included.
    pub(crate) fn high_water(&self) -> u32 {
        self.next.load(Ordering::Relaxed) - 1
    }
}

/// Nodes in one piece, from a large page on if they fill one.
#[derive(Debug)]
struct Bucket<T> {
    start: NonNull<T>,
    count: usize,
}

// SAFETY: a bucket owns its nodes, as a `Box<[T]>` does.
unsafe impl<T: Send> Send for Bucket<T> {}
// SAFETY: as above; it lends them out shared.
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
            // SAFETY: `layout` has room for so many, and no other thread knows of them.
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
        // SAFETY: `new` made so many nodes there with this layout, and no borrow of one is left.
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

    /// One thread takes, another gives back: what the latter has too much of comes round.
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
