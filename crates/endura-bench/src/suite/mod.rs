//! Workloads on many stores: rounds in which the stores take turns.
//!
//! In each round, for each number of threads, every store is made anew, loaded, taken through all
//! stages, verified, closed and opened again; then comes the next store. The order of the stores
//! shifts by one from round to round. One store lives at a time, so that the background work of one
//! is not paid by another. A stage runs a tenth of its operations unmeasured first.

mod collect;
mod tpcc;

pub use self::tpcc::tpcc;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use endura::{NodeLayout, PoolOptions};

use crate::contender::Contender;
use crate::entrant::Entrant;
use crate::keys::key;
use crate::result::{Measurement, Parameter, Quantity, Results, Role, StoreInfo};
use crate::store::{Place, Shape};
use crate::timing::Pace;
use crate::warm::warm_memory;
use crate::workload::{Plan, Population, Workload};
use crate::{Error, Result};
use collect::Collector;

/// Keys that are looked for after the last stage, and as many that must be gone.
const VERIFIED: u64 = 100_000;

/// Workloads that are run one after the other on the same entries.
#[derive(Debug, Clone)]
pub struct Suite {
    /// The name in tables.
    pub name: String,
    /// Keys that are loaded.
    pub keys: u64,
    /// How long keys and values are.
    pub shape: Shape,
    /// What is run, in this order.
    pub stages: Vec<Stage>,
    /// What this suite is a point of.
    pub parameter: Option<Parameter>,
}

/// One workload of a suite.
#[derive(Debug, Clone)]
pub struct Stage {
    /// What is run.
    pub workload: Workload,
    /// How many operations, all threads together.
    pub operations: u64,
    /// What this stage is a point of, if not its suite.
    pub parameter: Option<Parameter>,
}

impl Stage {
    /// So many operations of a workload, not part of a sweep.
    pub fn new(workload: Workload, operations: u64) -> Self {
        Self { workload, operations, parameter: None }
    }
}

/// Who takes part, where and how.
#[derive(Clone)]
pub struct Settings {
    /// The stores. One that takes no keys of a suite's shape is left out of it.
    pub contenders: Vec<Contender>,
    /// Numbers of threads, each measured by itself.
    pub threads: Vec<usize>,
    /// How often everything is repeated.
    pub rounds: u32,
    /// A store whose turn in a suite took longer is left out of its later rounds; none means never.
    pub patience: Option<Duration>,
    /// Operations per second that arrive, all threads together; none means as many as it can do.
    pub rate: Option<f64>,
    /// One operation in so many is timed by itself. With a rate, each is.
    pub sampled: u64,
    /// Where the random numbers start.
    pub seed: u64,
    /// Where temporary files go.
    pub dir: PathBuf,
    /// How endura's pools are made.
    pub pool: PoolOptions,
    /// Sizes of FAST & FAIR's nodes; none means the default.
    pub layout: Option<NodeLayout>,
}

impl Settings {
    pub(crate) fn check(&self) -> Result<()> {
        if self.contenders.is_empty() {
            return Err(Error::Config("no store takes part"));
        }
        if self.threads.is_empty() || self.threads.contains(&0) || self.rounds == 0 {
            return Err(Error::Config("threads and rounds are at least 1"));
        }
        if self.rate.is_some_and(|rate| !(rate > 0.0 && rate <= 1e9)) {
            return Err(Error::Config("a rate lies above 0 and at most at 1000000000 a second"));
        }
        Ok(())
    }

    /// The contenders in the order of a round.
    pub(crate) fn order(&self, round: u32) -> Vec<Contender> {
        let mut order = self.contenders.clone();
        order.rotate_left(round as usize % self.contenders.len());
        order
    }

    pub(crate) fn pace(&self, threads: usize) -> Pace {
        match self.rate {
            Some(rate) => Pace::Due { every_ns: (threads as f64 * 1e9 / rate) as u64 },
            None => Pace::Free { sampled: self.sampled },
        }
    }

    pub(crate) fn place(&self, dir: &Path, shape: Shape, entries: u64) -> Place {
        Place {
            pool: self.pool.clone(),
            layout: self.layout,
            ..Place::new(dir.join("store"), shape, entries)
        }
    }
}

