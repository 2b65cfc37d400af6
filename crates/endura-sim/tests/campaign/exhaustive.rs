//! Every sequence of up to three operations over three keys, from every small tree, crashed
//! everywhere in its last operation. An operation puts one of the keys, removes it, or pops one end of the map.
//!
//! The trees have 0 to CAP + 1 keys, so that a leaf is empty, full, and split; those of byte strings 0 to 6 of one
//! shape, so that an array comes, fills, splits into a node, and that grows. The three keys lie left of those,
//! between them, right of them, or are some of them. Crashes in earlier operations are those
//! of shorter sequences. Sequences that leave the same medium, words that mean nothing after a crash
//! aside, go on as one; what is put alternates between two values, so that they meet.
//!
//! One crash: the recovered tree is read in every way, checked from inside, and put to long use. Two
//! crashes: the first writer that comes by is each of these operations; it is crashed
//! everywhere, together with the open and the reads before it, and after that the tree is read,
//! checked, and put to long use. At every crash point all contents are gone through, none is sampled.
//! Words that mean nothing (locks, hints) are the oldest and the newest: after one crash line by line,
//! after two in all lines together.
//!
//! Walks fill and drain trees of three levels, crashed everywhere: inner nodes split and merge, and
//! the root comes and goes.

use std::collections::HashSet;

use endura_sim::explore::{Explorer, Next, Start};
use endura_sim::model::Model;
use endura_sim::subject::Subject;
use endura_sim::subjects::{First, MapOp};
use endura_sim::tally::Effort;

use crate::jobs::{Job, Outcome, WALKED};
use crate::kinds::{Op, Order, Tried};
use crate::report::CampaignTally;

pub(crate) const ONE_CRASH: Effort =
    Effort { depth: 1, exhaustive: usize::MAX, ..Effort::EXHAUSTIVE };
pub(crate) const TWO_CRASHES: Effort =
    Effort { depth: 2, deep_ops: 1, ties_volatile: true, ..ONE_CRASH };
/// After a kill.
pub(crate) const KILLS: Effort =
    Effort { depth: 1, exhaustive: 64, samples: 8, ..Effort::EXHAUSTIVE };

/// The models that promise least. (What the end of a process leaves, eADR may leave as well.)
const WEAKEST: [Model; 2] = [Model::WEAKEST_ADR, Model::EADR];

/// How much of the space of histories is gone through.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    /// Most operations of a sequence that is crashed once.
    pub(crate) longest: usize,
    /// Most operations of a sequence that is crashed twice.
    pub(crate) twice: usize,
}

/// Puts keys into every second of the places, with gaps before, between and behind them.
fn build<S: Tried>(places: &[S::Key], order: Order) -> Vec<Op<S>> {
    let put = |(i, key): (usize, &S::Key)| MapOp::Put(key.clone(), i as u64 % 3);
    let mut ops: Vec<Op<S>> = places.iter().enumerate().skip(1).step_by(2).map(put).collect();
    if order == Order::Worn {
        ops.extend(places.iter().step_by(2).map(|key| MapOp::Put(key.clone(), 7)));
        ops.extend(places.iter().rev().step_by(2).map(|key| MapOp::Remove(key.clone())));
    }
    ops
}

/// Choices of three keys: gaps left, between and right; present keys; neighbours in the middle.
fn triples<S: Tried>(places: &[S::Key]) -> Vec<[S::Key; 3]> {
    let last = places.len() - 1;
    // Of a tree without keys there is one place only: two more that nobody has used.
    if last == 0 {
        return vec![S::strangers(&places[0])];
    }
    let (at, middle) = (|i: usize| places[i.min(last)].clone(), last / 2);
    let mut triples = vec![
        [at(0), at(middle), at(last)],
        [at(1), at(middle | 1), at(last.saturating_sub(1))],
        [at(middle.saturating_sub(1)), at(middle), at(middle + 1)],
    ];
    triples.sort_unstable();
    triples.dedup();
    triples
}

