//! Every sequence of up to three operations over three keys, from every small tree, crashed
//! everywhere in its last operation.
//!
//! The trees have 0 to CAP + 1 keys, so that a leaf is empty, full, and split. The three keys lie left
//! of those, between them, right of them, or are some of them. Crashes in earlier operations are those
//! of shorter sequences.
//!
//! One crash: the recovered tree is read in every way, checked from inside, and put to long use. Two
//! crashes: the first writer that comes by is each operation on each of the three keys; it is crashed
//! everywhere, together with the open and the reads before it, and after that the tree is read,
//! checked, and put to long use. At every crash point all contents are gone through, none is sampled.
//!
//! Walks fill and drain trees of three levels, crashed everywhere: inner nodes split and merge, and
//! the root comes and goes.

use std::sync::Arc;

use endura_sim::explore::Explorer;
use endura_sim::model::Model;
use endura_sim::subject::Subject;
use endura_sim::subjects::{FastFair, First, LIMIT, MapOp};
use endura_sim::tally::{Effort, Tally};

use crate::STEPS;
use crate::jobs::{self, Job, MODELS, Outcome};

const ONE_CRASH: Effort = Effort { depth: 1, exhaustive: usize::MAX, ..Effort::EXHAUSTIVE };
const TWO_CRASHES: Effort = Effort { depth: 2, deep_ops: 1, ..ONE_CRASH };

/// Where the keys of a tree lie.
#[derive(Debug, Clone, Copy)]
enum Region {
    /// All in the left one of the two leaves that a new tree has.
    Low,
    /// On both sides of the middle, where those two meet.
    Middle,
    /// From 0 to MAX.
    Ends,
}

/// How a tree came to hold its keys.
#[derive(Debug, Clone, Copy)]
enum Order {
    Ascending,
    Descending,
    /// There were more of them.
    Worn,
}

/// How much of the space of histories is gone through.
#[derive(Clone, Copy)]
struct Plan {
    /// All choices of three keys, not only some.
    all_triples: bool,
    orders: &'static [Order],
    /// Most operations of a sequence that is crashed once, and twice.
    longest: [usize; 2],
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
        Order::Descending => ops.reverse(),
        Order::Worn => {
            ops.extend(places.iter().step_by(2).map(|&key| MapOp::Put(key, 7)));
            ops.extend(places.iter().rev().step_by(2).map(|&key| MapOp::Remove(key)));
        }
    }
    ops
}

/// Choices of three keys: gaps left, between and right; present keys; neighbours at both ends and in
/// the middle.
fn triples(places: &[u64], all: bool) -> Vec<[u64; 3]> {
    let last = places.len() - 1;
    let at = |i: usize| places[i.min(last)];
    let mut triples: Vec<[u64; 3]> = Vec::new();
    if all {
        for a in 0..=last {
            for b in a + 1..=last {
                triples.extend((b + 1..=last).map(|c| [at(a), at(b), at(c)]));
            }
        }
    } else {
        let middle = last / 2;
        triples.push([at(0), at(middle), at(last)]);
        triples.push([at(1), at(middle | 1), at(last.saturating_sub(1))]);
        triples.push([at(middle.saturating_sub(1)), at(middle), at(middle + 1)]);
    }
    triples.sort_unstable();
    triples.dedup();
    // Of a tree without keys there is one place only: two more that nobody has used.
    if last == 0 { vec![[at(0), at(0) ^ 5, at(0) ^ 6]] } else { triples }
}

fn choices(keys: &[u64; 3]) -> Vec<MapOp> {
    keys.iter().flat_map(|&key| [MapOp::Put(key, 0), MapOp::Remove(key)]).collect()
}

/// All sequences of exactly `len` of `choices`; what is put differs from operation to operation.
fn sequences(choices: &[MapOp], len: usize) -> Vec<Vec<MapOp>> {
    let mut all = vec![Vec::new()];
    for i in 0..len {
        let next = |op: &MapOp| match *op {
            MapOp::Put(key, _) => MapOp::Put(key, 100 + i as u64),
            remove => remove,
        };
        let longer = |ops: Vec<MapOp>| {
            choices.iter().map(move |op| ops.iter().copied().chain([next(op)]).collect())
        };
        all = all.into_iter().flat_map(longer).collect();
    }
    all
}

/// Crashes the last operation of each sequence.
fn last_operations<S: Subject<Op = MapOp>>(
    mut explorer: Explorer<'_, S>,
    before: &[MapOp],
    sequences: &[Vec<MapOp>],
) -> Outcome {
    let start = explorer.start(before).map_err(|failure| failure.to_string())?;
    for ops in sequences {
        explorer.explore(&start, ops, ops.len() - 1).map_err(|failure| failure.to_string())?;
    }
    Ok(explorer.tally)
}