/// Where a run is, for a progress bar.
#[derive(Debug, Clone)]
pub struct Progress {
    /// Stages done, loads among them.
    pub done: u64,
    /// Stages in all.
    pub total: u64,
    /// The round, from 0.
    pub round: u32,
    /// Threads at work.
    pub threads: usize,
    /// On which store.
    pub store: &'static str,
    /// What is about to run.
    pub workload: String,
}

/// Runs suites and adds what they measured to `results`; `observe` is called before each stage.
///
/// # Errors
///
/// What a store said, or [`Error::Wrong`] if one gave a wrong answer.
pub fn run(
    suites: &[Suite],
    settings: &Settings,
    results: &mut Results,
    observe: &mut dyn FnMut(Progress),
) -> Result<()> {
    settings.check()?;
    for suite in suites {
        suite.stages.iter().try_for_each(|stage| stage.workload.check())?;
    }
    let mut runner = Runner { settings, observe, done: 0, total: total(suites, settings) };
    for suite in suites {
        let (mut collector, mut slow) = (Collector::default(), Vec::new());
        for round in 0..settings.rounds {
            for &threads in &settings.threads {
                for contender in settings.order(round) {
                    if !contender.takes(suite.shape) {
                        continue;
                    }
                    if slow.contains(&(threads, contender)) {
                        runner.done += suite.stages.len() as u64 + 1;
                        continue;
                    }
                    let begun = Instant::now();
                    runner.store(suite, contender, round, threads, &mut collector)?;
                    if settings.patience.is_some_and(|patience| begun.elapsed() > patience) {
                        slow.push((threads, contender));
                    }
                }
            }
        }
        collector.finish(results);
    }
    Ok(())
}

fn total(suites: &[Suite], settings: &Settings) -> u64 {
    let runs = u64::from(settings.rounds) * settings.threads.len() as u64;
    let of = |suite: &Suite| {
        let takers = settings.contenders.iter().filter(|c| c.takes(suite.shape)).count();
        (takers * (suite.stages.len() + 1)) as u64
    };
    runs * suites.iter().map(of).sum::<u64>()
}

struct Runner<'a> {
    settings: &'a Settings,
    observe: &'a mut dyn FnMut(Progress),
    done: u64,
    total: u64,
}

impl Runner<'_> {
    /// One store in one round.
    fn store(
        &mut self,
        suite: &Suite,
        contender: Contender,
        round: u32,
        threads: usize,
        collector: &mut Collector,
    ) -> Result<()> {
        let settings = self.settings;
        let dir = temporary(&settings.dir)?;
        let operations: u64 = suite.stages.iter().map(|stage| stage.operations).sum();
        let most = suite.keys + operations + operations / 8;
        let place = settings.place(dir.path(), suite.shape, most);
        let store = contender.open(&place)?;
        let info = store.info();
        let mut at = At { suite, info: &info, threads, collector };
        let population = Population::new(threads);
        let seed = settings.seed ^ (u64::from(round) << 32);
        let load =
            Plan { operations: suite.keys, pace: Pace::Free { sampled: settings.sampled }, seed };
        self.observe(round, threads, contender, "load");
        let warm = |workload: &Workload, operations| {
            warm_memory(&settings.dir, suite.shape, workload, operations);
        };
        warm(&Workload::load(), suite.keys);
        at.add(
            &Stage::new(Workload::load(), suite.keys),
            store.run(&population, &Workload::load(), load)?,
        );
        at.space(store.as_ref())?;
        for (stage, n) in suite.stages.iter().zip(1_u64..) {
            self.observe(round, threads, contender, &stage.workload.name);
            let plan = |operations, seed| Plan { operations, pace: settings.pace(threads), seed };
            warm(&stage.workload, stage.operations);
            let warm_up = Plan { pace: Pace::FREE, ..plan(stage.operations / 10, seed ^ n << 16) };
            store.run(&population, &stage.workload, warm_up)?;
            let plan = plan(stage.operations, seed ^ n);
            at.add(stage, store.run(&population, &stage.workload, plan)?);
        }
        store.verify(&population, VERIFIED)?;
        if info.role != Role::VolatileBound {
            drop(store);
            at.reopen(contender, &place, &population)?;
        }
        Ok(())
    }

    fn observe(&mut self, round: u32, threads: usize, contender: Contender, workload: &str) {
        let (done, total, store) = (self.done, self.total, contender.name());
        (self.observe)(Progress { done, total, round, threads, store, workload: workload.into() });
        self.done += 1;
    }
}

