//! ROART trees with arrays of four, and with none, as maps of byte strings: keys in one array, keys each a
//! prefix of the next, keys that part before, in and behind the eight bytes of a prefix that a node remembers.

use std::collections::BTreeSet;

use endura_engine::tree::roart::Techniques;
use endura_sim::explore::{Explorer, Next};
use endura_sim::model::Model;
use endura_sim::subjects::{ByteOp, Roart};
use endura_sim::tally::Effort;
use endura_variants::roart::{Tiny, WithoutArrays};

use crate::exhaustive::{KILLS, ONE_CRASH, Plan, TWO_CRASHES, add_starts, explored, kill_job};
use crate::jobs::{self, Budget, GUARD, Job, MODELS, WALKED};
use crate::kinds::{Order, Shape, Tried};
use crate::random::{self, explore, without_end};

const LIMIT: u64 = <Roart<Tiny> as Tried>::LIMIT;

const THREE_CRASHES: Effort = Effort { depth: 3, ..TWO_CRASHES };

/// The steps that a crash can cut through under every model; those of words that are flushed come
/// besides, under ADR.
// `ready.array` is not among them: each session of a history begins with a scan of all keys, and scans make arrays ready. The
// tests with several threads cross it (`tests/roart/threads.rs`).
const STEPS: [&str; 16] = [
    "array.replaced",
    "array.shrunk",
    "find.step",
    "lock.array",
    "lock.node",
    "node.grown",
    "node.shrunk",
    "prefix.split",
    "prune",
    "publish.durable",
    "publish.word",
    "put.exact",
    "ready.node",
    "split",
    "unlink.word",
    "write.found",
];
const STEPS_OF_ADR: [&str; 2] = ["publish.dirty", "settle"];

fn put(key: impl AsRef<[u8]>, value: u64) -> ByteOp {
    ByteOp::Put(key.as_ref().to_vec(), value)
}

fn remove(key: impl AsRef<[u8]>) -> ByteOp {
    ByteOp::Remove(key.as_ref().to_vec())
}

fn add_shapes(jobs: &mut Vec<Job>, plan: Plan) {
    let shapes = [("flat", Shape::Flat), ("nested", Shape::Nested), ("deep", Shape::Deep)];
    for (part, shape) in shapes {
        add_starts::<Roart<Tiny>>(jobs, (part, shape, Order::Ascending), 6, plan);
    }
    let starts = ("deep, without arrays", Shape::Deep, Order::Ascending);
    add_starts::<Roart<WithoutArrays>>(jobs, starts, 6, plan);
}

/// Fills and drains a tree, crashed everywhere under every model: what has other steps than the sequences.
fn add_walks<T: Techniques>(jobs: &mut Vec<Job>, part: &'static str, count: usize, effort: Effort) {
    let shapes = [Shape::Flat, Shape::Nested, Shape::Deep];
    let mut all: Vec<_> = shapes.map(|of| Roart::<T>::places(of, count.div_ceil(2))).into();
    // A node that grows because of a key that ends there, and a prefix that is split.
    let grown = ["n", "n1", "n2", "n3", "n4", "n5", "p0123456789a", "p0123456789b"];
    let split = ["p0123456789c", "p0123456789d", "p0123456789e", "p0123x"];
    all.push(grown.iter().chain(&split).map(|key| key.as_bytes().to_vec()).collect());
    for keys in all {
        let count = count.max(keys.len() - 2);
        let up: Vec<ByteOp> = keys.iter().take(count + 2).map(|key| put(key, 1)).collect();
        let gone: Vec<ByteOp> = keys.iter().rev().take(count + 2).map(remove).collect();
        for (_, model) in WALKED {
            let pops = |pop| vec![pop; up.len() + 1];
            for (before, ops) in [
                (Vec::new(), up.clone()),
                (up.clone(), gone.clone()),
                (up.clone(), pops(ByteOp::PopFirst)),
                (up.clone(), pops(ByteOp::PopLast)),
            ] {
                let subject = Roart::<T>::about(&keys);
                let run = move || explored(&subject, (model, LIMIT, effort, 1), &before, &ops);
                jobs.push(Job { part, model, run: Box::new(run) });
            }
        }
    }
}

/// Processes that are killed after each store, and then the power fails.
fn add_kills(jobs: &mut Vec<Job>, all: bool) {
    let starts: [(&[&str], &[ByteOp]); 4] = [
        (&["a1", "a2", "a3"], &[put("a4", 1), put("a1", 2), remove("a2"), ByteOp::PopFirst]),
        (&["a1", "a2", "a3", "a4"], &[put("a5", 1)]),
        (
            &["n1", "n2", "n3", "n4", "n"],
            &[put("n5", 1), remove("n1"), ByteOp::PopFirst, ByteOp::PopLast],
        ),
        (&["ab1", "ab2", "ab3", "ab4", "ab5"], &[put("aa", 1)]),
    ];
    for (keys, ops) in starts {
        for op in ops {
            let key: &[u8] = op.about().map_or(b"a1", |key| key);
            let before: Vec<ByteOp> = keys.iter().map(|key| put(key, 3)).collect();
            let next = |looks, ops: &[ByteOp]| Next { looks, ops: ops.to_vec() };
            let mut nexts = vec![
                vec![next(true, &[])],
                vec![next(false, &[put(key, 77)])],
                vec![next(false, &[remove(key)])],
            ];
            if all {
                nexts.push(vec![next(false, &[put(key, 7)]), next(true, &[])]);
                nexts.push(vec![next(false, &[remove("a1"), put("n1", 8), put("a", 9)])]);
            }
            let keys: BTreeSet<_> = before.iter().chain([op]).filter_map(ByteOp::about).collect();
            let subject = Roart::<Tiny>::about(keys);
            jobs.push(kill_job(subject, before, op.clone(), nexts));
        }
    }
}

