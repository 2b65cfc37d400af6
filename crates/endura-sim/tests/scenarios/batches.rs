//! Several changes at once, in maps of all kinds: a crash anywhere leaves all of them or none, also after a kill, in the open
//! that completes them, and in a checkpoint that is cut in the middle.
//!
//! `cargo test` looks at some contents of each crash. With `ENDURA_SIM_SECONDS` it looks at many more.

use endura_linear::{Part, Place, PoolOp};
use endura_sim::explore::{Explorer, Next};
use endura_sim::model::Model;
use endura_sim::subjects::LIMIT;
use endura_sim::subjects::batches::{Batches, KINDS};
use endura_sim::tally::{Effort, Tally};

/// The last is what a checkpoint has that copies whole pages at moments at which nobody stores: between two changes of a
/// batch as well.
const MODELS: [Model; 4] =
    [Model::WEAKEST_ADR, Model::EADR, Model::PAGE_CACHE, Model::marked(4096)];

fn is_long() -> bool {
    std::env::var_os("ENDURA_SIM_SECONDS").is_some()
}

fn effort() -> Effort {
    let quick = Effort {
        depth: 2,
        exhaustive: 8,
        samples: 2,
        continue_one_in: 8,
        deepen_one_in: 128,
        deep_points: 4,
        deep_ops: 1,
        ..Effort::EXHAUSTIVE
    };
    let long = Effort {
        exhaustive: 64,
        samples: 8,
        continue_one_in: 4,
        deepen_one_in: 32,
        deep_points: 12,
        ..quick
    };
    if is_long() { long } else { quick }
}

/// Keys of each map: so many, and those between them.
fn keys() -> u64 {
    if is_long() { 8 } else { 4 }
}

/// What is there before.
fn before() -> Vec<PoolOp> {
    let of = |map| (1..=keys()).map(move |i| PoolOp::Put((map, 10 * i), i));
    (0..2).flat_map(of).collect()
}

/// Replaces a key, adds one, removes one, and removes one that is not there, in each map.
fn changes() -> PoolOp {
    let of = |map| {
        let put = |key, value| ((map, key), Part::Put(value));
        [put(20, 92), put(25, 93), ((map, 30), Part::Delete), ((map, 35), Part::Delete)]
    };
    PoolOp::Batch((0..2).flat_map(of).collect())
}

fn subject(kinds: [usize; 2]) -> Batches {
    let keys = (1..=keys() + 1).flat_map(|i| [10 * i, 10 * i + 5]).collect();
    Batches { kinds: kinds.to_vec(), keys }
}

fn pairs() -> impl Iterator<Item = [usize; 2]> {
    (0..KINDS).map(|kind| [kind, (kind + 1) % KINDS])
}

const FIRST: Place = (0, 20);
const SECOND: Place = (1, 25);

#[test]
fn a_crash_leaves_all_changes_or_none() {
    let mut all = Tally::default();
    for (i, kinds) in pairs().enumerate() {
        for (j, model) in MODELS.into_iter().enumerate() {
            // Each kind is in two pairs, each model in every second one.
            if !is_long() && (i + j) % 2 == 1 {
                continue;
            }
            let subject = subject(kinds);
            let mut explorer = Explorer::new(&subject, model, LIMIT, effort(), 1);
            let start = explorer.start(&before()).unwrap_or_else(|failure| panic!("{failure}"));
            let last = [((1, 30), Part::Put(71)), (FIRST, Part::Delete)];
            let ops = [
                changes(),
                PoolOp::Put(FIRST, 70),
                PoolOp::Delete(SECOND),
                PoolOp::Batch(last.into_iter().collect()),
            ];
            explorer
                .explore(&start, &ops, 0)
                .unwrap_or_else(|failure| panic!("{kinds:?} {model:?}: {failure}"));
            println!("{kinds:?} {model}: {} images", explorer.tally.images);
            all.add(&explorer.tally);
        }
    }
    println!("{} images, {} deep, {} points", all.images, all.deep_images, all.points);
    assert!(all.images > 2_000, "{} images", all.images);
    for step in ["batch.word", "batch.committed"] {
        assert!(all.crossed.contains_key(step), "{step} was never crossed: {:?}", all.crossed);
    }
}

/// A process is killed; the next one reads, or writes a key of the changes, and then the power fails.
#[test]
fn what_comes_after_a_kill_outlives_a_power_loss() {
    let mut images = 0;
    for (i, kinds) in pairs().enumerate() {
        let subject = subject(kinds);
        let effort = Effort { depth: 1, ..effort() };
        let mut explorer = Explorer::new(&subject, Model::WEAKEST_ADR, LIMIT, effort, 1);
        let start = explorer.start(&before()).unwrap_or_else(|failure| panic!("{failure}"));
        let next = |looks, ops: &[PoolOp]| vec![Next { looks, ops: ops.to_vec() }];
        let all = [
            next(true, &[]),
            next(false, &[PoolOp::Put(FIRST, 70)]),
            next(false, &[PoolOp::Delete(SECOND), PoolOp::Put((1, 30), 71)]),
        ];
        let mine = if is_long() { 0..all.len() } else { i % all.len()..i % all.len() + 1 };
        for next in &all[mine] {
            explorer
                .kill(&start, &changes(), next)
                .unwrap_or_else(|failure| panic!("{kinds:?}: {failure}"));
        }
        println!("{kinds:?}: {} images", explorer.tally.images);
        images += explorer.tally.images;
    }
    println!("{images} images");
    assert!(images > 1_000, "{images} images");
}
