//! Rounds in which the stores take turns.

use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::collect::Rounds;
use super::record::TurnRecord;
use super::settings::{Settings, Turns};
use super::stage::{Stage, Suite, VERIFIED};
use super::turn::{Progress, Turn};
use crate::Result;
use crate::contender::Entrant;
use crate::figures::Pacing;
use crate::results::{Results, Role, StoreInfo};
use crate::store::{StoreOptions, temporary};
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
        let turns = settings.each_turn().filter(|turn| turn.contender.takes(suite.shape)).count();
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
        let mut rounds = Rounds::default();
        match self.settings.turns {
            Turns::ByStore => self.by_store(suite, &mut rounds)?,
            Turns::ByStage => self.by_stage(suite, &mut rounds)?,
        }
        rounds.finish(results);
        Ok(())
    }

    fn by_store(&mut self, suite: &Suite, rounds: &mut Rounds) -> Result<()> {
        let (settings, mut slow) = (self.settings, Vec::new());
        for turn in settings.each_turn().filter(|turn| turn.contender.takes(suite.shape)) {
            let who = (turn.threads, turn.contender);
            if slow.contains(&who) {
                self.done += suite.stages.len() as u64 + 1;
                continue;
            }
            let begun = Instant::now();
            let open = OpenStore::new(suite, turn, settings)?;
            (0..=suite.stages.len()).try_for_each(|stage| self.stage(&open, stage, rounds))?;
            open.close(settings, rounds)?;
            if settings.patience.is_some_and(|patience| begun.elapsed() > patience) {
                slow.push(who);
            }
        }
        Ok(())
    }

    fn by_stage(&mut self, suite: &Suite, rounds: &mut Rounds) -> Result<()> {
        let (settings, mut slow) = (self.settings, Vec::new());
        let takes = |turn: &Turn| turn.contender.takes(suite.shape);
        let turns: Vec<Turn> = settings.each_turn().filter(takes).collect();
        for turns in turns.chunk_by(|a, b| (a.round, a.threads) == (b.round, b.threads)) {
            let is_fast = |turn: &&Turn| !slow.contains(&(turn.threads, turn.contender));
            let open = |&turn: &Turn| OpenStore::new(suite, turn, settings);
            let stores: Vec<OpenStore<'_>> =
                turns.iter().filter(is_fast).map(open).collect::<Result<_>>()?;
            let left_out = turns.len() - stores.len();
            self.done += left_out as u64 * (suite.stages.len() as u64 + 1);
            let mut took = vec![Duration::ZERO; stores.len()];
            for stage in 0..=suite.stages.len() {
                for (open, took) in stores.iter().zip(&mut took) {
                    let begun = Instant::now();
                    self.stage(open, stage, rounds)?;
                    *took += begun.elapsed();
                }
            }
            for (open, took) in stores.into_iter().zip(took) {
                if settings.patience.is_some_and(|patience| took > patience) {
                    slow.push((open.turn.threads, open.turn.contender));
                }
                open.close(settings, rounds)?;
            }
        }
        Ok(())
    }

    /// The load, or the stage of that number, from 1; of a stage a tenth unmeasured first.
    fn stage(&mut self, open: &OpenStore<'_>, number: usize, rounds: &mut Rounds) -> Result<()> {
        let (settings, OpenStore { suite, turn, .. }) = (self.settings, open);
        let load = Stage::new(Workload::load(), suite.keys);
        let stage = number.checked_sub(1).map_or(&load, |before| &suite.stages[before]);
        let Stage { workload, operations, .. } = stage;
        self.observe(*turn, &workload.name);
        warm_memory(&settings.dir, suite.shape, workload, *operations);
        let (n, seed) = (number as u64, settings.seed ^ (u64::from(turn.round) << 32));
        let run = |operations, pace, seed| {
            open.store.run(&open.population, workload, Plan { operations, pace, seed })
        };
        if number > 0 {
            run(operations / 10, Pacing::FREE, seed ^ n << 16)?;
        }
        let sampled = Pacing::Free { sampled: settings.sampled };
        let pace = if number == 0 { sampled } else { settings.pace(turn.threads) };
        let timing = run(*operations, pace, seed ^ n)?;
        let mut at = open.record(settings, rounds);
        at.add(stage, timing);
        if number == 0 { at.space(open.store.as_ref()) } else { Ok(()) }
    }

    fn observe(&mut self, turn: Turn, workload: &str) {
        (self.observe)(turn.progress(workload, self.done, self.total));
        self.done += 1;
    }
}

