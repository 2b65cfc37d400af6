//! What threads took that start together.

use std::time::Instant;

use hdrhistogram::Histogram;

use crate::figures::{empty_histogram, probe, thread_cpu_time, thread_time_in_line};
use crate::{Error, Result};

/// What a run took.
#[derive(Debug, Clone)]
pub struct Timing {
    /// How many operations there were, all threads together.
    pub operations: u64,
    /// Threads that did them.
    pub threads: usize,
    /// From the common start to the end of the last thread, in seconds.
    pub wall_seconds: f64,
    /// CPU time of all these threads together, in seconds. Threads that a store has for itself do
    /// not count.
    pub cpu_seconds: f64,
    /// The least that it would have taken on processors that nobody else uses, in seconds: what the
    /// slowest thread took without the time in which it could have run and had no processor, or, where
    /// threads share processors, what all of them need at least. Wall time on a machine that has nothing
    /// else to do.
    pub alone_seconds: f64,
    /// Nanoseconds of the operations that were timed by themselves.
    pub latencies: Histogram<u64>,
    /// The longest [`probe`] of these threads, before and after.
    pub(crate) probe: f64,
}

impl Timing {
    /// Million operations per second: of [`alone_seconds`](Self::alone_seconds), and of wall time where
    /// threads share processors, for who waits for whom is then part of the matter.
    pub fn mops(&self) -> f64 {
        let shared = self.threads > processors();
        let seconds = if shared { self.wall_seconds } else { self.alone_seconds };
        self.operations as f64 / seconds.max(1e-9) / 1e6
    }

    /// Nanoseconds of CPU time per operation.
    pub fn cpu_ns(&self) -> f64 {
        self.cpu_seconds * 1e9 / self.operations.max(1) as f64
    }

    /// Puts the threads of one run together.
    pub(crate) fn of(parts: &[Part]) -> Self {
        let mut latencies = empty_histogram();
        parts.iter().for_each(|part| latencies += &part.latencies);
        let first = parts.iter().map(|part| part.begun).min();
        let last = parts.iter().map(|part| part.ended).max();
        let wall = last.zip(first).map(|(last, first)| last - first).unwrap_or_default();
        let wall_seconds = wall.as_secs_f64();
        let cpu_seconds: f64 = parts.iter().map(|part| part.cpu_seconds).sum();
        let slowest = parts.iter().map(|part| part.alone_seconds).fold(0.0, f64::max);
        let shared = cpu_seconds / parts.len().clamp(1, processors()) as f64;
        Self {
            operations: parts.iter().map(|part| part.operations).sum(),
            threads: parts.len(),
            wall_seconds,
            cpu_seconds,
            alone_seconds: slowest.max(shared).min(wall_seconds),
            latencies,
            probe: parts.iter().map(|part| part.probe).fold(0.0, f64::max),
        }
    }
}

/// Processors that this process may use.
fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// What one thread found out.
pub(crate) struct Part {
    operations: u64,
    begun: Instant,
    ended: Instant,
    cpu_seconds: f64,
    /// Running or asleep, but not in line for a processor.
    alone_seconds: f64,
    pub(crate) wrong: u64,
    latencies: Histogram<u64>,
    probe: f64,
}

impl Part {
    /// The same with a number of operations that was not known before.
    pub(crate) fn with_operations(self, operations: u64) -> Self {
        Self { operations, ..self }
    }

    /// Times one thread's work; `work` gives how many answers were wrong.
    pub(crate) fn time(
        operations: u64,
        work: impl FnOnce(&mut Histogram<u64>) -> Result<u64>,
    ) -> Result<Self> {
        let (mut latencies, in_line) = (empty_histogram(), thread_time_in_line());
        let (begun, cpu) = (Instant::now(), thread_cpu_time());
        let wrong = work(&mut latencies)?;
        let cpu_seconds = (thread_cpu_time() - cpu).as_secs_f64();
        let ended = Instant::now();
        let in_line = thread_time_in_line().saturating_sub(in_line);
        let alone = (ended - begun).saturating_sub(in_line).as_secs_f64();
        let alone_seconds = alone.max(cpu_seconds);
        let probe = 0.0;
        Ok(Self { operations, begun, ended, cpu_seconds, alone_seconds, wrong, latencies, probe })
    }
}

/// Runs one part on each of `threads` threads, and gives all of them. Each looks for a neighbour before and
/// after, outside of what is timed: not where threads share processors, for one would take from another.
pub(crate) fn on_threads(
    threads: usize,
    part: impl Fn(usize) -> Result<Part> + Sync,
) -> Result<Vec<Part>> {
    std::thread::scope(|scope| {
        let part = &part;
        let look = || if threads > processors() { 0.0 } else { probe() };
        let work = move |thread| {
            let before = look();
            let part = part(thread)?;
            Ok(Part { probe: before.max(look()), ..part })
        };
        let workers: Vec<_> =
            (0..threads).map(|thread| scope.spawn(move || work(thread))).collect();
        workers.into_iter().map(|w| w.join().unwrap_or(Err(Error::Panicked))).collect()
    })
}
