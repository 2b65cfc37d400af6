//! Crashes of tiny NBTrees: every operation on small maps, every image that a crash can leave.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod counts;
mod mutation;
mod stopped;

use endura_sim::choose::Random;
use endura_sim::explore::Explorer;
use endura_sim::model::Model;
use endura_sim::schedule::{Campaign, Family, Figures};
use endura_sim::subject::Subject;
use endura_sim::subjects::{LIMIT, MapOp, NbTree};
use endura_sim::tally::{Effort, Tally};

/// Three slots in a block, one line.
type Slots3 = NbTree<8, 4>;
/// Seven, two lines.
type Slots7 = NbTree<16, 4>;

/// Everything that is in flight at every moment of every single operation on maps of up to `most`
/// entries, and of what follows if `depth` is 2.
fn every_operation<S>(subject: &S, keys: &[u64], model: Model, most: usize, depth: u32) -> Tally
where
    S: Subject<Op = MapOp>,
{
    let effort = Effort {
        depth,
        exhaustive: 200,
        deepen_one_in: 40,
        deep_points: 12,
        deep_ops: 6,
        continue_one_in: 4,
        ..Effort::EXHAUSTIVE
    };
    let mut explorer = Explorer::new(subject, model, LIMIT, effort, 1);
    for count in 0..=most {
        let before: Vec<MapOp> =
            keys.iter().step_by(2).take(count).map(|&key| MapOp::Put(key, key)).collect();
        let start = explorer.start(&before).unwrap_or_else(|failure| panic!("{failure}"));
        for &key in keys {
            for op in [MapOp::Put(key, 777), MapOp::Remove(key)] {
                explorer.explore(&start, &[op], 0).unwrap_or_else(|failure| panic!("{failure}"));
            }
        }
        // So many removes that leaves merge.
        let drain: Vec<MapOp> = before.iter().map(|op| MapOp::Remove(op.key())).collect();
        explorer.explore(&start, &drain, 0).unwrap_or_else(|failure| panic!("{failure}"));
    }
    explorer.tally
}

fn keys() -> Vec<u64> {
    (1..=10).map(|i| 10 * i).collect()
}

const STRUCTURAL: [&str; 9] = [
    "change.S1",
    "change.S3",
    "change.S4",
    "merge.M2",
    "settle.S5",
    "settle.S6",
    "settle.S7",
    "settle.S8",
    "settle.unlink",
];

/// Every step of a structural change was taken, and a crash came inside of one.
fn crossed(tally: &Tally) {
    for step in STRUCTURAL {
        assert!(tally.steps.contains_key(step), "{step} was not taken: {tally:?}");
    }
    assert!(tally.structural_images > 100, "{tally:?}");
}

#[test]
fn no_crash_in_any_operation_on_a_small_map_loses_what_was_acknowledged() {
    let subject = Slots3::about(keys());
    for model in [Model::WEAKEST_ADR, Model::EADR, Model::PAGE_CACHE] {
        crossed(&every_operation(&subject, &subject.keys, model, 5, 2));
    }
    let subject = Slots7::about(keys());
    every_operation(&subject, &subject.keys, Model::WEAKEST_ADR, 5, 2);
}

/// Longer histories, each operation of which is crashed everywhere.
#[test]
fn no_crash_in_a_random_history_loses_what_was_acknowledged() {
    let subject = Slots3::about((1..=24).map(|i| 10 * i).collect());
    let effort = Effort {
        exhaustive: 60,
        deepen_one_in: 60,
        deep_points: 6,
        deep_ops: 4,
        continue_one_in: 5,
        ..Effort::EXHAUSTIVE
    };
    let mut sum = Tally::default();
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let mut op = || {
            let key = *random.pick(&subject.keys);
            if random.one_in(3) {
                MapOp::Remove(key)
            } else {
                MapOp::Put(key, key + random.below(9))
            }
        };
        let before: Vec<MapOp> = (0..40).map(|_| op()).collect();
        let then: Vec<MapOp> = (0..10).map(|_| op()).collect();
        let mut explorer = Explorer::new(&subject, Model::WEAKEST_ADR, LIMIT, effort, seed);
        let start = explorer.start(&before).unwrap_or_else(|failure| panic!("{failure}"));
        explorer.explore(&start, &then, 0).unwrap_or_else(|failure| panic!("{failure}"));
        sum.add(&explorer.tally);
    }
    crossed(&sum);
    assert!(sum.images > 3_000, "{sum:?}");
}

/// Schedules of each family and model.
const SCHEDULES: u64 = 500;

/// Several threads take turns at every access and every step; each schedule is crashed at a few
/// moments. What was answered, before the crash and after it, must fit into one order.
fn families(model: Model, keys: Vec<u64>) {
    let mut figures = Figures::default();
    for family in Family::ALL {
        let mut campaign = Campaign::new(Slots3::about(keys.clone()), model, LIMIT, 3);
        campaign
            .family(family, 0..SCHEDULES)
            .unwrap_or_else(|unsound| panic!("{family:?}: {unsound}"));
        figures.add(&campaign.figures);
        let mut campaign = Campaign::new(Slots7::about(keys.clone()), model, LIMIT, 3);
        campaign
            .family(family, 0..SCHEDULES)
            .unwrap_or_else(|unsound| panic!("{family:?}: {unsound}"));
        figures.add(&campaign.figures);
    }
    crossed(&figures.tally);
    for step in ["reroute.root", "merge.M1", "insert.I4", "alter.durable"] {
        assert!(figures.tally.steps.contains_key(step), "{step}: {figures:?}");
    }
    assert!(figures.traces > 4 * SCHEDULES, "{figures:?}");
}

#[test]
fn threads_under_power_failures_agree_on_one_order() {
    families(Model::WEAKEST_ADR, keys());
}

#[test]
fn threads_under_kills_agree_on_one_order() {
    families(Model::EADR, keys());
    families(Model::PAGE_CACHE, keys());
}
