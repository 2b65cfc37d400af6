//! Checkpoints beside writers of large values at a given rate: for how long writers are held, how long one of them waits at most, and
//! what memory the copies take.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use endura::{Checkpoints, Map};

use super::bed::{Bed, Place, Watch};
use super::holds::{Round, make_rounds};
use crate::{Error, Result};

/// Bytes of a value.
const VALUE: usize = 64 << 10;
/// Writers at a time.
const WRITERS: u64 = 2;

/// Checkpoints beside writers of values of 64 KiB.
#[derive(Debug, Clone, Copy)]
pub struct RecordsPlan {
    /// Bytes of all values.
    pub bytes: u64,
    /// Bytes that are put each second, by all writers together.
    pub rate: u64,
    /// Checkpoints.
    pub rounds: u32,
    /// From the begin of one to the begin of the next.
    pub interval: Duration,
}

/// What was measured.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Records {
    /// Bytes of all values.
    pub bytes: u64,
    /// Bytes that were to be put each second.
    pub rate: u64,
    /// Bytes that were.
    pub bytes_per_second: f64,
    /// The longest put.
    pub longest_ms: f64,
    /// By how much the memory of the process grew at most, without what it has mapped of files.
    pub grown_bytes: u64,
    /// The checkpoints that were made.
    pub rounds: Vec<Round>,
    /// How many failed.
    pub failed: u32,
}

/// Makes checkpoints beside two writers that replace values at the rate of the plan.
pub fn records(place: Place<'_>, plan: RecordsPlan, watch: &Watch<'_>) -> Result<Records> {
    let bed = Bed::empty(place)?;
    let pool = bed.options(Checkpoints::on_demand()).open(bed.path())?;
    let map: Map<u64, [u8]> = pool.map("records")?;
    let keys = (plan.bytes / VALUE as u64).max(1);
    for key in 0..keys {
        map.put(key, &[1; VALUE])?;
        if key % 1024 == 0 {
            watch(format!("loading: {key} of {keys} records"));
        }
    }
    watch("the first checkpoint".into());
    pool.checkpoint()?;
    let ends = AtomicBool::new(false);
    let before = anonymous_bytes();
    let most = AtomicU64::new(before);
    let begun = Instant::now();
    let (made, puts) = std::thread::scope(|scope| {
        let (map, ends, most) = (&map, &ends, &most);
        scope.spawn(move || {
            while !ends.load(Ordering::Relaxed) {
                most.fetch_max(anonymous_bytes(), Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        let write = |seed| scope.spawn(move || write(map, (keys, plan.rate / WRITERS), seed, ends));
        let writers: Vec<_> = (1..=WRITERS).map(write).collect();
        let made = make_rounds(&pool, (plan.rounds, plan.interval), watch);
        ends.store(true, Ordering::Relaxed);
        let puts = writers.into_iter().map(|writer| writer.join().map_err(|_| Error::Panicked)?);
        (made, puts.collect::<Result<Vec<_>>>())
    });
    let ((rounds, failed), puts) = (made?, puts?);
    let count: u64 = puts.iter().map(|(count, _)| count).sum();
    let longest = puts.iter().map(|&(_, longest)| longest).max().unwrap_or_default();
    let bytes_per_second = (count * VALUE as u64) as f64 / begun.elapsed().as_secs_f64();
    drop(map);
    pool.close()?;
    Ok(Records {
        bytes: plan.bytes,
        rate: plan.rate,
        bytes_per_second,
        longest_ms: longest.as_secs_f64() * 1e3,
        grown_bytes: most.into_inner() - before,
        rounds,
        failed,
    })
}

/// Puts values at so many bytes a second until the end: how many, and how long the longest took.
fn write(
    map: &Map<u64, [u8]>,
    (keys, rate): (u64, u64),
    seed: u64,
    ends: &AtomicBool,
) -> Result<(u64, Duration)> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let (mut count, mut longest, mut value) = (0_u64, Duration::ZERO, vec![0; VALUE]);
    let begun = Instant::now();
    while !ends.load(Ordering::Relaxed) {
        let due = Duration::from_secs_f64(count as f64 * VALUE as f64 / rate.max(1) as f64);
        std::thread::sleep(due.saturating_sub(begun.elapsed()));
        value[..8].copy_from_slice(&count.to_le_bytes());
        let called = Instant::now();
        map.put(rng.u64(0..keys), &value)?;
        longest = longest.max(called.elapsed());
        count += 1;
    }
    Ok((count, longest))
}

/// Bytes of this process that belong to no file; 0 where the kernel does not tell.
fn anonymous_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")).and_then(|n| n.parse().ok());
    kib.unwrap_or(0_u64) << 10
}