/// What a sequence may go on with where `model` is there: two values in turn, so that histories meet.
fn choices<S: Tried>(keys: &[S::Key; 3], model: &S::Model) -> Vec<Op<S>> {
    let next = |key: &S::Key| if S::holds(model, key, 100) { 101 } else { 100 };
    let put = |key: &S::Key| MapOp::Put(key.clone(), next(key));
    let at_keys = keys.iter().flat_map(|key| [put(key), MapOp::Remove(key.clone())]);
    at_keys.chain([MapOp::PopFirst, MapOp::PopLast]).collect()
}

/// A tree, and the choices of keys that sequences from there are about.
struct Stem<S: Tried> {
    subject: S,
    before: Vec<Op<S>>,
    triples: Vec<[S::Key; 3]>,
    plan: Plan,
}

impl<S: Tried> Stem<S> {
    fn new(shape: S::Shape, n: usize, order: Order, plan: Plan) -> Self {
        let places = S::places(shape, n);
        let (before, triples) = (build::<S>(&places, order), triples::<S>(&places));
        let mut keys: Vec<S::Key> = before.iter().filter_map(MapOp::about).cloned().collect();
        keys.extend(triples.iter().flatten().cloned());
        keys.sort_unstable();
        keys.dedup();
        Self { subject: S::of(keys), before, triples, plan }
    }

    /// Crashes the last operation of every sequence.
    fn explore(&self, model: Model) -> Outcome {
        let told = |failure| format!("{failure}");
        let mut once = Explorer::new(&self.subject, model, S::LIMIT, ONE_CRASH, 1);
        let mut twice = Explorer::new(&self.subject, model, S::LIMIT, TWO_CRASHES, 1);
        let start = once.start(&self.before).map_err(told)?;
        for keys in &self.triples {
            let firsts = choices::<S>(keys, &start.model);
            let told_twice =
                |failure| format!("{failure}\n  each of {firsts:?} is the first writer");
            twice.begin_with(firsts.clone());
            // Ways to all states of the medium that so many operations lead to.
            let (mut ways, mut met) = (vec![Vec::new()], HashSet::new());
            for len in 1..=self.plan.longest {
                let mut longer = Vec::new();
                for way in ways {
                    let (state, model) = self.state_after(&once, &start, &way)?;
                    if !met.insert(state) {
                        continue;
                    }
                    for op in choices::<S>(keys, &model) {
                        let ops = [&way[..], &[op]].concat();
                        once.explore(&start, &ops, len - 1).map_err(told)?;
                        if len <= self.plan.twice {
                            twice.explore(&start, &ops, len - 1).map_err(told_twice)?;
                        }
                        longer.push(ops);
                    }
                }
                ways = longer;
            }
        }
        once.tally.add(&twice.tally);
        Ok(once.tally)
    }

    /// What the tree is like after an uncrashed run: a hash; and what it holds.
    fn state_after(
        &self,
        explorer: &Explorer<'_, S>,
        start: &Start<S>,
        ops: &[Op<S>],
    ) -> Result<(u64, S::Model), String> {
        let trace = explorer.trace(start, ops)?;
        let mut model = start.model.clone();
        ops.iter().for_each(|op| _ = self.subject.specify(&mut model, op));
        Ok((self.subject.state_of(&trace)?, model))
    }
}

