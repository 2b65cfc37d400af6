//! Clocks: wall time, a thread's own CPU time, and sampled latencies.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use rustix::time::{ClockId, clock_gettime};

use crate::Result;

/// One operation in this many is timed by itself: two clock readings cost about as much as a
/// lookup, and spread over 64 operations they do not show.
const SAMPLE_EVERY: u64 = 64;

/// The CPU time that the calling thread has used.
pub(crate) fn thread_cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0))
}

/// Latencies in nanoseconds, 1 ns to 60 s, three digits. A longer one counts as 60 s.
pub(crate) fn empty_histogram() -> Histogram<u64> {
    const LONGEST: u64 = 60_000_000_000;
    Histogram::new_with_bounds(1, LONGEST, 3).unwrap_or_else(|_| unreachable!("valid bounds"))
}

/// Runs `operation` for each number of `range`, timing every 64th; gives how many answered wrongly.
#[inline]
pub(crate) fn sampled(
    range: std::ops::Range<u64>,
    latencies: &mut Histogram<u64>,
    mut operation: impl FnMut(u64) -> Result<bool>,
) -> Result<u64> {
    let mut wrong = 0;
    for i in range {
        let right = if i.is_multiple_of(SAMPLE_EVERY) {
            let begun = Instant::now();
            let right = operation(i)?;
            latencies.saturating_record(begun.elapsed().as_nanos() as u64);
            right
        } else {
            operation(i)?
        };
        wrong += u64::from(!right);
    }
    Ok(wrong)
}