/// The jobs for one start and one choice of keys.
fn add<const W: usize>(
    jobs: &mut Vec<Job>,
    model: Model,
    before: &Arc<[MapOp]>,
    keys: [u64; 3],
    plan: Plan,
) {
    let mut known: Vec<u64> = before.iter().map(|op| op.key()).chain(keys).collect();
    known.sort_unstable();
    known.dedup();
    let subject = FastFair::<W, W> { keys: known };
    let choices = choices(&keys);
    for (longest, crashes) in plan.longest.into_iter().zip(1..) {
        let some: Vec<Vec<MapOp>> =
            (1..=longest).flat_map(|len| sequences(&choices, len)).collect();
        if crashes == 1 {
            let (subject, before) = (subject.clone(), Arc::clone(before));
            let run = move || {
                let explorer = Explorer::new(&subject, model, LIMIT, ONE_CRASH, 1);
                last_operations(explorer, &before, &some)
            };
            jobs.push(Job { part: "sequences, one crash", model, run: Box::new(run) });
        } else if longest > 0 {
            let (subject, before, choices) = (subject.clone(), Arc::clone(before), choices.clone());
            let run = move || {
                let mut sum = Tally::default();
                for first in choices {
                    let subject = First { subject: &subject, ops: vec![first] };
                    let explorer = Explorer::new(&subject, model, LIMIT, TWO_CRASHES, 1);
                    sum.add(&last_operations(explorer, &before, &some)?);
                }
                Ok(sum)
            };
            jobs.push(Job { part: "sequences, two crashes", model, run: Box::new(run) });
        }
    }
}

/// All starts with nodes of `W` words.
fn add_shape<const W: usize>(jobs: &mut Vec<Job>, plan: Plan) {
    let cap = (W - 8) / 2;
    for n in 0..=cap + 1 {
        for region in [Region::Low, Region::Middle, Region::Ends] {
            let places = places(region, n);
            for &order in plan.orders {
                let before: Arc<[MapOp]> = build(&places, order).into();
                for keys in triples(&places, plan.all_triples) {
                    for (_, model) in MODELS {
                        add::<W>(jobs, model, &before, keys, plan);
                    }
                }
            }
        }
    }
}

/// Fills and drains a tree of nodes of `W` words, crashed everywhere, and as the first writer after
/// each crash one of `firsts`.
fn add_walks<const W: usize>(jobs: &mut Vec<Job>, count: u64, firsts: u64) {
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
                let subject = FastFair::<W, W> { keys: (0..=count).map(|i| 10 * i + 5).collect() };
                let run = move || {
                    let at = 5 * (1 + (first / 2) * 2 * count / firsts.max(1));
                    let op = if first % 2 == 0 {
                        MapOp::Put(at, 9)
                    } else {
                        MapOp::Remove(at / 10 * 10)
                    };
                    let subject = First { subject: &subject, ops: vec![op] };
                    let mut explorer = Explorer::new(&subject, model, LIMIT, TWO_CRASHES, first);
                    let failed = |failure| format!("{failure}");
                    let start = explorer.start(&before).map_err(failed)?;
                    explorer.explore(&start, &ops, 0).map_err(failed)?;
                    Ok(explorer.tally)
                };
                jobs.push(Job { part: "walks, two crashes", model, run: Box::new(run) });
            }
        }
    }
}

#[test]
fn every_crash_of_every_short_history_of_a_small_tree() {
    let plan = Plan { all_triples: false, orders: &[Order::Ascending], longest: [3, 1] };
    let mut jobs = Vec::new();
    add_shape::<14>(&mut jobs, plan);
    add_shape::<16>(&mut jobs, plan);
    add_shape::<20>(&mut jobs, plan);
    add_shape::<22>(&mut jobs, plan);
    add_shape::<24>(&mut jobs, plan);
    add_walks::<14>(&mut jobs, 12, 4);
    let report = jobs::run(jobs, None);
    report.assert_clean(&STEPS);
    let sum = report.sum(None);
    assert_eq!(sum.points, sum.exhaustive_points, "all contents were gone through");
}

#[test]
#[ignore = "takes the time it is given: ENDURA_SIM_SECONDS"]
fn every_crash_of_every_history_of_three_operations() {
    const TWICE: Plan =
        Plan { all_triples: false, orders: &[Order::Ascending, Order::Worn], longest: [3, 3] };
    const EVERYWHERE: Plan = Plan {
        all_triples: true,
        orders: &[Order::Ascending, Order::Descending, Order::Worn],
        longest: [3, 0],
    };
    let mut jobs = Vec::new();
    add_walks::<14>(&mut jobs, 12, 6);
    for plan in [TWICE, EVERYWHERE] {
        add_shape::<14>(&mut jobs, plan);
        add_shape::<16>(&mut jobs, plan);
        add_shape::<20>(&mut jobs, plan);
        add_shape::<22>(&mut jobs, plan);
        add_shape::<24>(&mut jobs, plan);
    }
    add_walks::<16>(&mut jobs, 24, 16);
    jobs::run(jobs, Some(jobs::budget())).assert_clean(&STEPS);
}
