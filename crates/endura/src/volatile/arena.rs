//! Nodes in DRAM, named by number: what lock-free structures point at.
//!
//! A node is made of atomics and lives as long as its arena; what is taken and given back is the
//! right to use it. So a number that is out of date leads to a node that means something else, never
//! to memory that is no node: the epochs of the pool have to prevent the first, nothing can make the
//! second happen.
//!
//! A retired node is handed out again when the epoch is two beyond its tag, by the proof in
//! [`epoch`](super::epoch). Each thread keeps what it retired and what is free, under a lock that
//! nobody else wants, and passes on what is too much.

use std::collections::VecDeque;
use std::ptr::null_mut;
use std::sync::atomic::AtomicPtr;

use super::thread;
use crate::sync::{AtomicU32, Mutex, OnceLock, Ordering};

/// Nodes in the first bucket; bucket `b` has `FIRST << b`.
const FIRST: u32 = 64;
/// Enough for all numbers of 32 bits.
const BUCKETS: usize = 26;
/// Places for threads; two threads that share one wait for each other a little.
const STOCKS: usize = 64;
/// Bytes of a large page.
const HUGE_PAGE: usize = 2 << 20;
/// What a thread keeps of free nodes before it passes on half.
const KEPT: usize = 256;

#[derive(Debug, Default)]
#[repr(align(128))]
struct Stock(Mutex<Nodes>);

#[derive(Debug, Default)]
struct Nodes {
    free: Vec<u32>,
    /// Oldest first: tag and number.
    limbo: VecDeque<(u64, u32)>,
}

impl Nodes {
    /// Frees what is ripe at epoch `now`.
    fn ripen(&mut self, now: u64) {
        while let Some(&(tag, number)) = self.limbo.front()
            && tag.saturating_add(2) <= now
        {
            self.limbo.pop_front();
            self.free.push(number);
        }
    }
}

/// Nodes of one type. Number 0 is never handed out.
#[derive(Debug)]
pub(crate) struct Arena<T> {
    buckets: [OnceLock<Box<[T]>>; BUCKETS],
    /// Where each bucket begins; null if it was not made yet.
    starts: [AtomicPtr<T>; BUCKETS],
    stocks: Box<[Stock; STOCKS]>,
    /// What threads had too much of.
    surplus: Mutex<Vec<u32>>,
    next: AtomicU32,
}

impl<T: Default> Arena<T> {
    pub(crate) fn new() -> Self {
        Self {
            buckets: [const { OnceLock::new() }; BUCKETS],
            starts: [const { AtomicPtr::new(null_mut()) }; BUCKETS],
            stocks: Box::new(std::array::from_fn(|_| Stock::default())),
            surplus: Mutex::default(),
            next: AtomicU32::new(1),
        }
    }

    /// The node with this number, whoever uses it now.
    #[inline(always)]
    pub(crate) fn get(&self, number: u32) -> &T {
        let place = u64::from(number) + u64::from(FIRST);
        let bucket = (place.ilog2() - FIRST.ilog2()) as usize;
        // Acquire: pairs with the store in `bucket`, which comes after the nodes were made.
        let mut start = self.starts[bucket].load(Ordering::Acquire);
        if start.is_null() {
            start = self.bucket(bucket);
        }
        // SAFETY: bucket `b` has `FIRST << b` nodes for the places from `FIRST << b` up to twice that, in
        // which `ilog2` is `b`. They are only ever lent out shared, and live as long as `self`.
        unsafe { &*start.add((place - (u64::from(FIRST) << bucket)) as usize) }
    }

    #[cold]
    fn bucket(&self, bucket: usize) -> *mut T {
        let nodes = self.buckets[bucket].get_or_init(|| {
            let count = (FIRST as usize) << bucket;
            let mut nodes = Vec::with_capacity(count);
            advise_huge_pages(nodes.spare_capacity_mut());
            nodes.extend((0..count).map(|_| T::default()));
            nodes.into_boxed_slice()
        });
        let start = nodes.as_ptr().cast_mut();
        // Release: pairs with `get`. Twice is as good as once.
        self.starts[bucket].store(start, Ordering::Release);
        start
    }

    /// A node that nobody else uses, at epoch `now`. What is in it means nothing.
    pub(crate) fn take(&self, now: u64) -> u32 {
        let mut nodes = self.stock().lock();
        if nodes.free.is_empty() {
            nodes.ripen(now);
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

    /// Gives back a node that nobody else has seen.
    pub(crate) fn discard(&self, number: u32) {
        let mut nodes = self.stock().lock();
        nodes.free.push(number);
        self.pass_on(&mut nodes);
    }

    /// Gives back a node that nobody reaches any more; `tag` was read after that, `now` later.
    pub(crate) fn retire(&self, tag: u64, now: u64, number: u32) {
        let mut nodes = self.stock().lock();
        nodes.limbo.push_back((tag, number));
        nodes.ripen(now);
        self.pass_on(&mut nodes);
    }

    fn pass_on(&self, nodes: &mut Nodes) {
        if nodes.free.len() > KEPT {
            self.surplus.lock().extend(nodes.free.drain(..KEPT / 2));
        }
    }

    fn stock(&self) -> &Mutex<Nodes> {
        &self.stocks[thread::current() % STOCKS].0
    }

    /// How many nodes were ever in use at once, those that wait for an epoch included.
    pub(crate) fn high_water(&self) -> u32 {
        self.next.load(Ordering::Relaxed) - 1
    }
}

/// Asks for large pages for memory that was not touched yet: random accesses then miss less often in
/// the tables of pages. A hint, refused by many kernels.
fn advise_huge_pages<T>(memory: &mut [std::mem::MaybeUninit<T>]) {
    let (start, bytes) = (memory.as_mut_ptr().cast::<u8>(), size_of_val(memory));
    let skip = start.align_offset(HUGE_PAGE);
    let whole = bytes.saturating_sub(skip) / HUGE_PAGE * HUGE_PAGE;
    #[cfg(target_os = "linux")]
    if whole > 0 {
        use rustix::mm::{Advice, madvise};
        // SAFETY: whole pages inside of memory that is ours; the advice changes nothing in them.
        _ = unsafe { madvise(start.wrapping_add(skip).cast(), whole, Advice::LinuxHugepage) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = whole;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn numbers_lead_to_different_nodes() {
        let arena = Arena::<AtomicU32>::new();
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
        let arena = Arena::<AtomicU32>::new();
        let first = arena.take(1);
        arena.retire(1, 1, first);
        assert_ne!(arena.take(2), first);
        assert_eq!(arena.take(3), first);
        arena.discard(first);
        assert_eq!(arena.take(3), first, "nobody had seen it");
    }

    /// One thread takes, another gives back: what the latter has too much of comes round.
    #[test]
    fn nodes_come_round_between_threads() {
        let arena = Arena::<AtomicU32>::new();
        let (to, from) = std::sync::mpsc::sync_channel::<u32>(64);
        std::thread::scope(|scope| {
            let arena = &arena;
            scope.spawn(move || from.iter().for_each(|number| arena.retire(1, 3, number)));
            scope.spawn(move || (0..20_000).for_each(|_| to.send(arena.take(3)).unwrap()));
        });
        assert!(arena.high_water() < 3_000, "{}", arena.high_water());
    }
}
