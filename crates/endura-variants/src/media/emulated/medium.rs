//! Slow memory, emulated on fast memory: how long an access would take with other latencies.
//!
//! The papers measure on DRAM that is made to look like slower persistent memory: a delay for each
//! line that is written back, and one for each line that misses the last-level cache. So does
//! [`Emulated`], with a model of the cache that decides what is a miss:
//!
//! * The cache is set-associative; within a set the line used longest ago goes.
//! * A load that misses waits until its line has come: one read latency after it was asked for. *Total*
//!   latency: what the access really takes is part of it.
//! * A line asked for earlier, by [`Media::prefetch`] or by the model's own prefetcher, is waited for
//!   only as long as it still takes: misses overlap. At most [`overlap`](Slow::overlap) are under way
//!   per thread, as a core has so many fill buffers.
//! * The prefetcher fetches the other half of an aligned pair of lines, and, after two neighbouring
//!   lines, the next ones in the same direction, as those of processors do.
//! * A store to a missing line asks for it and does not wait for it: it sits in the store buffer. It
//!   waits for a fill buffer, or stores would run ahead of the memory without end.
//! * A flushed line is durable one write latency after its flush; the fence waits for the last of
//!   them. Flushes between two fences overlap.
//! * With a bandwidth, lines follow each other at their distance, reads and writes alike.
//!
//! Where the medium inside needs no flush (eADR), flushes and fences cost nothing; dirty lines are
//! written when they leave the cache.
//!
//! # Two clocks
//!
//! [`Pace::Wall`] waits, by watching the clock: what is measured on the medium is what slow memory
//! would give, but for the model's own work. [`Pace::Charged`] waits for nothing and adds up what
//! would have been waited, on a clock of its own that each thread moves on: the same figures on every
//! run and on a busy machine, for one thread.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use endura_engine::Result;
use endura_engine::media::{LINE, Media, Ordering};

use crate::pass_on;

use super::cache::{Cache, Found};
use super::clock::{Clock, Pace};
use super::thread::{MOST_AT_ONCE, PerThread, Thread};

/// Lines of a page: no prefetcher of a processor crosses it.
const PAGE_LINES: u64 = 4096 / LINE;

/// How slow memory is, and what stands between it and the program.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slow {
    /// Nanoseconds from asking for a line that misses the cache until it is there.
    pub read_ns: u64,
    /// Nanoseconds from the flush of a line until it is durable.
    pub write_ns: u64,
    /// Bytes of the cache: a power of two, at least 64 for each way.
    pub cache_bytes: u64,
    /// Lines of a set: a power of two.
    pub ways: u64,
    /// Misses of one thread that can be under way at once, 1 to 16.
    pub overlap: u64,
    /// Lines that are fetched ahead when a second neighbouring line is touched; with 0 the other half
    /// of a pair is not fetched either.
    pub ahead: u64,
    /// Bytes that can come and go in a second, all threads together.
    pub bytes_per_second: Option<u64>,
    /// Whether a line that was flushed has left the cache (`clflush`, `clflushopt`, early `clwb`).
    pub flush_evicts: bool,
    /// Whether to wait or to add up.
    pub pace: Pace,
}

impl Slow {
    /// Reads and writes of `ns` nanoseconds behind a cache of 4 MiB with 16 ways, in which a core has ten
    /// misses at once; waits.
    pub const fn of(ns: u64) -> Self {
        Self {
            read_ns: ns,
            write_ns: ns,
            cache_bytes: 4 << 20,
            ways: 16,
            overlap: 10,
            ahead: 2,
            bytes_per_second: None,
            flush_evicts: false,
            pace: Pace::Wall,
        }
    }
}

/// What an [`Emulated`] medium has seen, all threads together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Charges {
    /// Lines fetched from the medium: misses and what was fetched ahead.
    pub lines_fetched: u64,
    /// Loads that found their line missing or still on its way, and stores that had to wait.
    pub misses: u64,
    /// Lines written to the medium: flushed while dirty, or dirty when they left the cache.
    pub lines_written: u64,
    /// Nanoseconds that these waited.
    pub read_stall_ns: u64,
    /// Nanoseconds that fences waited.
    pub write_stall_ns: u64,
}

impl Charges {
    /// What happened since `earlier`.
    pub fn since(self, earlier: Self) -> Self {
        Self {
            lines_fetched: self.lines_fetched - earlier.lines_fetched,
            misses: self.misses - earlier.misses,
            lines_written: self.lines_written - earlier.lines_written,
            read_stall_ns: self.read_stall_ns - earlier.read_stall_ns,
            write_stall_ns: self.write_stall_ns - earlier.write_stall_ns,
        }
    }
}

