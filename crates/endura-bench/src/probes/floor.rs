//! What the hardware takes for the least that an index can do: a load that waits for one before it, a
//! store that is made durable, a pass over all of it, records that lie anywhere read in a given order.

use endura_engine::media::{Domain, Heap, LINE, Media, Ordering, Region};

use crate::experiment::mapped;
use crate::figures::{Median, thread_cpu_time};
use crate::{Error, Result};

/// Bytes of a record: a header, a key of 24 bytes and a value of 100, as an allocator rounds them up.
pub const RECORD_BYTES: u64 = 160;

/// How many records ahead of the one that is read its lines are asked for; 0: not at all.
pub const AHEAD: [usize; 5] = [0, 4, 8, 16, 32];

/// Measured on the same machine, in the same run, over the same bytes as an index takes.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Floor {
    /// Bytes that were gone over.
    pub bytes: u64,
    /// Nanoseconds of a load from a random line whose place the load before gave.
    pub dependent_load_ns: Median,
    /// Nanoseconds of a store to a random line, its write-back and a fence.
    pub durable_store_ns: Median,
    /// Nanoseconds per line of a pass over all lines in order.
    pub sequential_line_ns: Median,
    /// Nanoseconds per record of [`RECORD_BYTES`] that lies at a random place, read whole, where it is known
    /// long before which follow; asked for ahead as [`AHEAD`] says. No scan over records of an order of their
    /// own can be faster.
    pub record_ns: [Median; AHEAD.len()],
}

impl Floor {
    /// The least that a record takes, and how far ahead it was asked for.
    pub fn best_record(&self) -> (usize, Median) {
        let all = AHEAD.into_iter().zip(self.record_ns);
        all.min_by(|a, b| a.1.median.total_cmp(&b.1.median)).unwrap_or((0, self.record_ns[0]))
    }
}

/// Measures all of it over `bytes` of a file in `dir`, so often. The places of lines are rounded up to a
/// power of two, the records take what was given.
pub fn floor(dir: &std::path::Path, bytes: u64, rounds: u32) -> Result<Floor> {
    let records = (bytes / RECORD_BYTES).max(64);
    let lines = (bytes / LINE).max(160).next_power_of_two();
    let bytes = lines * LINE;
    let medium = mapped(Domain::Adr, dir, bytes.next_multiple_of(2 << 20))?;
    medium.grow(bytes)?;
    let words = Region::new(&medium, 0, (bytes / 8) as usize)?;
    link(&words, lines);
    let steps = lines.clamp(1 << 10, 1 << 21);
    let order = shuffled(records);
    let mut samples = [const { Vec::new() }; 3];
    let mut by_distance = [const { Vec::new() }; AHEAD.len()];
    for round in 0..u64::from(rounds.max(1)) {
        samples[0].push(time(steps, || follow(&words, round * 977 % lines, steps)));
        samples[1].push(time(steps / 8, || {
            for i in 0..steps / 8 {
                // The last word of a line: the links stay.
                let word = 8 * scattered(i + round * steps, lines) as usize + 7;
                words.store(word, i, Ordering::Release);
                words.flush(word, 1);
                medium.fence();
            }
            0
        }));
        samples[2].push(time(lines, || {
            (0..lines as usize)
                .fold(0, |sum, line| sum ^ words.load(8 * line + 1, Ordering::Relaxed))
        }));
        let count = order.len().min(1 << 20);
        let from = (round as usize * 7919) % (order.len() - count + 1);
        for (samples, ahead) in by_distance.iter_mut().zip(AHEAD) {
            let part = &order[from..from + count];
            samples.push(time(count as u64, || read_records(&words, part, ahead)));
        }
    }
    let [load, store, scan] = samples.map(Median::of);
    let record_ns = by_distance.map(Median::of);
    Ok(Floor {
        bytes,
        dependent_load_ns: load,
        durable_store_ns: store,
        sequential_line_ns: scan,
        record_ns,
    })
}

/// So many numbers, each once, in random order: which record follows which.
fn shuffled(records: u64) -> Vec<u32> {
    let mut order: Vec<u32> = (0..records.min(u64::from(u32::MAX)) as u32).collect();
    fastrand::Rng::with_seed(1).shuffle(&mut order);
    order
}

/// Reads every word of the records, in this order.
fn read_records<M: Media>(words: &Region<'_, M>, order: &[u32], ahead: usize) -> u64 {
    const WORDS: usize = (RECORD_BYTES / 8) as usize;
    let place = |record: u32| WORDS * record as usize;
    let mut sum = 0;
    for (i, &record) in order.iter().enumerate() {
        if ahead > 0
            && let Some(&later) = order.get(i + ahead)
        {
            words.media().prefetch(words.offset() + 8 * place(later) as u64, RECORD_BYTES);
        }
        let from = place(record);
        sum = (from..from + WORDS).fold(sum, |sum, i| sum ^ words.load(i, Ordering::Relaxed));
    }
    sum
}

