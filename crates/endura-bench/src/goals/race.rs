//! An index beside a peer, and what is asked of it.

use std::path::Path;

use endura::Kind;
use endura_engine::media::MediaChoice;

use crate::contender::Contender;
use crate::figures::{Median, grouped};
use crate::results::{Better, CPU_TIME, Measurement, Results, TAIL, WALL_TIME};
use crate::store::{Shape, measured_pool};
use crate::suite::{self, Settings, Suite, Turns};
use crate::workload::plain::{Operation, Sizes};
use crate::{Error, Result};

use super::judged::Judged;

/// What is divided by what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Our throughput by the peer's: of CPU time with one thread, of wall time with more.
    TimesPeer,
    /// Our throughput by that of our own lookups, of keys or of batches.
    TimesOwnGet,
    /// Our wall throughput with two threads by that with one.
    TimesOneThread,
    /// Our 99.9th percentile by the peer's: less is better.
    TailBesidePeer,
}

/// How much it is to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goal {
    /// Of what.
    pub operation: Operation,
    /// What is divided by what.
    pub measure: Measure,
    /// What it has to reach; for a tail what it must not exceed.
    pub asked: f64,
    /// What we aim at.
    pub aim: Option<f64>,
    /// What is known to stop it where it falls short.
    pub bound: Option<&'static str>,
}

/// An index beside a peer, with the goals that are judged by one run of both.
#[derive(Debug, Clone, Copy)]
pub struct Race {
    /// The name on a command line.
    pub name: &'static str,
    /// The index.
    pub kind: Kind,
    /// Its keys and values.
    pub shape: Shape,
    /// How many are loaded.
    pub keys: u64,
    /// Operations of each kind that follow: the keys by this. Few are enough for a mean, not for a tail.
    pub keys_per_operation: u64,
    /// Who runs beside it.
    pub peer: Contender,
    /// How the pool lies in memory.
    pub media: MediaChoice,
    /// Numbers of threads.
    pub threads: &'static [usize],
    /// What is judged.
    pub goals: &'static [Goal],
}

impl Race {
    /// In words, with as many keys as were loaded.
    pub fn describe(&self, keys: u64) -> String {
        let medium = match self.media {
            MediaChoice::Clwb => ", write-back executed",
            _ => "",
        };
        format!(
            "{} beside {}, {} keys, {}{medium}",
            self.ours().map_or(self.kind.name(), Contender::name),
            self.peer.name(),
            grouped(keys),
            self.shape.name()
        )
    }

    /// Whether this build has the peer.
    pub fn can_run(&self) -> bool {
        self.peer.is_built()
    }

    /// Runs both with `1 / divisor` of the keys; `observe` is told what is about to be measured, and which part of
    /// the race is done.
    pub fn run(
        &self,
        divisor: u64,
        rounds: u32,
        dir: &Path,
        observe: &mut dyn FnMut(f64, &str),
    ) -> Result<Vec<Judged>> {
        let keys = (self.keys / divisor.max(1)).max(2);
        let mut operations: Vec<Operation> = self.goals.iter().flat_map(Goal::needs).collect();
        operations.sort_unstable();
        operations.dedup();
        let sizes = Sizes { keys, operations: (keys / self.keys_per_operation).max(1) };
        let suite = Suite::plain("plain operations", sizes, self.shape, &operations);
        let settings = Settings {
            threads: self.threads.to_vec(),
            // With more threads ours is measured against itself.
            alone_above: self.threads[0],
            turns: Turns::ByStage,
            rounds,
            pool: measured_pool().media(self.media),
            ..Settings::new(vec![self.ours()?, self.peer], dir.to_path_buf(), 1)
        };
        let mut results = Results::new(String::new(), 1);
        suite::run(&[suite], &settings, &mut results, &mut |at| {
            let part = at.done as f64 / at.total.max(1) as f64;
            observe(part, &format!("{}: {} {}", self.name, at.store, at.workload));
        })?;
        let race = self.describe(keys);
        self.goals.iter().map(|goal| self.judge(race.clone(), goal, &results)).collect()
    }

    fn ours(&self) -> Result<Contender> {
        Contender::of(self.kind)
    }

    fn judge(&self, race: String, goal: &Goal, results: &Results) -> Result<Judged> {
        let measured = goal.measured(self, results)?;
        let better = goal.measure.better();
        let is_reached = match better {
            Better::Lower => measured.median <= goal.asked,
            Better::Higher => measured.median >= goal.asked,
        };
        let (asked, aim, bound) = (goal.asked, goal.aim, goal.bound.filter(|_| !is_reached));
        let shared_percent = goal.shared_percent(results);
        let goal = goal.describe(self);
        Ok(Judged { race, goal, better, asked, aim, measured, is_reached, bound, shared_percent })
    }
}

impl Measure {
    fn better(self) -> Better {
        match self {
            Self::TailBesidePeer => Better::Lower,
            Self::TimesPeer | Self::TimesOwnGet | Self::TimesOneThread => Better::Higher,
        }
    }
}

impl Goal {
    /// At least so many times as fast as the peer.
    pub const fn times_peer(operation: Operation, asked: f64, aim: Option<f64>) -> Self {
        Self { operation, measure: Measure::TimesPeer, asked, aim, bound: None }
    }

