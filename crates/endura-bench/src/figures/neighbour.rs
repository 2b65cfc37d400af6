//! Whether somebody else is at work on the same core.
//!
//! The hardware threads of a core share what executes instructions. A virtual machine is not told that another one
//! has the second thread of its core, nor does that count as time that was taken from it; but what runs then has half
//! the core. On the machine of docs/benchmarks.md a turn of the loop here takes 0.9 ns alone and 1.4 ns beside a
//! neighbour, with little between, and a neighbour stays for seconds to minutes: lookups of one index were 9.5 million
//! a second in one round and 6 in the next.
//!
//! So each thread runs [`probe`] before and after what it measures, and a round in which one took clearly longer than
//! the shortest of the whole process is said to be of a shared core. It counts all the same: to leave such rounds out
//! made ratios of two runs differ by more where few were left, and by as much elsewhere. What helps is more rounds.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

use super::clock::thread_cpu_time;

/// The shortest probe yet, as the bits of a number: those of positive ones have the order of the numbers.
static SHORTEST: AtomicU64 = AtomicU64::new(f64::INFINITY.to_bits());

/// A neighbour takes more than this; a clock that runs slower for a while takes less.
const CLEARLY: f64 = 1.25;

/// Nanoseconds of CPU time for one turn of a loop that leaves no execution unit of a core idle: the best of three
/// times a tenth of a millisecond.
pub(crate) fn probe() -> f64 {
    const TURNS: u64 = 100_000;
    let turns = |_| {
        let begun = thread_cpu_time();
        black_box(work(black_box(TURNS)));
        (thread_cpu_time() - begun).as_secs_f64() * 1e9 / TURNS as f64
    };
    let took = (0..3).map(turns).fold(f64::INFINITY, f64::min);
    // Relaxed: a number by itself.
    SHORTEST.fetch_min(took.to_bits(), Ordering::Relaxed);
    took
}

/// Sums that do not wait for each other.
fn work(turns: u64) -> [u64; 6] {
    let table = black_box([3_u64; 512]);
    let [mut a, mut b, mut c, mut d, mut e, mut f] = [1, 2, 3, 4, 5, 6_u64];
    for turn in 0..turns {
        a = a.wrapping_add(table[turn as usize % 512]);
        b ^= table[(turn as usize + 7) % 512];
        c = c.wrapping_add(b >> 3);
        d ^= turn;
        e = e.wrapping_add(d);
        f ^= e << 1;
    }
    [a, b, c, d, e, f]
}

/// Whether a probe says that the core was shared, by all that is known up to now.
pub(crate) fn is_shared(probe: f64) -> bool {
    probe > CLEARLY * f64::from_bits(SHORTEST.load(Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_that_takes_twice_as_long_is_of_a_shared_core() {
        let took = probe();
        assert!(took > 0.05 && took < 1000.0, "{took} ns");
        assert!(is_shared(2.0 * took) && !is_shared(0.5 * took));
    }
}
