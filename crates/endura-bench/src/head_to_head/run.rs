//! Rounds, in which the two take turns operation by operation.

use super::config::{Config, check};
use super::operation::Operation;
use super::outcome::{ENDURA, Outcome, Sample, StoreSpace};
use crate::Result;
use crate::contender::{Contender, Entrant};
use crate::figures::{Pacing, is_shared};
use crate::store::{StoreOptions, temporary};
use crate::suite::Progress;
use crate::workload::{Plan, Population, warm_memory};

/// Runs everything; `observe` is called before each measurement.
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

struct Runner<'a> {
    config: &'a Config,
    outcome: Outcome,
    observe: &'a mut dyn FnMut(Progress),
}

/// A store of one round.
struct OpenStore {
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
        let open = |contender: Contender, name: &'static str| -> Result<OpenStore> {
            let options = StoreOptions {
                pool: config.pool.clone(),
                layout: config.layout,
                ..StoreOptions::new(
                    dir.path().join(name),
                    shape,
                    config.sizes.keys + config.sizes.operations + config.sizes.operations / 8,
                )
            };
            let store = contender.open(&options)?;
            Ok(OpenStore { name, store, population: Population::new(threads) })
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
        open: &OpenStore,
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
            store,
            workload: operation.name().into(),
        });
        let seed = config.seed ^ (u64::from(round) << 32) ^ operation as u64;
        let plan = Plan { operations: config.sizes.of(operation), pace: Pacing::FREE, seed };
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
            self.outcome.space.push(StoreSpace { store, keys, footprint });
            self.outcome.settings.push((store, open.store.info().setting));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::head_to_head::Sizes;
    use crate::store::Shape;
    use endura::Kind;

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
