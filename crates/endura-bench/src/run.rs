//! Threads, rounds and the order of everything.

use std::path::PathBuf;
use std::sync::Barrier;
use std::time::Instant;

use endura::{Kind, NodeLayout, PoolOptions};
use hdrhistogram::Histogram;

use crate::keys::Zipf;
use crate::operation::{BATCH, Operation, Share, Sizes};
use crate::peer::{Contest, Peer};
use crate::store::{Footprint, Shape, Store};
use crate::timing::{empty_histogram, thread_cpu_time};
use crate::{Error, Result, peer};

/// What to measure.
#[derive(Clone)]
pub struct Config {
    /// How many keys and operations.
    pub sizes: Sizes,
    /// What to run; a load comes first whether or not it is listed.
    pub operations: Vec<Operation>,
    /// Numbers of threads, each measured with stores of its own.
    pub threads: Vec<usize>,
    /// How often everything is repeated.
    pub rounds: u32,
    /// Where temporary files go.
    pub dir: PathBuf,
    /// How endura's pools are made.
    pub pool: PoolOptions,
    /// The index of endura's map.
    pub kind: Kind,
    /// Sizes of endura's nodes; none means the default.
    pub layout: Option<NodeLayout>,
    /// How long keys and values are where the index takes byte strings.
    pub shape: Shape,
    /// Who runs beside endura.
    pub peer: Option<Peer>,
    /// Where the random numbers start.
    pub seed: u64,
}

/// One store, one operation, one round.
#[derive(Clone)]
pub struct Sample {
    /// The store's name.
    pub store: &'static str,
    /// What was run.
    pub operation: Operation,
    /// By how many threads.
    pub threads: usize,
    /// How many operations, all threads together.
    pub operations: u64,
    /// From the common start to the end of the last thread, in seconds.
    pub wall_seconds: f64,
    /// CPU time of all threads together, in seconds.
    pub cpu_seconds: f64,
    /// Nanoseconds of every 64th operation.
    pub latencies: Histogram<u64>,
}

/// What a store took up after its load.
#[derive(Debug, Clone, Copy, serde::Serialize)]
pub struct Space {
    /// The store's name.
    pub store: &'static str,
    /// The keys in it.
    pub keys: u64,
    /// What they took.
    #[serde(flatten)]
    pub footprint: Footprint,
}

/// Everything that a run found out.
pub struct Outcome {
    /// One entry per store, operation, number of threads and round.
    pub samples: Vec<Sample>,
    /// One entry per store.
    pub space: Vec<Space>,
    /// The settings of each store, by name.
    pub settings: Vec<(&'static str, String)>,
}

/// Where a run is, for a progress bar.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// Measurements done.
    pub done: u64,
    /// Measurements in all.
    pub total: u64,
    /// The round, from 0.
    pub round: u32,
    /// Threads at work.
    pub threads: usize,
    /// What is about to run.
    pub operation: Operation,
    /// On which store.
    pub store: &'static str,
}

/// Runs everything; `observe` is called before each measurement.
///
/// # Errors
///
/// What a store said, or [`Error::Wrong`] if one gave a wrong answer.
pub fn run(config: &Config, observe: &mut dyn FnMut(Progress)) -> Result<Outcome> {
    check(config)?;
    let mut runner = Runner {
        config,
        zipf: Zipf::new(config.sizes.keys, Zipf::YCSB),
        outcome: Outcome { samples: Vec::new(), space: Vec::new(), settings: Vec::new() },
        observe,
    };
    for round in 0..config.rounds {
        for &threads in &config.threads {
            peer::round(config, round, threads, &mut runner)?;
        }
    }
    Ok(runner.outcome)
}

fn check(config: &Config) -> Result<()> {
    if config.sizes.keys < 2 || config.sizes.keys > u64::from(u32::MAX) {
        return Err(Error::Config("the number of keys lies between 2 and 4294967295"));
    }
    if config.threads.is_empty() || config.threads.contains(&0) || config.rounds == 0 {
        return Err(Error::Config("threads and rounds are at least 1"));
    }
    if config.operations.contains(&Operation::Remove)
        && !config.operations.contains(&Operation::Insert)
    {
        return Err(Error::Config("`remove` removes what `insert` inserted: run both"));
    }
    Ok(())
}

struct Runner<'a> {
    config: &'a Config,
    zipf: Zipf,
    outcome: Outcome,
    observe: &'a mut dyn FnMut(Progress),
}

impl Contest for Runner<'_> {
    fn round<S: Store, P: Store>(
        &mut self,
        round: u32,
        threads: usize,
        endura: &S,
        peer: Option<&P>,
    ) -> Result<()> {
        let config = self.config;
        for operation in Operation::ALL {
            if operation != Operation::Load && !config.operations.contains(&operation) {
                continue;
            }
            // The first to run finds a cooler processor: the stores take turns at being first.
            if round.is_multiple_of(2) {
                self.measure(endura, round, threads, operation)?;
            }
            if let Some(peer) = peer {
                self.measure(peer, round, threads, operation)?;
            }
            if !round.is_multiple_of(2) {
                self.measure(endura, round, threads, operation)?;
            }
        }
        Ok(())
    }
}