/// All starts of one shape with up to `most` keys.
pub(crate) fn add_starts<S: Tried>(
    jobs: &mut Vec<Job>,
    starts: (&'static str, S::Shape, Order),
    most: usize,
    plan: Plan,
) {
    add_starts_under::<S>(jobs, &WEAKEST, starts, most, plan);
}

/// The same under these models.
pub(crate) fn add_starts_under<S: Tried>(
    jobs: &mut Vec<Job>,
    models: &[Model],
    (part, shape, order): (&'static str, S::Shape, Order),
    most: usize,
    plan: Plan,
) {
    for n in 0..=most {
        for &model in models {
            let run = move || Stem::<S>::new(shape, n, order, plan).explore(model);
            jobs.push(Job { part, model, run: Box::new(run) });
        }
    }
}

/// Operations on what is durable of others, crashed everywhere.
pub(crate) fn explored<S: Subject>(
    subject: &S,
    (model, limit, effort, seed): (Model, u64, Effort, u64),
    before: &[S::Op],
    ops: &[S::Op],
) -> Outcome {
    let mut explorer = Explorer::new(subject, model, limit, effort, seed);
    let failed = |failure| format!("{failure}");
    let start = explorer.start(before).map_err(failed)?;
    explorer.explore(&start, ops, 0).map_err(failed)?;
    Ok(explorer.tally)
}

/// Fills and drains a tree of small nodes, crashed everywhere, and as the first writer after each crash
/// one of `firsts`.
pub(crate) fn add_walks<S: Tried<Key = u64>>(
    jobs: &mut Vec<Job>,
    count: u64,
    firsts: u64,
    effort: Effort,
) {
    for models in [&WALKED[..3], &WALKED[3..]] {
        let models: Vec<Model> = models.iter().map(|&(_, model)| model).collect();
        add_walks_under::<S>(jobs, &models, count, firsts, effort);
    }
}

/// The same under these models.
pub(crate) fn add_walks_under<S: Tried<Key = u64>>(
    jobs: &mut Vec<Job>,
    models: &[Model],
    count: u64,
    firsts: u64,
    effort: Effort,
) {
    let key = |i: u64| 10 * (i + 1);
    let up: Vec<MapOp> = (0..count).map(|i| MapOp::Put(key(i), i)).collect();
    let down: Vec<MapOp> = up.iter().rev().copied().collect();
    let inwards: Vec<MapOp> = (0..count)
        .map(|i| up[(if i % 2 == 0 { i / 2 } else { count - 1 - i / 2 }) as usize])
        .collect();
    let remove = |ops: &[MapOp]| {
        ops.iter().filter_map(MapOp::about).map(|&key| MapOp::Remove(key)).collect::<Vec<_>>()
    };
    let walks = [
        (Vec::new(), up.clone()),
        (Vec::new(), down.clone()),
        (up.clone(), remove(&up)),
        (up.clone(), remove(&down)),
        (down, remove(&inwards)),
        (up.clone(), vec![MapOp::PopFirst; up.len() + 1]),
        (up.clone(), vec![MapOp::PopLast; up.len() + 1]),
    ];
    for (before, ops) in &walks {
        for &model in models {
            for first in 0..=firsts {
                let (before, ops) = (before.clone(), ops.clone());
                let subject = S::of((0..=count).map(|i| 10 * i + 5).collect());
                let at = 5 * (1 + (first / 2) * 2 * count / firsts.max(1));
                let put = MapOp::Put(at, 9);
                let op = if first % 2 == 0 { put } else { MapOp::Remove(at / 10 * 10) };
                let run = move || {
                    let subject = First { subject: &subject, ops: vec![op] };
                    explored(&subject, (model, S::LIMIT, effort, first), &before, &ops)
                };
                jobs.push(Job { part: "walks", model, run: Box::new(run) });
            }
        }
    }
}

/// A process is killed after each store of an operation, then each of the next ones.
pub(crate) fn kill_job<S: Tried>(
    subject: S,
    before: Vec<Op<S>>,
    op: Op<S>,
    nexts: Vec<Vec<Next<Op<S>>>>,
) -> Job {
    let model = Model::WEAKEST_ADR;
    let run = move || -> Outcome {
        let mut explorer = Explorer::new(&subject, model, S::LIMIT, KILLS, 1);
        let told = |failure| format!("{failure}");
        let start = explorer.start(&before).map_err(told)?;
        for next in &nexts {
            explorer.kill(&start, &op, next).map_err(told)?;
        }
        Ok(explorer.tally)
    };
    Job { part: "killed, then power loss", model, run: Box::new(run) }
}

/// Of sequences and walks nothing was sampled.
pub(crate) fn assert_whole(report: &CampaignTally, steps: &[&str]) {
    report.assert_clean(steps);
    let sum = report.sum(None);
    assert_eq!(sum.points, sum.exhaustive_points, "all contents were gone through");
}

/// In what is part of every run of the tests.
pub(crate) const SHORT: Plan = Plan { longest: 2, twice: 1 };
/// In what takes its time.
pub(crate) const LONG: Plan = Plan { longest: 3, twice: 3 };