/// A medium inside slower memory; the module's text says how slow.
///
/// ```
/// use endura_engine::media::{Heap, Region};
/// use endura_variants::media::{Emulated, Pace, Slow};
/// use std::sync::atomic::Ordering;
///
/// let slow = Slow { pace: Pace::Charged, ..Slow::of(300) };
/// let medium = Emulated::new(Heap::adr(1 << 20), slow);
/// let words = Region::new(&medium, 0, 131_072)?;
/// words.load(0, Ordering::Acquire);
/// words.load(1, Ordering::Acquire);   // the same line
/// words.load(64_000, Ordering::Acquire);
/// assert_eq!(medium.charges().read_stall_ns, 600);
/// # Ok::<(), endura_engine::Error>(())
/// ```
pub struct Emulated<M> {
    inner: M,
    slow: Slow,
    cache: Cache,
    clock: Clock,
    threads: PerThread,
    /// When the channel to the memory is free again, in ticks of the clock.
    channel: AtomicU64,
    /// Ticks of the latencies and of a line at the given bandwidth.
    read: AtomicU64,
    write: AtomicU64,
    transfer: u64,
    lines_written: AtomicU64,
}

impl<M: Media> Emulated<M> {
    /// Puts `inner` behind memory that is so slow.
    ///
    /// # Panics
    ///
    /// Where `slow` holds what its fields rule out.
    pub fn new(inner: M, slow: Slow) -> Self {
        assert!((1..=MOST_AT_ONCE).contains(&slow.overlap), "1 to 16 misses at once");
        let clock = Clock::new(slow.pace);
        let transfer_ns = slow.bytes_per_second.map_or(0.0, |rate| LINE as f64 * 1e9 / rate as f64);
        Self {
            cache: Cache::new(slow.cache_bytes / LINE, slow.ways),
            threads: PerThread::new(),
            channel: AtomicU64::new(0),
            read: clock.ticks(slow.read_ns as f64).into(),
            write: clock.ticks(slow.write_ns as f64).into(),
            transfer: clock.ticks(transfer_ns),
            lines_written: AtomicU64::new(0),
            inner,
            slow,
            clock,
        }
    }

    /// Gives it other latencies, in nanoseconds, from the next access on; with 0 nothing waits, and the
    /// cache goes on as before.
    pub fn set_latency(&self, read_ns: u64, write_ns: u64) {
        // Relaxed: an access of another thread may still see the old ones.
        self.read.store(self.clock.ticks(read_ns as f64), Relaxed);
        self.write.store(self.clock.ticks(write_ns as f64), Relaxed);
    }

    /// What it has cost so far. Exact while no other thread is inside an operation.
    pub fn charges(&self) -> Charges {
        let sum = self.threads.sum();
        Charges {
            lines_fetched: sum.fetched,
            misses: sum.misses,
            lines_written: self.lines_written.load(Relaxed),
            read_stall_ns: self.clock.nanos(sum.read_stall),
            write_stall_ns: self.clock.nanos(sum.write_stall),
        }
    }

    /// Writes every dirty line back and empties the cache: what runs next finds it cold.
    pub fn empty_cache(&self) {
        self.lines_written.fetch_add(self.cache.empty(), Relaxed);
    }

    /// When a line that is asked for at `from` has gone over the channel.
    fn over_channel(&self, from: u64) -> u64 {
        if self.transfer == 0 {
            return from;
        }
        let begin = |free: u64| free.max(from) + self.transfer;
        // Relaxed: the figure stands for itself.
        let free = self.channel.fetch_update(Relaxed, Relaxed, |free| Some(begin(free)));
        begin(free.unwrap_or_else(|free| free)) - self.transfer
    }

    /// Asks for a line that the cache does not have, on behalf of a program at `now`; gives when it will
    /// be there.
    fn fetch(&self, thread: &Thread, line: u64, dirty: bool, now: u64) -> u64 {
        // The total latency has the real one in it.
        self.inner.prefetch(line * LINE, LINE);
        let read = self.read.load(Relaxed);
        let ready = thread.admit(now, self.slow.overlap, |begin| self.over_channel(begin) + read);
        if self.cache.admit(line, dirty, ready) {
            self.lines_written.fetch_add(1, Relaxed);
        }
        ready
    }

    /// What a processor fetches of its own accord beside a line that was just touched.
    fn fetch_ahead(&self, thread: &Thread, line: u64, last: u64, missed: bool, now: u64) {
        let want = |line: u64| {
            if !self.cache.holds(line) {
                self.fetch(thread, line, false, now);
            }
        };
        if self.slow.ahead > 0 && missed {
            want(line ^ 1);
        }
        let step = line.wrapping_sub(last);
        if step == 1 || step == u64::MAX {
            let page = line / PAGE_LINES;
            (1..=self.slow.ahead)
                .map(|distance| line.wrapping_add(step.wrapping_mul(distance)))
                .take_while(|ahead| ahead / PAGE_LINES == page)
                .for_each(want);
        }
    }

