//! Several threads on tiny FAST & FAIR trees of byte strings: with words that cannot divide most leaves, so that nodes are
//! replaced all the time, and with words that can.

use endura_engine::tree::key_word::{KeyWord, One, OneAndTwo, Seven};
use endura_sim::choose::Random;
use endura_sim::model::Model;
use endura_sim::schedule::{Campaign, Family, Figures, Plan, Strategy, Task, Way};
use endura_sim::subjects::{FairBytes, LIMIT, MapOp};

/// Schedules of each family, tree and model.
const SCHEDULES: u64 = 120;

const STEPS: [&str; 24] = [
    "fast_delete.commit",
    "fast_delete.shift",
    "fast_insert.commit",
    "fast_insert.empty",
    "fast_insert.shift",
    "lock.taken",
    "merge.M1",
    "merge.M2",
    "post.P1",
    "post.P2",
    "read.inner",
    "read.leaf",
    "replace.R1",
    "replace.R2",
    "replace.R2.durable",
    "root.grow",
    "root.shrink",
    "settle.R3",
    "settle.R4",
    "split.S2",
    "split.S3.high",
    "split.S3.sib",
    "split.S3.tag",
    "split.S4",
];

fn subject<K>() -> FairBytes<24, 24, K> {
    FairBytes::about((1..=24).map(|i| 10 * i).collect())
}

fn run<K: KeyWord>(family: Family, model: Model, schedules: u64) -> Figures {
    let mut campaign = Campaign::new(subject::<K>(), model, LIMIT, 3);
    campaign
        .family(family, 0..schedules)
        .unwrap_or_else(|unsound| panic!("{family:?}, {model:?}: {unsound}"));
    campaign.figures
}

fn all(families: &[Family], schedules: u64) -> Figures {
    let mut sum = Figures::default();
    for &family in families {
        sum.add(&run::<One>(family, Model::WEAKEST_ADR, schedules));
        sum.add(&run::<One>(family, Model::EADR, schedules / 2));
        sum.add(&run::<Seven>(family, Model::WEAKEST_ADR, schedules / 2));
        sum.add(&run::<OneAndTwo>(family, Model::WEAKEST_ADR, schedules / 2));
    }
    println!("{sum:?}");
    sum
}

#[test]
fn threads_with_byte_strings_agree_on_one_order() {
    let figures = all(&Family::ALL, SCHEDULES);
    for step in STEPS {
        assert!(figures.tally.steps.contains_key(step), "{step} was not taken: {figures:?}");
    }
    assert!(figures.traces > 8 * SCHEDULES && figures.tally.images > figures.traces, "{figures:?}");
}

#[test]
fn leak_recoveries_beside_writers_of_byte_strings() {
    let figures = all(&[Family::Recovery], 2 * SCHEDULES);
    for step in ["leak_recovery.mark", "leak_recovery.sweep", "replace.R2", "settle.R4"] {
        assert!(figures.tally.steps.contains_key(step), "{step} was not taken: {figures:?}");
    }
}

/// A thread that grows the tree stands between the look at the node that its new root will lead to and the store of the root.
/// Another thread replaces this node, for which there is no parent yet: it must not retire it while the root may lead to it.
#[test]
fn a_root_does_not_lead_to_a_node_that_was_replaced_while_the_tree_grew() {
    let keys: Vec<u64> = (1..=40).map(|i| 10 * i).collect();
    for seed in 0..SCHEDULES {
        let mut random = Random::new(seed);
        // The first thread makes the tree grow; each of the others has time for one entry before it waits for the first.
        let mut order = keys.clone();
        (1..order.len()).for_each(|i| order.swap(i, random.below(i as u64 + 1) as usize));
        let most = 8 + random.below(10) as usize;
        let before: Vec<MapOp> = order[..most].iter().map(|&key| MapOp::Put(key, key)).collect();
        let puts = |keys: &[u64]| keys.iter().map(|&key| Task::Put(key, 1)).collect::<Vec<_>>();
        let mut threads = vec![puts(&order[most..most + 6])];
        threads.extend(
            (0..4).map(|i| [puts(&order[most + 6 + 2 * i..][..2]), vec![Task::Scribble]].concat()),
        );
        let strategy = Strategy::StopAt { thread: 0, step: "root.grow", nth: 1 };
        let plan = Plan { before, threads, strategy, seed: 1 };
        let subject = FairBytes::<24, 24, One>::about(keys.clone());
        let mut campaign = Campaign::new(subject, Model::WEAKEST_ADR, LIMIT, 3);
        campaign.plan(&plan).unwrap_or_else(|unsound| panic!("{seed}: {unsound}"));
    }
}

/// A reader has read the version of a leaf; then the leaf is replaced, and this is not durable yet; then the reader follows the
/// link to the new leaf, and returns the new entry. A crash must not take it back.
#[test]
fn a_reader_that_comes_to_a_leaf_before_it_is_replaced_returns_nothing_that_a_crash_takes_back() {
    let before = [10, 20, 40, 50].map(|key| MapOp::Put(key, 1)).to_vec();
    let subject = FairBytes::<24, 24, One>::about(vec![10, 20, 30, 40, 50]);
    let mut campaign = Campaign::new(subject, Model::WEAKEST_ADR, LIMIT, usize::MAX);
    for moves in 1..300 {
        let threads = vec![vec![Task::Scan(Way::Up, 0)], vec![Task::Put(30, 2)]];
        let strategy = Strategy::Within { step: "read.leaf", nth: 1, moves };
        let plan = Plan { before: before.clone(), threads, strategy, seed: 1 };
        campaign.plan(&plan).unwrap_or_else(|unsound| panic!("{moves} moves: {unsound}"));
    }
}

/// Sessions that begin with an empty pool: no chunk may be lost at the end.
#[test]
fn no_node_is_lost_in_sessions_that_begin_with_an_empty_pool() {
    let mut campaign =
        Campaign::new(subject::<One>(), Model::WEAKEST_ADR, LIMIT, 1).with_fresh_starts();
    for family in [Family::Mixed, Family::MergePost, Family::SplitSplit] {
        campaign
            .family(family, 0..SCHEDULES)
            .unwrap_or_else(|unsound| panic!("{family:?}: {unsound}"));
    }
}

#[test]
#[ignore = "ENDURA_SIM_SECONDS, cargo test --release -p endura-sim --test schedules -- --ignored --nocapture byte_strings"]
fn schedules_of_byte_strings_without_end() {
    let given = std::env::var("ENDURA_SIM_SECONDS").ok().and_then(|text| text.parse().ok());
    let (begin, mut sum, mut seed) = (std::time::Instant::now(), Figures::default(), 1_000);
    while begin.elapsed().as_secs() < given.unwrap_or(600) {
        for family in Family::ALL.into_iter().chain([Family::Recovery]) {
            for model in [Model::WEAKEST_ADR, Model::EADR] {
                let mut campaign = Campaign::new(subject::<One>(), model, LIMIT, 3);
                let found = campaign.family(family, seed..seed + 20);
                found.unwrap_or_else(|unsound| panic!("{family:?}, {model:?}: {unsound}"));
                sum.add(&campaign.figures);
            }
        }
        seed += 20;
    }
    println!("{sum:?}");
}
