//! Clocks: wall time, a thread's own CPU time, how long it stood in line, and sampled latencies.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use rustix::time::{ClockId, clock_gettime};

use crate::Result;

/// When operations begin, and which are timed by themselves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pacing {
    /// Each as soon as the one before has returned; one in so many is timed. Two clock readings cost
    /// about as much as a lookup, and spread over 64 operations they do not show.
    Free {
        /// One in so many, at least 1.
        sampled: u64,
    },
    /// At a fixed rate whether or not those before have returned; each is timed from when it was
    /// due, so that one that stalls counts for all that it delayed ("coordinated omission").
    Due {
        /// Nanoseconds from one to the next.
        every_ns: u64,
    },
}

impl Pacing {
    /// As fast as it goes, one in 64 timed.
    pub const FREE: Self = Self::Free { sampled: 64 };
}

/// The CPU time that the calling thread has used.
pub(crate) fn thread_cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0))
}

/// How long the calling thread could have run and had no processor, since it began. Zero where Linux does
/// not say.
pub(crate) fn thread_time_in_line() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split_ascii_whitespace().nth(1).and_then(|field| field.parse().ok());
    Duration::from_nanos(nanos.unwrap_or(0))
}

/// Latencies in nanoseconds, 1 ns to 60 s, three digits. A longer one counts as 60 s.
pub(crate) fn empty_histogram() -> Histogram<u64> {
    const LONGEST: u64 = 60_000_000_000;
    Histogram::new_with_bounds(1, LONGEST, 3).unwrap_or_else(|_| unreachable!("valid bounds"))
}

/// Runs `operation` for each number below `count`; gives how many answered wrongly.
#[inline]
pub(crate) fn timed(
    count: usize,
    pace: Pacing,
    latencies: &mut Histogram<u64>,
    mut operation: impl FnMut(usize) -> Result<bool>,
) -> Result<u64> {
    let mut wrong = 0;
    match pace {
        Pacing::Free { sampled } => {
            // Counted down: no division in the loop.
            let mut left = 1;
            for n in 0..count {
                left -= 1;
                let right = if left == 0 {
                    left = sampled.max(1);
                    let begun = Instant::now();
                    let right = operation(n)?;
                    latencies.saturating_record(begun.elapsed().as_nanos() as u64);
                    right
                } else {
                    operation(n)?
                };
                wrong += u64::from(!right);
            }
        }
        Pacing::Due { every_ns } => {
            let begun = Instant::now();
            for n in 0..count {
                let due = Duration::from_nanos(every_ns.saturating_mul(n as u64));
                wait_until(begun + due);
                wrong += u64::from(!operation(n)?);
                let late = begun.elapsed().saturating_sub(due);
                latencies.saturating_record(late.as_nanos() as u64);
            }
        }
    }
    Ok(wrong)
}

/// Sleeps while there is time, and looks at the clock for the rest: a sleep may be late by more than
/// an operation takes.
fn wait_until(due: Instant) {
    const CLOSE: Duration = Duration::from_micros(200);
    loop {
        let left = due.saturating_duration_since(Instant::now());
        match left {
            Duration::ZERO => return,
            left if left > CLOSE => std::thread::sleep(left - CLOSE),
            _ => std::hint::spin_loop(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stalled(pace: Pacing) -> Histogram<u64> {
        let mut latencies = empty_histogram();
        let wrong = timed(100, pace, &mut latencies, |n| {
            if n == 10 {
                std::thread::sleep(Duration::from_millis(20));
            }
            Ok(n % 2 == 0)
        });
        assert_eq!(wrong.expect("no error"), 50);
        latencies
    }

    /// More threads than processors stand in line, all together at least as long as they lack processors.
    #[test]
    fn threads_without_a_processor_stand_in_line() {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let spin = || {
            let (begun, before) = (Instant::now(), thread_time_in_line());
            while begun.elapsed() < Duration::from_millis(60) {
                std::hint::spin_loop();
            }
            (thread_time_in_line() - before).as_secs_f64()
        };
        let in_line: f64 = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..3 * processors).map(|_| scope.spawn(spin)).collect();
            workers.into_iter().map(|worker| worker.join().expect("a thread")).sum()
        });
        // 60 ms of each processor go to three threads that want 60 ms each; or the file is not there.
        let known = std::path::Path::new("/proc/thread-self/schedstat").exists();
        assert!(in_line > 0.03 * processors as f64 || !known, "{in_line} s");
    }

    /// One stall of 20 ms among a hundred operations that are due every 0.2 ms delays the ninety
    /// after it, by less and less. A loop without a rate sees one slow operation.
    #[test]
    fn a_stall_counts_for_all_that_it_delays() {
        let due = stalled(Pacing::Due { every_ns: 200_000 });
        assert_eq!(due.len(), 100);
        assert!(due.value_at_quantile(0.5) > 5_000_000, "{}", due.value_at_quantile(0.5));
        let free = stalled(Pacing::Free { sampled: 1 });
        assert!(free.max() >= 20_000_000 && free.value_at_quantile(0.9) < 5_000_000);
        assert_eq!(stalled(Pacing::Free { sampled: 10 }).len(), 10);
    }
}
