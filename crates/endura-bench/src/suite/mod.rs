//! Workloads on many stores: rounds in which the stores take turns.
//!
//! In each round, for each number of threads, every store is made anew, loaded, taken through all
//! stages, verified, closed and opened again; then comes the next store. The order of the stores
//! shifts by one from round to round. One store lives at a time, so that the background work of one
//! is not paid by another. A stage runs a tenth of its operations unmeasured first.

mod at;
mod collect;
mod settings;
mod tpcc;

pub use self::settings::{Progress, Settings};
pub use self::tpcc::tpcc;

use std::path::Path;
use std::time::Instant;

use crate::result::{Parameter, Results, Role};
use crate::store::Shape;
use crate::timing::Pace;
use crate::warm::warm_memory;
use crate::workload::{Plan, Population, Workload};
use crate::{Error, Result};
use at::At;
use collect::Collector;
use settings::Turn;

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
    suites.iter().try_for_each(|suite| runner.suite(suite, results))
}

fn total(suites: &[Suite], settings: &Settings) -> u64 {
    let of = |suite: &Suite| {
        let turns = settings.turns().filter(|turn| turn.contender.takes(suite.shape)).count();
        turns * (suite.stages.len() + 1)
    };
    suites.iter().map(of).sum::<usize>() as u64
}

struct Runner<'a> {
    settings: &'a Settings,
    observe: &'a mut dyn FnMut(Progress),
    done: u64,
    total: u64,
}

impl Runner<'_> {
    fn suite(&mut self, suite: &Suite, results: &mut Results) -> Result<()> {
        let settings = self.settings;
        let (mut collector, mut slow) = (Collector::default(), Vec::new());
        for turn in settings.turns().filter(|turn| turn.contender.takes(suite.shape)) {
            let who = (turn.threads, turn.contender);
            if slow.contains(&who) {
                self.done += suite.stages.len() as u64 + 1;
                continue;
            }
            let begun = Instant::now();
            self.store(suite, turn, &mut collector)?;
            if settings.patience.is_some_and(|patience| begun.elapsed() > patience) {
                slow.push(who);
            }
        }
        collector.finish(results);
        Ok(())
    }

    /// One store in one round.
    fn store(&mut self, suite: &Suite, turn: Turn, collector: &mut Collector) -> Result<()> {
        let settings = self.settings;
        let Turn { round, threads, contender } = turn;
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
        self.observe(turn, "load");
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
            self.observe(turn, &stage.workload.name);
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

    fn observe(&mut self, turn: Turn, workload: &str) {
        (self.observe)(turn.progress(workload, self.done, self.total));
        self.done += 1;
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
    use std::time::Duration;

    use endura::Pool;

    use super::*;
    use crate::contender::Contender;
    use crate::workload::Action;

    /// Two stores, two numbers of threads, a load and a stage.
    fn three_rounds(patience: Option<Duration>) -> Result<Results> {
        let dir = temporary(&std::env::temp_dir())?;
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
        run(&[suite], &settings, &mut results, &mut observe)?;
        Ok(results)
    }

    #[test]
    fn a_store_that_takes_too_long_has_one_round() {
        let rounds = |patience| {
            let results = three_rounds(patience).expect("a run");
            let timed = results.measurements.iter().filter(|m| m.quantity == "throughput");
            timed.map(|m| m.rounds.len()).collect::<Vec<_>>()
        };
        assert_eq!(rounds(None), [3; 8]);
        assert_eq!(rounds(Some(Duration::from_secs(3600))), [3; 8]);
        assert_eq!(rounds(Some(Duration::ZERO)), [1; 8]);
    }

    #[test]
    fn latencies_are_told_once() {
        let results = three_rounds(None).expect("a run");
        let with = results.measurements.iter().filter(|m| m.latency_ns.is_some());
        let of: Vec<&str> = with.map(|m| m.quantity.as_str()).collect();
        assert_eq!(of, ["throughput"; 8]);
    }
}
