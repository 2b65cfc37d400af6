//! What the model remembers of each thread.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Fill buffers that a model can have.
pub(super) const MOST_AT_ONCE: u64 = 16;

/// Threads that have a place of their own; more share places, and so each other's waits.
const PLACES: usize = 64;

/// One thread's place. Only its thread writes to it, so that loads and stores are enough.
#[repr(align(128))]
#[derive(Default)]
pub(super) struct Thread {
    /// The clock of a medium that charges.
    now: AtomicU64,
    last_line: AtomicU64,
    /// When the last write-back since the last fence is durable.
    durable: AtomicU64,
    /// When each fill buffer is free again, and which is the next.
    buffers: [AtomicU64; MOST_AT_ONCE as usize],
    next: AtomicU64,
    fetched: AtomicU64,
    misses: AtomicU64,
    read_stall: AtomicU64,
    write_stall: AtomicU64,
}

fn add(counter: &AtomicU64, n: u64) {
    counter.store(counter.load(Relaxed) + n, Relaxed);
}

impl Thread {
    pub(super) fn charged_now(&self) -> u64 {
        self.now.load(Relaxed)
    }

    pub(super) fn charge_until(&self, then: u64) {
        self.now.store(then, Relaxed);
    }

    /// Notes the line that is touched; gives the one before.
    #[inline]
    pub(super) fn last_line(&self, line: u64) -> u64 {
        // Kept plus one: before the first nothing was touched.
        let last = self.last_line.load(Relaxed).wrapping_sub(1);
        self.last_line.store(line + 1, Relaxed);
        last
    }

    /// Takes the fill buffer that is free first for a fetch that begins when it is, not before `now`;
    /// `arrival` says from the begin when the line is there.
    pub(super) fn admit(&self, now: u64, at_once: u64, arrival: impl FnOnce(u64) -> u64) -> u64 {
        let next = self.next.load(Relaxed);
        self.next.store((next + 1) % at_once, Relaxed);
        // In turn: a fetch takes always as long, so that the one begun first ends first.
        let buffer = &self.buffers[next as usize];
        let ready = arrival(now.max(buffer.load(Relaxed)));
        buffer.store(ready, Relaxed);
        add(&self.fetched, 1);
        ready
    }

    /// A load waits for so many ticks.
    pub(super) fn missed(&self, ticks: u64) {
        add(&self.misses, 1);
        add(&self.read_stall, ticks);
    }

    /// A fence waits for so many ticks.
    pub(super) fn fenced(&self, ticks: u64) {
        add(&self.write_stall, ticks);
    }

    pub(super) fn durable_at(&self, then: u64) {
        self.durable.store(self.durable.load(Relaxed).max(then), Relaxed);
    }

    pub(super) fn take_durable_at(&self) -> u64 {
        let durable = self.durable.load(Relaxed);
        if durable != 0 {
            self.durable.store(0, Relaxed);
        }
        durable
    }
}

/// What all threads together have waited.
#[derive(Default)]
pub(super) struct Sum {
    pub(super) fetched: u64,
    pub(super) misses: u64,
    pub(super) read_stall: u64,
    pub(super) write_stall: u64,
}

/// A place for each thread.
pub(super) struct PerThread(Box<[Thread]>);

impl PerThread {
    pub(super) fn new() -> Self {
        Self(std::iter::repeat_with(Thread::default).take(PLACES).collect())
    }

    #[inline]
    pub(super) fn mine(&self) -> &Thread {
        static THREADS: AtomicUsize = AtomicUsize::new(0);
        thread_local! {
            static PLACE: usize = THREADS.fetch_add(1, Relaxed) % PLACES;
        }
        &self.0[PLACE.with(|place| *place)]
    }

    pub(super) fn sum(&self) -> Sum {
        self.0.iter().fold(Sum::default(), |sum, thread| Sum {
            fetched: sum.fetched + thread.fetched.load(Relaxed),
            misses: sum.misses + thread.misses.load(Relaxed),
            read_stall: sum.read_stall + thread.read_stall.load(Relaxed),
            write_stall: sum.write_stall + thread.write_stall.load(Relaxed),
        })
    }
}
