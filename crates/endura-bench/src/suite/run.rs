//! Rounds in which the stores take turns.

use std::time::Instant;

use super::collect::Rounds;
use super::record::TurnRecord;
use super::settings::Settings;
use super::stage::{Stage, Suite, VERIFIED};
use super::turn::{Progress, Turn};
use crate::Result;
use crate::figures::Pacing;
use crate::results::{Results, Role};
use crate::store::temporary;
use crate::workload::{Plan, Population, Workload, warm_memory};

/// Runs suites and adds what they measured to `results`; `observe` is called before each stage.
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
        let (mut rounds, mut slow) = (Rounds::default(), Vec::new());
        for turn in settings.turns().filter(|turn| turn.contender.takes(suite.shape)) {
            let who = (turn.threads, turn.contender);
            if slow.contains(&who) {
                self.done += suite.stages.len() as u64 + 1;
                continue;
            }
            let begun = Instant::now();
            self.store(suite, turn, &mut rounds)?;
            if settings.patience.is_some_and(|patience| begun.elapsed() > patience) {
                slow.push(who);
            }
        }
        rounds.finish(results);
        Ok(())
    }

    /// One store in one round.
    fn store(&mut self, suite: &Suite, turn: Turn, rounds: &mut Rounds) -> Result<()> {
        let settings = self.settings;
        let Turn { round, threads, contender } = turn;
        let dir = temporary(&settings.dir)?;
        let operations: u64 = suite.stages.iter().map(|stage| stage.operations).sum();
        let most = suite.keys + operations + operations / 8;
        let options = settings.options(dir.path(), suite.shape, most);
        let store = contender.open(&options)?;
        let info = store.info();
        let mut at = TurnRecord { suite, info: &info, threads, rounds };
        let population = Population::new(threads);
        let seed = settings.seed ^ (u64::from(round) << 32);
        let load =
            Plan { operations: suite.keys, pace: Pacing::Free { sampled: settings.sampled }, seed };
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
            let warm_up =
                Plan { pace: Pacing::FREE, ..plan(stage.operations / 10, seed ^ n << 16) };
            store.run(&population, &stage.workload, warm_up)?;
            let plan = plan(stage.operations, seed ^ n);
            at.add(stage, store.run(&population, &stage.workload, plan)?);
        }
        store.verify(&population, VERIFIED)?;
        if info.role != Role::VolatileBound {
            drop(store);
            at.reopen(contender, &options, &population)?;
        }
        Ok(())
    }

    fn observe(&mut self, turn: Turn, workload: &str) {
        (self.observe)(turn.progress(workload, self.done, self.total));
        self.done += 1;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use endura::Pool;

    use super::*;
    use crate::contender::Contender;
    use crate::store::Shape;
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