/// Nanoseconds of CPU time per step: on a machine that has nothing else to do the time that went by, and on
/// a busy one without the time in which others ran.
pub(super) fn time(steps: u64, work: impl FnOnce() -> u64) -> f64 {
    let begun = thread_cpu_time();
    std::hint::black_box(work());
    (thread_cpu_time() - begun).as_nanos() as f64 / steps.max(1) as f64
}

/// The `i`-th of a number of lines that is a power of two, each once, in an order without a pattern
/// that a prefetcher knows.
fn scattered(i: u64, lines: u64) -> u64 {
    let mask = lines - 1;
    let mut x = i & mask;
    for _ in 0..2 {
        x = x.wrapping_mul(0x9e37_79b9_7f4a_7c15 | 1) & mask;
        x ^= x >> (lines.trailing_zeros() / 2).max(1);
    }
    x
}

/// Writes into the first word of each line which line comes next: one circle through all.
fn link<M: Media>(words: &Region<'_, M>, lines: u64) {
    for i in 0..lines {
        let next = scattered((i + 1) % lines, lines);
        words.store(8 * scattered(i, lines) as usize, next, Ordering::Relaxed);
    }
}

fn follow<M: Media>(words: &Region<'_, M>, from: u64, steps: u64) -> u64 {
    (0..steps).fold(from, |line, _| words.load(8 * line as usize, Ordering::Relaxed))
}

/// What a pointer chase over emulated memory finds.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Chase {
    /// The latency that was set, in nanoseconds.
    pub set_ns: u64,
    /// What a step took: the word of the thread's clock.
    pub wall_ns: Median,
    /// What a step was charged: the model's word.
    pub charged_ns: f64,
}

/// Follows `steps` links through lines of which the emulated cache holds a sixteenth.
pub fn chase(read_ns: u64, steps: u64, rounds: u32) -> Result<Chase> {
    use endura_variants::media::{Emulated, Pace, Slow};
    const LINES: u64 = 1 << 18;
    // No prefetcher finds a chase; the model's would fill its cache with pairs.
    let slow = Slow { cache_bytes: LINES * LINE / 16, ahead: 0, ..Slow::of(read_ns) };
    let run = |pace| -> Result<(f64, f64)> {
        let medium = Emulated::new(Heap::new(LINES * LINE), Slow { pace, ..slow });
        let words = Region::new(&medium, 0, (LINES * LINE / 8) as usize)
            .map_err(|_| Error::Config("the medium is too small"))?;
        link(&words, LINES);
        let before = medium.charges();
        let wall = time(steps, || follow(&words, 0, steps));
        let charged = medium.charges().since(before).read_stall_ns as f64 / steps.max(1) as f64;
        Ok((wall, charged))
    };
    let walls = (0..rounds.max(1)).map(|_| run(Pace::Wall).map(|(wall, _)| wall));
    let wall_ns = Median::of(walls.collect::<Result<_>>()?);
    Ok(Chase { set_ns: read_ns, wall_ns, charged_ns: run(Pace::Charged)?.1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_circle_leads_through_all_lines() {
        let medium = Heap::new(1024 * LINE);
        let words = Region::new(&medium, 0, 8 * 1024).expect("words");
        link(&words, 1024);
        let mut seen = vec![false; 1024];
        let mut line = 0;
        for _ in 0..1024 {
            assert!(!std::mem::replace(&mut seen[line as usize], true), "line {line} twice");
            line = follow(&words, line, 1);
        }
        assert!(seen.iter().all(|&seen| seen) && line == 0);
    }

    /// What the command checks by the clock is checked here by what the model charges: the same on a
    /// machine that is busy.
    #[test]
    fn a_chase_is_charged_the_latency_that_was_set() {
        for ns in [300, 600, 900] {
            let chase = chase(ns, 20_000, 1).expect("a chase");
            assert!((chase.charged_ns / ns as f64 - 1.0).abs() < 0.10, "{chase:?}");
        }
    }

    #[test]
    fn the_floor_is_above_zero() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let floor = floor(dir.path(), 1 << 20, 2).expect("a floor");
        assert_eq!(floor.bytes, 1 << 20);
        let lines = [floor.dependent_load_ns, floor.durable_store_ns, floor.sequential_line_ns];
        for figure in lines.into_iter().chain(floor.record_ns) {
            assert!(figure.median > 0.0, "{floor:?}");
        }
        let (ahead, best) = floor.best_record();
        assert!(AHEAD.contains(&ahead) && floor.record_ns.iter().all(|n| best.median <= n.median));
    }

    #[test]
    fn every_record_is_read_once_whatever_is_asked_for_ahead() {
        let medium = Heap::new(64 * RECORD_BYTES);
        let words = Region::new(&medium, 0, (64 * RECORD_BYTES / 8) as usize).expect("words");
        (0..words.words()).for_each(|i| words.store(i, 1 << (i % 61), Ordering::Relaxed));
        let all = (0..words.words()).fold(0, |sum, i| sum ^ words.load(i, Ordering::Relaxed));
        let order = shuffled(64);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..64).collect::<Vec<u32>>());
        assert_ne!(order, sorted);
        for ahead in AHEAD {
            assert_eq!(read_records(&words, &order, ahead), all);
        }
    }
}