    /// Two threads at least so many times as fast as one.
    pub const fn times_one_thread(operation: Operation, asked: f64) -> Self {
        Self { operation, measure: Measure::TimesOneThread, asked, aim: None, bound: None }
    }

    /// At least so many times as fast as our own lookup.
    pub const fn times_own_get(operation: Operation, asked: f64) -> Self {
        Self { operation, measure: Measure::TimesOwnGet, asked, aim: None, bound: None }
    }

    /// The same, and what stops it where it falls short.
    #[must_use]
    pub const fn bounded_by(self, what: &'static str) -> Self {
        Self { bound: Some(what), ..self }
    }

    /// What has to be run.
    fn needs(&self) -> Vec<Operation> {
        let before = match (self.measure, self.operation) {
            (Measure::TimesOwnGet, _) => Some(Operation::Get),
            // What is removed must be there.
            (_, Operation::Remove) => Some(Operation::Insert),
            _ => None,
        };
        before.into_iter().chain([self.operation]).collect()
    }

    fn shared_percent(&self, results: &Results) -> f64 {
        let own = |m: &&Measurement| m.workload == self.operation.name() && m.quantity == WALL_TIME;
        let (mut all, mut shared) = (0, 0);
        for measurement in results.measurements.iter().filter(own) {
            all += measurement.rounds.len();
            shared += measurement.shared.iter().filter(|&&shared| shared).count();
        }
        100.0 * shared as f64 / all.max(1) as f64
    }

    fn describe(&self, race: &Race) -> String {
        let name = self.operation.name();
        match self.measure {
            Measure::TimesPeer => format!("{name}, times {}", race.peer.name()),
            Measure::TimesOwnGet => format!("{name}, times our own get"),
            Measure::TimesOneThread => format!("{name}, two threads to one"),
            Measure::TailBesidePeer => {
                format!("{name}, p99.9 to that of {}: at most", race.peer.name())
            }
        }
    }

    fn measured(&self, race: &Race, results: &Results) -> Result<Median> {
        let (one, more) = (race.threads[0], *race.threads.last().unwrap_or(&race.threads[0]));
        let ours = (race.ours()?.name(), self.operation, one);
        let peer = (race.peer.name(), self.operation, one);
        // Waiting costs no CPU time: with several threads wall time counts.
        let cost = if one == 1 { CPU_TIME } else { WALL_TIME };
        match self.measure {
            Measure::TimesPeer => times(results, cost, peer, ours),
            Measure::TimesOwnGet => times(results, cost, (ours.0, Operation::Get, one), ours),
            Measure::TimesOneThread => {
                times(results, WALL_TIME, ours, (ours.0, self.operation, more))
            }
            Measure::TailBesidePeer => times(results, TAIL, ours, peer),
        }
    }
}

/// A store, what it did, and with how many threads.
type Side = (&'static str, Operation, usize);

/// How many times as much the one took as the other. Round by round, so that what slowed a whole round down does
/// not count.
fn times(results: &Results, quantity: &str, one: Side, other: Side) -> Result<Median> {
    let rounds = |(store, operation, threads): Side| {
        let key = (store, operation.name(), threads, quantity);
        let is_it = |m: &&Measurement| {
            (m.store.as_str(), m.workload.as_str(), m.threads, m.quantity.as_str()) == key
        };
        let found = results.measurements.iter().find(is_it);
        found.map(|m| &m.rounds).ok_or(Error::Config("a goal of an operation that was not run"))
    };
    let (one, other) = (rounds(one)?, rounds(other)?);
    let ratio = |(one, other): (&f64, &f64)| one / other.max(f64::MIN_POSITIVE);
    Ok(Median::of(one.iter().zip(other).map(ratio).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::goals::RACES;

    #[test]
    fn every_race_is_run_and_every_goal_judged() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        for race in RACES.iter().filter(|race| race.can_run()) {
            // Two thousand keys: what they show is that it runs.
            let divisor = race.keys / 2000;
            let judged = race.run(divisor, 1, dir.path(), &mut |part, what| {
                assert!((0.0..=1.0).contains(&part) && what.starts_with(race.name));
            });
            let judged = judged.expect("a run");
            assert_eq!(judged.len(), race.goals.len());
            assert!(judged.iter().all(|judged| judged.measured.median > 0.0));
            assert!(judged.iter().all(|judged| judged.race.contains(" 2,000 keys")));
        }
    }

    #[test]
    fn a_tail_is_to_be_short_and_all_else_much() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let get =
            |measure, asked| Goal { measure, ..Goal::times_peer(Operation::Get, asked, None) };
        let get = |measure, asked| get(measure, asked).bounded_by("the machine");
        let goals = [
            get(Measure::TimesPeer, 0.0),
            get(Measure::TimesPeer, 1e9),
            get(Measure::TailBesidePeer, 1e9),
            get(Measure::TailBesidePeer, 0.0),
        ];
        let race = Race { goals: Box::leak(Box::new(goals)), ..RACES[0] };
        let judged = race.run(race.keys / 1000, 1, dir.path(), &mut |_, _| {}).expect("a run");
        let reached: Vec<bool> = judged.iter().map(|judged| judged.is_reached).collect();
        assert_eq!(reached, [true, false, true, false]);
        for judged in judged {
            assert_eq!(judged.bound.is_none(), judged.is_reached);
            assert_eq!(judged.part() >= 1.0, judged.is_reached);
        }
    }
}
