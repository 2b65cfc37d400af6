//! endura beside one peer: rounds, in which they take turns operation by operation.

use std::path::PathBuf;

use endura::{Kind, NodeLayout, PoolOptions};
use hdrhistogram::Histogram;

use crate::contender::Contender;
use crate::entrant::Entrant;
use crate::neighbour::is_shared;
use crate::operation::{Operation, Sizes};
use crate::store::{Footprint, Place, Shape};
use crate::suite::temporary;
use crate::summary::ENDURA;
use crate::timing::Pace;
use crate::warm::warm_memory;
use crate::workload::{Plan, Population};
use crate::{Error, Result};

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
    pub peer: Option<Contender>,
    /// Numbers of threads with which ours runs alone all the same.
    pub alone: Vec<usize>,
    /// Where the random numbers start.
    pub seed: u64,
}

impl Config {
    fn shape(&self) -> Shape {
        if self.kind == Kind::Roart { self.shape } else { Shape::WORDS }
    }

    fn peer_at(&self, threads: usize) -> Option<Contender> {
        self.peer.filter(|_| !self.alone.contains(&threads))
    }
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
    /// Whether somebody else used the same core.
    pub shared: bool,
    probe: f64,
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
    let outcome = Outcome { samples: Vec::new(), space: Vec::new(), settings: Vec::new() };
    let mut runner = Runner { config, outcome, observe };
    for round in 0..config.rounds {
        for &threads in &config.threads {
            runner.round(round, threads)?;
        }
    }
    let mut outcome = runner.outcome;
    // Only now is it known how fast a core can be.
    outcome.samples.iter_mut().for_each(|sample| sample.shared = is_shared(sample.probe));
    Ok(outcome)
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
    outcome: Outcome,
    observe: &'a mut dyn FnMut(Progress),
}

/// A store of one round.
struct Open {
    name: &'static str,
    store: Box<dyn Entrant>,
    population: Population,
}

impl Runner<'_> {
    /// Runs all operations on fresh stores.
    fn round(&mut self, round: u32, threads: usize) -> Result<()> {
        let config = self.config;
        let dir = temporary(&config.dir)?;
        let shape = config.shape();
        let open = |contender: Contender, name: &'static str| -> Result<Open> {
            let place = Place {
                pool: config.pool.clone(),
                layout: config.layout,
                ..Place::new(
                    dir.path().join(name),
                    shape,
                    config.sizes.keys + config.sizes.operations + config.sizes.operations / 8,
                )
            };
            let store = contender.open(&place)?;
            Ok(Open { name, store, population: Population::new(threads) })
        };
        let mut stores = vec![open(Contender::of(config.kind)?, ENDURA)?];
        if let Some(peer) = config.peer_at(threads) {
            stores.push(open(peer, peer.name())?);
        }
        // The first to run finds a cooler processor: the stores take turns at being first.
        if !round.is_multiple_of(2) {
            stores.reverse();
        }
        for operation in Operation::ALL {
            if operation == Operation::Load || config.operations.contains(&operation) {
                stores.iter().try_for_each(|open| self.measure(open, round, threads, operation))?;
            }
        }
        Ok(())
    }

    fn measure(
        &mut self,
        open: &Open,
        round: u32,
        threads: usize,
        operation: Operation,
    ) -> Result<()> {
        let (config, store) = (self.config, open.name);
        let stores = |&threads: &usize| 1 + u64::from(config.peer_at(threads).is_some());
        let stores: u64 = config.threads.iter().map(stores).sum();
        let each = config.operations.iter().filter(|&&o| o != Operation::Load).count() as u64 + 1;
        (self.observe)(Progress {
            done: self.outcome.samples.len() as u64,
            total: stores * each * u64::from(config.rounds),
            round,
            threads,
            operation,
            store,
        });
        let seed = config.seed ^ (u64::from(round) << 32) ^ operation as u64;
        let plan = Plan { operations: config.sizes.of(operation), pace: Pace::FREE, seed };
        warm_memory(&config.dir, config.shape(), &operation.workload(), plan.operations);
        if operation != Operation::Load {
            // The other store had the caches before.
            let warm_up = Plan { operations: plan.operations / 10, seed: !seed, ..plan };
            open.store.run(&open.population, &operation.workload(), warm_up)?;
        }
        let timing = open.store.run(&open.population, &operation.workload(), plan)?;
        self.outcome.samples.push(Sample {
            store,
            operation,
            threads,
            operations: timing.operations,
            wall_seconds: timing.wall_seconds,
            cpu_seconds: timing.cpu_seconds,
            latencies: timing.latencies,
            shared: false,
            probe: timing.probe,
        });
        if operation == Operation::Load && !self.outcome.space.iter().any(|s| s.store == store) {
            let (keys, footprint) = (config.sizes.keys, open.store.footprint()?);
            self.outcome.space.push(Space { store, keys, footprint });
            self.outcome.settings.push((store, open.store.info().setting));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_run_measures_every_operation_on_both_stores() {
        small_run(Kind::FastFair, Shape::WORDS);
        small_run(Kind::Roart, Shape::fixed(13, 100));
    }

    fn small_run(kind: Kind, shape: Shape) {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let config = Config {
            sizes: Sizes { keys: 2_000, operations: 640 },
            operations: Operation::ALL.to_vec(),
            threads: vec![1, 2, 3],
            rounds: 2,
            dir: dir.path().to_path_buf(),
            pool: endura::Pool::options().max_size(1 << 30),
            kind,
            layout: None,
            shape,
            peer: Some(Contender::Lmdb),
            alone: vec![3],
            seed: 7,
        };
        let mut seen = 0;
        let outcome = run(&config, &mut |progress| {
            assert_eq!(progress.done, seen);
            seen += 1;
            assert_eq!(progress.total, 90);
        })
        .expect("a run");
        assert_eq!((seen, outcome.samples.len(), outcome.space.len()), (90, 90, 2));
        assert!(outcome.samples.iter().all(|s| s.store == ENDURA || s.threads < 3));
        assert!(outcome.samples.iter().all(|sample| sample.wall_seconds > 0.0));
        let payload = if kind == Kind::Roart { 113 * 2000 } else { 16 * 2000 };
        assert!(outcome.space.iter().all(|space| space.footprint.used_bytes > payload));
    }
}