/// Whose measurements these are.
struct At<'a> {
    suite: &'a Suite,
    info: &'a StoreInfo,
    threads: usize,
    collector: &'a mut Collector,
}

impl At<'_> {
    fn add(&mut self, stage: &Stage, timing: crate::workload::Timing) {
        let quantity = Quantity::throughput(vec![timing.mops()]);
        let measurement = self.measurement(stage, quantity);
        self.collector.add(self.info, measurement, Some(&timing.latencies));
        let quantity = Quantity::cost("cpu time", "ns/op", vec![timing.cpu_ns()]);
        let measurement = self.measurement(stage, quantity);
        self.collector.add(self.info, measurement, None);
    }

    fn measurement(&self, stage: &Stage, quantity: Quantity) -> Measurement {
        let (suite, store) = (self.suite, &self.info.name);
        Measurement {
            threads: self.threads,
            entries: suite.keys,
            parameter: stage.parameter.clone().or_else(|| suite.parameter.clone()),
            ..Measurement::new(&suite.name, &stage.workload.name, store, quantity)
        }
    }

    /// Of a store that does not say, nothing.
    fn space(&mut self, store: &dyn Entrant) -> Result<()> {
        let used = store.footprint()?.used_bytes;
        if used > 0 {
            let per_key = used as f64 / self.suite.keys.max(1) as f64;
            self.cost("load", Quantity::cost("space", "B/key", vec![per_key]));
        }
        Ok(())
    }

    fn cost(&mut self, workload: &str, quantity: Quantity) {
        let stage = Stage::new(Workload { name: workload.into(), ..Workload::load() }, 0);
        let measurement = self.measurement(&stage, quantity);
        self.collector.add(self.info, measurement, None);
    }

    /// From the call that opens a store that was closed to the first answer.
    fn reopen(
        &mut self,
        contender: Contender,
        place: &Place,
        population: &Population,
    ) -> Result<()> {
        let begun = Instant::now();
        let store = contender.open(place)?;
        let position = population.window(0).start;
        store.session()?.get(key(population.number(0, position)))?;
        let took = begun.elapsed().as_secs_f64() * 1e3;
        store.verify(population, VERIFIED / 10)?;
        self.cost("after a close", Quantity::cost("reopen time", "ms", vec![took]));
        Ok(())
    }
}

/// A folder that is deleted when it is dropped.
pub(crate) fn temporary(dir: &Path) -> Result<tempfile::TempDir> {
    tempfile::Builder::new().prefix("endura-bench-").tempdir_in(dir).map_err(|source| Error::Io {
        doing: format!("cannot make a folder in {}", dir.display()),
        source,
    })
}

#[cfg(test)]
mod tests {
    use endura::Pool;

    use super::*;
    use crate::workload::Action;

    #[test]
    fn a_store_that_takes_too_long_has_one_round() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let rounds = |patience: Option<Duration>| {
            let settings = Settings {
                contenders: vec![Contender::NbTree, Contender::BTreeMap],
                threads: vec![1, 2],
                rounds: 3,
                patience,
                rate: None,
                sampled: 16,
                seed: 1,
                dir: dir.path().to_path_buf(),
                pool: Pool::options().max_size(1 << 30),
                layout: None,
            };
            let stages = vec![Stage::new(Workload::only("read", Action::Read), 100)];
            let name = "a suite".into();
            let suite = Suite { name, keys: 500, shape: Shape::WORDS, stages, parameter: None };
            let mut results = Results::new(String::new(), 1);
            let mut observe = |at: Progress| assert!(at.done < at.total, "{at:?}");
            run(&[suite], &settings, &mut results, &mut observe).expect("a run");
            let timed = results.measurements.iter().filter(|m| m.quantity == "throughput");
            timed.map(|m| m.rounds.len()).collect::<Vec<_>>()
        };
        // Two stores, two numbers of threads, a load and a stage.
        assert_eq!(rounds(None), [3; 8]);
        assert_eq!(rounds(Some(Duration::from_secs(3600))), [3; 8]);
        assert_eq!(rounds(Some(Duration::ZERO)), [1; 8]);
    }
}
