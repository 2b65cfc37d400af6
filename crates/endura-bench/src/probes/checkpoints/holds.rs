//! For how long a checkpoint holds writers that never rest, and how long it takes to copy as much.

use std::hint::black_box;
use std::time::{Duration, Instant};

use endura::{Checkpoints, Pool};
use endura_engine::media::{Media, Region};

use super::bed::{Bed, Opened, PAGE, Watch};
use super::writers::{Spread, beside_writers};
use crate::{Error, Result};

/// How often a copy is timed.
const COPIES: usize = 21;

/// Checkpoints beside writers.
#[derive(Debug, Clone, Copy)]
pub struct HoldsPlan {
    /// The share of the pool's pages that is to change from round to round.
    pub share: f64,
    /// Checkpoints.
    pub rounds: u32,
    /// From the begin of one to the begin of the next.
    pub interval: Duration,
}

/// One checkpoint.
#[derive(Debug, Clone, Copy, serde::Serialize)]
pub struct Round {
    /// For how long writers were held.
    pub held_ms: f64,
    /// For how long they were slowed down before that.
    pub slowed_ms: f64,
    /// Bytes that were copied meanwhile.
    pub copied_bytes: u64,
    /// Bytes that were written to the checkpoint's file.
    pub written_bytes: u64,
    /// How often a hold was tried.
    pub tries: u32,
    /// From the call to its return.
    pub seconds: f64,
}

/// What was measured.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Holds {
    /// The share of pages that was to change.
    pub share: f64,
    /// Pages that the pool has in use.
    pub pages: u64,
    /// Updates a second, of all writers together.
    pub updates_per_second: f64,
    /// The checkpoints that were made.
    pub rounds: Vec<Round>,
    /// How many failed.
    pub failed: u32,
    /// Milliseconds of a plain copy of as many pages as the median round copied, at the distances at which those are, in
    /// ordinary memory; two threads have just written a word of each.
    pub memcpy_ms: Vec<f64>,
    /// The same from the pool's mapping, word by word as the pool reads, while nobody writes.
    pub read_ms: Vec<f64>,
}

/// Makes checkpoints beside two writers that never rest.
pub fn holds(bed: &Bed, plan: HoldsPlan, watch: &Watch<'_>) -> Result<Holds> {
    let Opened { pool, map, .. } = bed.open(Checkpoints::on_demand())?;
    let spread = Spread::of(bed, plan.share);
    watch("the first checkpoint".into());
    spread.touch(&map)?;
    pool.checkpoint()?;
    let begun = Instant::now();
    let ((rounds, failed), updates) =
        beside_writers(&map, spread, || make_rounds(&pool, (plan.rounds, plan.interval), watch))?;
    let updates_per_second = updates.count as f64 / begun.elapsed().as_secs_f64();
    watch("plain copies".into());
    let mut copied: Vec<u64> = rounds.iter().map(|round| round.copied_bytes / PAGE).collect();
    copied.sort_unstable();
    let count = copied[copied.len() / 2].max(1);
    let memcpy_ms = plain_copies(count, bed.pages().max(count));
    let read_ms = reads(&pool, count)?;
    pool.close()?;
    let (share, pages) = (plan.share, bed.pages());
    Ok(Holds { share, pages, updates_per_second, rounds, failed, memcpy_ms, read_ms })
}

/// At least one round, and how many failed.
pub(super) fn make_rounds(
    pool: &Pool,
    (count, interval): (u32, Duration),
    watch: &Watch<'_>,
) -> Result<(Vec<Round>, u32)> {
    let begun = Instant::now();
    let (mut rounds, mut error) = (Vec::new(), None);
    for n in 1..=count {
        // The first is due when writers have been at work for as long as before any other.
        let due = begun + n * interval;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let called = Instant::now();
        match pool.checkpoint() {
            Ok(made) => rounds.push(Round {
                held_ms: made.held.as_secs_f64() * 1e3,
                slowed_ms: made.slowed.as_secs_f64() * 1e3,
                copied_bytes: made.copied_bytes,
                written_bytes: made.written_bytes,
                tries: made.tries,
                seconds: called.elapsed().as_secs_f64(),
            }),
            Err(failure) => error = Some(failure),
        }
        watch(format!("round {n} of {count}"));
    }
    let failed = count - rounds.len() as u32;
    match error {
        Some(error) if rounds.is_empty() => Err(error.into()),
        _ if rounds.is_empty() => Err(Error::Config("at least one round")),
        _ => Ok((rounds, failed)),
    }
}

fn millis(work: impl FnOnce()) -> f64 {
    let begun = Instant::now();
    work();
    begun.elapsed().as_secs_f64() * 1e3
}

/// Copies so many of `all` pages, evenly spread, out of memory that has as many pages as the pool.
fn plain_copies(count: u64, all: u64) -> Vec<f64> {
    let stride = ((all / count) * PAGE) as usize;
    let mut from = vec![0_u8; count as usize * stride];
    let mut to = vec![1_u8; (count * PAGE) as usize];
    let half = from.len() / stride / 2 * stride;
    let time = |n: usize| {
        let (low, high) = from.split_at_mut(half);
        std::thread::scope(|scope| {
            for part in [low, high] {
                scope.spawn(move || {
                    // Another word in each, as keys have it.
                    for (i, page) in part.chunks_exact_mut(stride).enumerate() {
                        page[8 * ((n + 7 * i) % 512)..][..8].fill(n as u8);
                    }
                });
            }
        });
        millis(|| {
            let pages = from.chunks_exact(stride).zip(to.chunks_exact_mut(PAGE as usize));
            pages.for_each(|(page, to)| to.copy_from_slice(&page[..PAGE as usize]));
            black_box(&mut to);
        })
    };
    // The first touches all of it.
    (0..=COPIES).map(time).skip(1).collect()
}

/// Reads so many pages of the pool, evenly spread.
fn reads(pool: &Pool, count: u64) -> Result<Vec<f64>> {
    let media = pool.space().media();
    let stride = (media.len() / PAGE / count).max(1) * PAGE;
    let mut to = vec![1_u8; (count * PAGE) as usize];
    let mut time = |_| -> Result<f64> {
        let begun = Instant::now();
        for (i, to) in (0..).zip(to.chunks_exact_mut(PAGE as usize)) {
            Region::new(media, i * stride, PAGE as usize / 8)?.read(0, to);
        }
        black_box(&mut to);
        Ok(begun.elapsed().as_secs_f64() * 1e3)
    };
    time(0)?;
    (0..COPIES).map(time).collect()
}