/// Two sessions in a row end in a remove: the last key below a node that does not remember its whole
/// prefix goes before the node does. The third one inserts what may lie there, or beside it. Where lines
/// are flushed, processes are killed, and then the power fails; elsewhere that would be nothing new.
fn add_barren(jobs: &mut Vec<Job>) {
    let keys = ["0123456789a1", "0123456789a2"];
    let [one, other] = keys.map(remove);
    for (_, model) in MODELS {
        for new in ["0123x", "0123456789a3", "0123456789a1"] {
            let (one, other, new) = (one.clone(), other.clone(), put(new, 1));
            let run = move || {
                let about = [keys[0], keys[1], "0123456789a3", "0123x"];
                let subject = Roart::<WithoutArrays>::about(about);
                let is_killed = model == Model::WEAKEST_ADR;
                let effort = if is_killed { KILLS } else { THREE_CRASHES };
                let mut explorer = Explorer::new(&subject, model, LIMIT, effort, 1);
                let told = |failure| format!("{failure}");
                let before = keys.map(|key| put(key, 3));
                let start = explorer.start(&before).map_err(told)?;
                if is_killed {
                    let next = [vec![other], vec![new]].map(|ops| Next { looks: false, ops });
                    explorer.kill(&start, &one, &next).map_err(told)?;
                } else {
                    explorer.begin_with([other, new]);
                    explorer.explore(&start, &[one], 0).map_err(told)?;
                }
                Ok(explorer.tally)
            };
            jobs.push(Job { part: "ended twice", model, run: Box::new(run) });
        }
    }
}

fn assert_clean(jobs: Vec<Job>, budget: Budget) {
    let report = jobs::run(jobs, budget, &STEPS);
    report.assert_clean(&STEPS);
    let crossed = report.sum(Some(MODELS[0].0)).crossed;
    STEPS_OF_ADR.iter().for_each(|step| assert!(crossed.contains_key(step), "{step}"));
}

#[test]
fn every_crash_of_every_short_history_of_a_small_radix_tree() {
    let mut jobs = Vec::new();
    add_shapes(&mut jobs, Plan { longest: 1, twice: 0 });
    add_kills(&mut jobs, false);
    add_barren(&mut jobs);
    // Walks last: if the time is up, they go on until each step was crossed.
    let effort = Effort { exhaustive: 24, samples: 8, continue_one_in: 8, ..ONE_CRASH };
    add_walks::<WithoutArrays>(&mut jobs, "walks without arrays", 7, effort);
    add_walks::<Tiny>(&mut jobs, "walks", 7, effort);
    assert_clean(jobs, GUARD);
}

#[test]
#[ignore = "takes the time it is given: ENDURA_SIM_SECONDS"]
fn every_crash_of_every_history_of_three_operations_on_a_radix_tree() {
    let mut jobs = Vec::new();
    add_walks::<Tiny>(&mut jobs, "walks", 9, TWO_CRASHES);
    add_walks::<WithoutArrays>(&mut jobs, "walks without arrays", 9, TWO_CRASHES);
    add_kills(&mut jobs, true);
    add_barren(&mut jobs);
    add_shapes(&mut jobs, Plan { longest: 3, twice: 2 });
    assert_clean(jobs, jobs::budget());
}

const SHAPES: &[random::Shape] = &[
    ("arrays of four, 12 keys", explore::<Roart<Tiny>>, 5),
    ("arrays of four, 30 keys", explore::<Roart<Tiny>>, 23),
    ("without arrays, 12 keys", explore::<Roart<WithoutArrays>>, 5),
    ("without arrays, 30 keys", explore::<Roart<WithoutArrays>>, 23),
];

/// What takes two kills in a row is seldom: the walks cross it.
fn often() -> Vec<&'static str> {
    STEPS.into_iter().filter(|step| *step != "prune").collect()
}

#[test]
#[ignore = "takes the time it is given: ENDURA_SIM_SECONDS"]
fn crashes_of_random_histories_of_radix_trees_without_end() {
    println!("{} distinct images", without_end(SHAPES, &often()).sum(None).images);
}

#[test]
fn crashes_of_random_histories_of_radix_trees() {
    let report = jobs::run(random::jobs(&SHAPES[..1], 1..8), GUARD, &[]);
    report.assert_clean(&[]);
    assert!(report.sum(None).images > 1_000);
}