/// One store in one round.
struct OpenStore<'a> {
    suite: &'a Suite,
    turn: Turn,
    info: StoreInfo,
    population: Population,
    options: StoreOptions,
    // The store is closed before its folder goes.
    store: Box<dyn Entrant>,
    _dir: TempDir,
}

impl<'a> OpenStore<'a> {
    fn new(suite: &'a Suite, turn: Turn, settings: &Settings) -> Result<Self> {
        let dir = temporary(&settings.dir)?;
        let operations: u64 = suite.stages.iter().map(|stage| stage.operations).sum();
        let most = suite.keys + operations + operations / 8;
        let options = settings.options(dir.path(), suite.shape, most);
        let store = turn.contender.open(&options)?;
        let (info, population) = (store.info(), Population::new(turn.threads));
        Ok(Self { suite, turn, info, population, options, store, _dir: dir })
    }

    fn record<'r>(&'r self, settings: &Settings, rounds: &'r mut Rounds) -> TurnRecord<'r> {
        let tells_all = settings.turns == Turns::ByStage;
        let (suite, info, threads) = (self.suite, &self.info, self.turn.threads);
        TurnRecord { suite, info, threads, rounds, tells_all }
    }

    /// Verifies what it holds; closes it and opens it again.
    fn close(self, settings: &Settings, rounds: &mut Rounds) -> Result<()> {
        self.store.verify(&self.population, VERIFIED)?;
        if self.info.role == Role::VolatileBound {
            return Ok(());
        }
        let Self { suite, turn, info, population, options, store, _dir } = self;
        drop(store);
        let (threads, tells_all) = (turn.threads, settings.turns == Turns::ByStage);
        let mut at = TurnRecord { suite, info: &info, threads, rounds, tells_all };
        at.reopen(turn.contender, &options, &population)
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::contender::Contender;
    use crate::results::{TAIL, WALL_TIME};
    use crate::store::{Shape, measured_pool};
    use crate::workload::Action;

    /// Two stores, two numbers of threads, a load and a stage.
    fn three_rounds(turns: Turns, patience: Option<Duration>) -> Result<Results> {
        let dir = temporary(&std::env::temp_dir())?;
        let contenders = vec![Contender::NbTree, Contender::BTreeMap];
        let settings = Settings {
            threads: vec![1, 2],
            alone_above: if turns == Turns::ByStage { 1 } else { usize::MAX },
            turns,
            rounds: 3,
            patience,
            pool: measured_pool().max_size(1 << 30),
            ..Settings::new(contenders, dir.path().to_path_buf(), 1)
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
        let rounds = |turns, patience| {
            let results = three_rounds(turns, patience).expect("a run");
            let timed = results.measurements.iter().filter(|m| m.quantity == "throughput");
            timed.map(|m| m.rounds.len()).collect::<Vec<_>>()
        };
        for (turns, all) in [(Turns::ByStore, 8), (Turns::ByStage, 6)] {
            assert_eq!(rounds(turns, None), vec![3; all]);
            assert_eq!(rounds(turns, Some(Duration::from_secs(3600))), vec![3; all]);
            assert_eq!(rounds(turns, Some(Duration::ZERO)), vec![1; all]);
        }
    }

    #[test]
    fn latencies_are_told_once() {
        let results = three_rounds(Turns::ByStore, None).expect("a run");
        let with = results.measurements.iter().filter(|m| m.latency_ns.is_some());
        let of: Vec<&str> = with.map(|m| m.quantity.as_str()).collect();
        assert_eq!(of, ["throughput"; 8]);
    }

    #[test]
    fn stores_that_take_turns_by_stages_tell_what_ratios_are_made_of() {
        let results = three_rounds(Turns::ByStage, None).expect("a run");
        let of = |quantity: &str| {
            let found = results.measurements.iter().filter(|m| m.quantity == quantity);
            found.map(|m| (m.store.as_str(), m.threads)).collect::<Vec<_>>()
        };
        // Of the load and of the stage; the second one with one thread only.
        let all = [("NbTree", 1), ("BTreeMap", 1)].repeat(2);
        let all = [all, [("NbTree", 2)].repeat(2)].concat();
        for quantity in ["throughput", "cpu time", WALL_TIME, TAIL] {
            assert_eq!(of(quantity), all, "{quantity}");
        }
        assert_eq!(of("file"), [("NbTree", 1), ("NbTree", 2)]);
        assert!(results.measurements.iter().all(|m| m.rounds.len() == 3));
    }
}
