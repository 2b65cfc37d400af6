//! Every sequence of up to three operations over three keys, from every small tree, crashed
//! everywhere in its last operation.
//!
//! The trees have 0 to CAP + 1 keys, so that a leaf is empty, full, and split. The three keys lie left
//! of those, between them, right of them, or are some of them. Crashes in earlier operations are those
//! of shorter sequences. Sequences that leave the same medium, words that mean nothing after a crash
//! aside, go on as one; what is put alternates between two values, so that they meet.
//!
//! One crash: the recovered tree is read in every way, checked from inside, and put to long use. Two
//! crashes: the first writer that comes by is each operation on each of the three keys; it is crashed
//! everywhere, together with the open and the reads before it, and after that the tree is read,
//! checked, and put to long use. At every crash point all contents are gone through, none is sampled.
//! Words that mean nothing (locks, hints) are the oldest and the newest: after one crash line by line,
//! after two in all lines together.
//!
//! Walks fill and drain trees of three levels, crashed everywhere: inner nodes split and merge, and
//! the root comes and goes.

use std::collections::{BTreeMap, HashSet};

use endura_sim::explore::{Explorer, Start, visible};
use endura_sim::model::Model;
use endura_sim::subject::Subject;
use endura_sim::subjects::{FastFair, First, LIMIT, MapOp};
use endura_sim::tally::Effort;
use endura_variants::fast_fair::STEPS;

use crate::jobs::{self, Job, MODELS, Outcome};

pub(crate) const ONE_CRASH: Effort =
    Effort { depth: 1, exhaustive: usize::MAX, ..Effort::EXHAUSTIVE };
pub(crate) const TWO_CRASHES: Effort =
    Effort { depth: 2, deep_ops: 1, ties_volatile: true, ..ONE_CRASH };

/// The models that promise least. (What the end of a process leaves, eADR may leave as well.)
const WEAKEST: [Model; 2] = [Model::WEAKEST_ADR, Model::EADR];

/// Where the keys of a tree lie.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Region {
    /// All in the left one of the two leaves that a new tree has.
    Low,
    /// On both sides of the middle, where those two meet.
    Middle,
    /// From 0 to MAX.
    Ends,
}

/// How a tree came to hold its keys.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Order {
    Ascending,
    /// There were more of them.
    Worn,
}

/// How much of the space of histories is gone through.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    /// Where the keys of the starts lie and how they came there, with a name.
    pub(crate) starts: &'static [(&'static str, Region, Order)],
    /// Most operations of a sequence that is crashed once.
    pub(crate) longest: usize,
    /// Most operations of a sequence that is crashed twice.
    pub(crate) twice: usize,
}

/// Places for `n` keys with a gap before, between and behind them: `2 n + 1` keys.
fn places(region: Region, n: usize) -> Vec<u64> {
    let last = 2 * n as u64;
    let middle = (1 << 63) - 10 * (last / 2);
    match region {
        Region::Low => (0..=last).map(|i| 10 * (i + 1)).collect(),
        Region::Middle => (0..=last).map(|i| middle + 10 * i).collect(),
        Region::Ends => (0..=last)
            .map(|i| if 2 * i <= last && i < last { 10 * i } else { u64::MAX - 10 * (last - i) })
            .collect(),
    }
}

fn build(places: &[u64], order: Order) -> Vec<MapOp> {
    let put = |(i, &key): (usize, &u64)| MapOp::Put(key, i as u64 % 3);
    let mut ops: Vec<MapOp> = places.iter().enumerate().skip(1).step_by(2).map(put).collect();
    match order {
        Order::Ascending => {}
        Order::Worn => {
            ops.extend(places.iter().step_by(2).map(|&key| MapOp::Put(key, 7)));
            ops.extend(places.iter().rev().step_by(2).map(|&key| MapOp::Remove(key)));
        }
    }
    ops
}