    /// A load, or a store that does not wait, of the word at `at`.
    #[inline]
    fn touch(&self, at: u64, write: bool) {
        let (line, thread) = (at / LINE, self.threads.mine());
        if write {
            // The line may still be on its way: the next load must not pass for one of a line at hand.
            return self.touch_line(thread, line, line, true);
        }
        let last = thread.last_line(line);
        if last != line {
            self.touch_line(thread, line, last, false);
        }
    }

    fn touch_line(&self, thread: &Thread, line: u64, last: u64, write: bool) {
        // First of all: what the model does from here on is part of the latency that it stands for.
        let now = self.clock.now(thread);
        let found = self.cache.look_up(line, write);
        if found == Found::Here(0) && line.abs_diff(last) != 1 {
            return;
        }
        let ready = match found {
            Found::Here(ready) => ready,
            Found::Missing => self.fetch(thread, line, write, now),
        };
        self.fetch_ahead(thread, line, last, matches!(found, Found::Missing), now);
        if ready <= now {
            self.cache.arrived(line);
        } else if !write {
            thread.missed(ready - now);
            self.cache.arrived(line);
            self.clock.wait_until(thread, ready);
        } else {
            let begun = ready.saturating_sub(self.read.load(Relaxed));
            if begun > now {
                thread.missed(begun - now);
                self.clock.wait_until(thread, begun);
            }
        }
    }

    /// A flush of one line.
    fn write_back(&self, thread: &Thread, line: u64) {
        let now = self.clock.now(thread);
        let Some(ready) = self.cache.clean(line, self.slow.flush_evicts) else { return };
        self.lines_written.fetch_add(1, Relaxed);
        thread.durable_at(self.over_channel(now.max(ready)) + self.write.load(Relaxed));
    }

    /// Waits for the thread's write-backs.
    fn wait_for_writes(&self) {
        let thread = self.threads.mine();
        let durable = thread.take_durable_at();
        if durable == 0 {
            return;
        }
        let now = self.clock.now(thread);
        if durable > now {
            thread.fenced(durable - now);
            self.clock.wait_until(thread, durable);
        }
    }
}

// SAFETY: every access goes to the inner medium, which keeps the contract; the model only waits.
unsafe impl<M: Media> Media for Emulated<M> {
    pass_on!(inner: len, grow, cut, needs_flush, hears_flushes, mark, sync);

    unsafe fn load(&self, at: u64, order: Ordering) -> u64 {
        self.touch(at, false);
        // SAFETY: the caller's promise, passed on.
        unsafe { self.inner.load(at, order) }
    }

    unsafe fn store(&self, at: u64, value: u64, order: Ordering) {
        self.touch(at, true);
        // SAFETY: the caller's promise, passed on.
        unsafe { self.inner.store(at, value, order) }
    }

    unsafe fn compare_exchange(&self, at: u64, old: u64, new: u64) -> Result<u64, u64> {
        self.touch(at, false);
        self.touch(at, true);
        // SAFETY: the caller's promise, passed on.
        unsafe { self.inner.compare_exchange(at, old, new) }
    }

    unsafe fn compare_exchange_pair(
        &self,
        at: u64,
        old: [u64; 2],
        new: [u64; 2],
    ) -> Result<(), [u64; 2]> {
        self.touch(at, false);
        self.touch(at, true);
        // SAFETY: the caller's promise, passed on.
        unsafe { self.inner.compare_exchange_pair(at, old, new) }
    }

    unsafe fn flush(&self, at: u64, len: u64) {
        if self.inner.needs_flush() && len > 0 {
            let thread = self.threads.mine();
            (at / LINE..(at + len).div_ceil(LINE)).for_each(|line| self.write_back(thread, line));
        }
        // SAFETY: the caller's promise, passed on.
        unsafe { self.inner.flush(at, len) }
    }

    unsafe fn stream(&self, at: u64, value: u64) {
        // SAFETY: the caller's promise, passed on.
        unsafe { self.inner.stream(at, value) }
        let (thread, line) = (self.threads.mine(), at / LINE);
        let now = self.clock.now(thread);
        self.cache.clean(line, true);
        self.lines_written.fetch_add(1, Relaxed);
        thread.durable_at(self.over_channel(now) + self.write.load(Relaxed));
    }

    fn fence(&self) {
        self.inner.fence();
        self.wait_for_writes();
    }

    fn drain(&self) {
        self.inner.drain();
        self.wait_for_writes();
    }

    fn prefetch(&self, at: u64, len: u64) {
        let end = at.saturating_add(len).min(self.inner.len());
        let thread = self.threads.mine();
        let mut now = None;
        for line in at / LINE..end.div_ceil(LINE) {
            if !self.cache.holds(line) {
                let now = *now.get_or_insert_with(|| self.clock.now(thread));
                self.fetch(thread, line, false, now);
            }
        }
    }

    fn grant(&self) -> bool {
        self.inner.grant()
    }
}