impl Runner<'_> {
    fn measure<S: Store>(
        &mut self,
        store: &S,
        round: u32,
        threads: usize,
        operation: Operation,
    ) -> Result<()> {
        let config = self.config;
        let stores = 1 + u64::from(config.peer.is_some());
        let each = config.operations.iter().filter(|&&o| o != Operation::Load).count() as u64 + 1;
        (self.observe)(Progress {
            done: self.outcome.samples.len() as u64,
            total: stores * each * config.threads.len() as u64 * u64::from(config.rounds),
            round,
            threads,
            operation,
            store: S::NAME,
        });
        let seed = config.seed ^ (u64::from(round) << 32) ^ operation as u64;
        let sample = measure(store, operation, config.sizes, threads, seed, &self.zipf)?;
        self.outcome.samples.push(sample);
        if operation == Operation::Load && !self.outcome.space.iter().any(|s| s.store == S::NAME) {
            let (keys, footprint) = (config.sizes.keys, store.footprint()?);
            self.outcome.space.push(Space { store: S::NAME, keys, footprint });
            self.outcome.settings.push((S::NAME, store.settings()));
        }
        Ok(())
    }
}

/// Runs one operation on one store with threads that start together.
fn measure<S: Store>(
    store: &S,
    operation: Operation,
    sizes: Sizes,
    threads: usize,
    seed: u64,
    zipf: &Zipf,
) -> Result<Sample> {
    let barrier = Barrier::new(threads);
    let total = sizes.of(operation);
    let shares = (0..threads).map(|thread| Share {
        operation,
        sizes,
        range: part(total, operation, thread, threads),
        seed: seed.wrapping_add((thread as u64 + 1) << 48),
        zipf,
    });
    let parts: Vec<Result<Part>> = std::thread::scope(|scope| {
        let barrier = &barrier;
        let workers: Vec<_> =
            shares.map(|share| scope.spawn(move || worker(store, share, barrier))).collect();
        workers.into_iter().map(|w| w.join().unwrap_or(Err(Error::Panicked))).collect()
    });
    let parts = parts.into_iter().collect::<Result<Vec<_>>>()?;
    let wrong: u64 = parts.iter().map(|part| part.wrong).sum();
    if wrong > 0 {
        let (store, operation) = (S::NAME, operation.name());
        return Err(Error::Wrong { store, operation, wrong, of: total });
    }
    let mut latencies = empty_histogram();
    for part in &parts {
        latencies += &part.latencies;
    }
    let first = parts.iter().map(|part| part.begun).min();
    let last = parts.iter().map(|part| part.ended).max();
    let wall = last.zip(first).map(|(last, first)| last - first).unwrap_or_default();
    Ok(Sample {
        store: S::NAME,
        operation,
        threads,
        operations: total,
        wall_seconds: wall.as_secs_f64(),
        cpu_seconds: parts.iter().map(|part| part.cpu_seconds).sum(),
        latencies,
    })
}

/// The part of `0..total` that is one thread's, in whole batches where the operation has batches.
fn part(total: u64, operation: Operation, thread: usize, threads: usize) -> std::ops::Range<u64> {
    let unit = if operation == Operation::GetMany { BATCH as u64 } else { 1 };
    let cut = |thread: usize| total / unit * thread as u64 / threads as u64 * unit;
    cut(thread)..cut(thread + 1)
}

/// What one thread found out.
struct Part {
    begun: Instant,
    ended: Instant,
    cpu_seconds: f64,
    wrong: u64,
    latencies: Histogram<u64>,
}

fn worker<S: Store>(store: &S, share: Share<'_>, barrier: &Barrier) -> Result<Part> {
    let ranks = share.prepare();
    let mut latencies = empty_histogram();
    let session = store.session();
    // Reached by every thread, also by one whose session failed: the others would wait for ever.
    barrier.wait();
    let mut session = session?;
    let (begun, cpu) = (Instant::now(), thread_cpu_time());
    let wrong = share.work(&mut session, &ranks, &mut latencies)?;
    let cpu_seconds = (thread_cpu_time() - cpu).as_secs_f64();
    Ok(Part { begun, ended: Instant::now(), cpu_seconds, wrong, latencies })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_cover_everything_once_and_in_whole_batches() {
        for operation in [Operation::Get, Operation::GetMany] {
            for threads in 1..=7 {
                let parts: Vec<_> =
                    (0..threads).map(|t| part(16 * 100, operation, t, threads)).collect();
                assert_eq!(parts[0].start, 0);
                assert_eq!(parts[threads - 1].end, 1600);
                assert!(parts.windows(2).all(|pair| pair[0].end == pair[1].start));
                if operation == Operation::GetMany {
                    assert!(parts.iter().all(|part| part.start % 16 == 0));
                }
            }
        }
    }

    #[test]
    fn a_small_run_measures_every_operation_on_both_stores() {
        small_run(Kind::FastFair, Shape::WORDS);
        small_run(Kind::Roart, Shape { key_bytes: 13, value_bytes: 100 });
    }

    fn small_run(kind: Kind, shape: Shape) {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let config = Config {
            sizes: Sizes { keys: 2_000, operations: 640 },
            operations: Operation::ALL.to_vec(),
            threads: vec![1, 2],
            rounds: 2,
            dir: dir.path().to_path_buf(),
            pool: endura::Pool::options().max_size(1 << 30),
            kind,
            layout: None,
            shape,
            peer: Some(Peer::Lmdb),
            seed: 7,
        };
        let mut seen = 0;
        let outcome = run(&config, &mut |progress| {
            assert_eq!(progress.done, seen);
            seen += 1;
            assert_eq!(progress.total, 72);
        })
        .expect("a run");
        assert_eq!((seen, outcome.samples.len(), outcome.space.len()), (72, 72, 2));
        assert!(outcome.samples.iter().all(|sample| sample.wall_seconds > 0.0));
        let payload = if kind == Kind::Roart { 113 * 2000 } else { 16 * 2000 };
        assert!(outcome.space.iter().all(|space| space.footprint.used_bytes > payload));
    }
}