/// Choices of three keys: gaps left, between and right; present keys; neighbours in the middle.
fn triples(places: &[u64]) -> Vec<[u64; 3]> {
    let last = places.len() - 1;
    // Of a tree without keys there is one place only: two more that nobody has used.
    if last == 0 {
        return vec![[places[0], places[0] ^ 5, places[0] ^ 6]];
    }
    let (at, middle) = (|i: usize| places[i.min(last)], last / 2);
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
fn choices(keys: &[u64; 3], model: &BTreeMap<u64, u64>) -> Vec<MapOp> {
    let put = |key| MapOp::Put(key, if model.get(&key) == Some(&100) { 101 } else { 100 });
    keys.iter().flat_map(|&key| [put(key), MapOp::Remove(key)]).collect()
}

/// A map whose histories are gone through.
pub(crate) trait Tried:
    Subject<Op = MapOp, Model = BTreeMap<u64, u64>> + Clone + Send + 'static
{
    /// Of operations about these keys.
    fn of(keys: Vec<u64>) -> Self;
}

impl<const I: usize, const L: usize> Tried for FastFair<I, L> {
    fn of(keys: Vec<u64>) -> Self {
        Self::about(keys)
    }
}

/// A tree, and the choices of keys that sequences from there are about.
struct Stem<S> {
    subject: S,
    before: Vec<MapOp>,
    triples: Vec<[u64; 3]>,
    plan: Plan,
}

impl<S: Tried> Stem<S> {
    fn new(region: Region, n: usize, order: Order, plan: Plan) -> Self {
        let places = places(region, n);
        let (before, triples) = (build(&places, order), triples(&places));
        let mut keys: Vec<u64> = before.iter().map(|op| op.key()).collect();
        keys.extend(triples.iter().flatten());
        keys.sort_unstable();
        keys.dedup();
        Self { subject: S::of(keys), before, triples, plan }
    }

    /// Crashes the last operation of every sequence.
    fn explore(&self, model: Model) -> Outcome {
        let told = |failure| format!("{failure}");
        let mut once = Explorer::new(&self.subject, model, LIMIT, ONE_CRASH, 1);
        let mut twice = Explorer::new(&self.subject, model, LIMIT, TWO_CRASHES, 1);
        let start = once.start(&self.before).map_err(told)?;
        for keys in &self.triples {
            let firsts = choices(keys, &start.model);
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
                    for op in choices(keys, &model) {
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

    /// What the medium is like after an uncrashed run, words that mean nothing after a crash aside: a
    /// hash; and what the tree holds.
    fn state_after(
        &self,
        explorer: &Explorer<'_, S>,
        start: &Start<S>,
        ops: &[MapOp],
    ) -> Result<(u64, BTreeMap<u64, u64>), String> {
        let trace = explorer.trace(start, ops)?;
        let mut image = visible(&trace, trace.events.len()).image;
        for line in trace.events.iter().filter_map(|event| event.action.line()) {
            let words = image.line(line);
            let words_at = (0..8).map(|i| line * 64 + 8 * i);
            let volatile = words_at.filter(|&at| self.subject.is_volatile(at, &words));
            volatile.for_each(|at| image.set(at, 0));
        }
        let mut model = start.model.clone();
        ops.iter().for_each(|op| _ = op.specify(&mut model));
        Ok((image.hash(), model))
    }
}

/// All starts of one kind with nodes of `cap` entries.
pub(crate) fn add_starts<S: Tried>(
    jobs: &mut Vec<Job>,
    (part, region, order): (&'static str, Region, Order),
    cap: usize,
    plan: Plan,
) {
    for n in 0..=cap + 1 {
        for model in WEAKEST {
            let run = move || Stem::<S>::new(region, n, order, plan).explore(model);
            jobs.push(Job { part, model, run: Box::new(run) });
        }
    }
}

/// Fills and drains a tree of small nodes, crashed everywhere, and as the first writer after each crash
/// one of `firsts`.
pub(crate) fn add_walks<S: Tried>(jobs: &mut Vec<Job>, count: u64, firsts: u64, effort: Effort) {
    let key = |i: u64| 10 * (i + 1);
    let up: Vec<MapOp> = (0..count).map(|i| MapOp::Put(key(i), i)).collect();
    let down: Vec<MapOp> = up.iter().rev().copied().collect();
    let inwards: Vec<MapOp> = (0..count)
        .map(|i| up[(if i % 2 == 0 { i / 2 } else { count - 1 - i / 2 }) as usize])
        .collect();
    let remove = |ops: &[MapOp]| ops.iter().map(|op| MapOp::Remove(op.key())).collect::<Vec<_>>();
    let walks = [
        (Vec::new(), up.clone()),
        (Vec::new(), down.clone()),
        (up.clone(), remove(&up)),
        (up.clone(), remove(&down)),
        (down, remove(&inwards)),
    ];
    for (before, ops) in walks {
        for (_, model) in MODELS {
            for first in 0..=firsts {
                let (before, ops) = (before.clone(), ops.clone());
                let subject = S::of((0..=count).map(|i| 10 * i + 5).collect());
                let run = move || {
                    let at = 5 * (1 + (first / 2) * 2 * count / firsts.max(1));
                    let op = if first % 2 == 0 {
                        MapOp::Put(at, 9)
                    } else {
                        MapOp::Remove(at / 10 * 10)
                    };
                    let subject = First { subject: &subject, ops: vec![op] };
                    let mut explorer = Explorer::new(&subject, model, LIMIT, effort, first);
                    let failed = |failure| format!("{failure}");
                    let start = explorer.start(&before).map_err(failed)?;
                    explorer.explore(&start, &ops, 0).map_err(failed)?;
                    Ok(explorer.tally)
                };
                jobs.push(Job { part: "walks", model, run: Box::new(run) });
            }
        }
    }
}

/// All starts, with three, four, and six to eight records in a node.
fn add_shapes(jobs: &mut Vec<Job>, plan: Plan) {
    for &starts in plan.starts {
        add_starts::<FastFair<24, 24>>(jobs, starts, 8, plan);
        add_starts::<FastFair<22, 22>>(jobs, starts, 7, plan);
        add_starts::<FastFair<20, 20>>(jobs, starts, 6, plan);
        add_starts::<FastFair<16, 16>>(jobs, starts, 4, plan);
        add_starts::<FastFair<14, 14>>(jobs, starts, 3, plan);
    }
}

#[test]
fn every_crash_of_every_short_history_of_a_small_tree() {
    let plan =
        Plan { starts: &[("sequences", Region::Low, Order::Ascending)], longest: 2, twice: 1 };
    // Walks last: if the time is up, they go on until each step was crossed.
    let mut jobs = Vec::new();
    add_shapes(&mut jobs, plan);
    add_walks::<FastFair<14, 14>>(&mut jobs, 12, 4, TWO_CRASHES);
    let report = jobs::run(jobs, jobs::GUARD, &STEPS);
    report.assert_clean(&STEPS);
    let sum = report.sum(None);
    assert_eq!(sum.points, sum.exhaustive_points, "all contents were gone through");
}

#[test]
#[ignore = "takes the time it is given: ENDURA_SIM_SECONDS"]
fn every_crash_of_every_history_of_three_operations() {
    let plan = Plan {
        starts: &[
            ("sequences", Region::Low, Order::Ascending),
            ("around the middle", Region::Middle, Order::Ascending),
            ("from 0 to MAX", Region::Ends, Order::Ascending),
            ("in worn trees", Region::Low, Order::Worn),
        ],
        longest: 3,
        twice: 3,
    };
    let mut jobs = Vec::new();
    add_walks::<FastFair<14, 14>>(&mut jobs, 12, 6, TWO_CRASHES);
    add_shapes(&mut jobs, plan);
    let report = jobs::run(jobs, jobs::budget(), &STEPS);
    report.assert_clean(&STEPS);
    let sum = report.sum(None);
    assert_eq!(sum.points, sum.exhaustive_points, "all contents were gone through");
}
