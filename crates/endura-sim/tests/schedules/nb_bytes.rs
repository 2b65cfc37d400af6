//! Several threads on tiny NBTrees of byte strings: with words that leave most keys equal, and with words that do not.

use endura_engine::tree::key_word::{KeyWord, One, Seven};
use endura_sim::model::Model;
use endura_sim::schedule::{Campaign, Family, Figures, Plan, Strategy, Task, Way};
use endura_sim::subjects::{LIMIT, MapOp, NbBytes};

/// Schedules of each family, tree and model.
const SCHEDULES: u64 = 120;

const STEPS: [&str; 21] = [
    "alter.durable",
    "alter.exchange",
    "change.S0",
    "change.S1",
    "change.S3",
    "change.S4",
    "insert.I2",
    "insert.I4",
    "insert.I5",
    "insert.durable",
    "insert.pending",
    "merge.M1",
    "merge.M2",
    "read.leaf",
    "reroute.root",
    "settle.S5",
    "settle.S6",
    "settle.S7",
    "settle.S8",
    "write.found",
    "write.record",
];

fn subject<K: KeyWord>() -> NbBytes<16, 4, K> {
    NbBytes::about((1..=24).map(|i| 10 * i).collect())
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
    }
    println!("{sum:?}");
    sum
}

#[test]
fn threads_with_an_nbtree_of_byte_strings_agree_on_one_order() {
    let figures = all(&Family::ALL, SCHEDULES);
    for step in STEPS {
        assert!(figures.tally.steps.contains_key(step), "{step} was not taken: {figures:?}");
    }
    assert!(figures.traces > 4 * SCHEDULES && figures.tally.images > figures.traces, "{figures:?}");
}

#[test]
fn leak_recoveries_beside_writers_of_an_nbtree_of_byte_strings() {
    let figures = all(&[Family::Recovery], 2 * SCHEDULES);
    for step in ["leak_recovery.mark", "leak_recovery.sweep", "settle.S5", "settle.S8"] {
        assert!(figures.tally.steps.contains_key(step), "{step} was not taken: {figures:?}");
    }
}

/// Three threads insert keys with equal words, the first of which stops at each step of an insert: the others complete it, find
/// it killed, or pass it by.
#[test]
fn inserts_of_keys_with_equal_words_that_stop_anywhere_are_decided_once() {
    for step in
        ["insert.I2", "insert.I3", "insert.pending", "insert.I4", "insert.I5", "insert.durable"]
    {
        for before in [vec![], vec![10], vec![10, 30], vec![10, 30, 40]] {
            let before: Vec<MapOp> = before.into_iter().map(|key| MapOp::Put(key, 1)).collect();
            for second in [
                vec![Task::PutNew(20, 2), Task::Get(20)],
                vec![Task::PutNew(20, 2), Task::Remove(20), Task::PutNew(20, 3)],
                vec![Task::Put(21, 2), Task::Put(22, 3), Task::Put(20, 4)],
                vec![Task::End(Way::Up), Task::Scan(Way::Up, 0)],
            ] {
                let threads = vec![vec![Task::PutNew(20, 1)], second, vec![Task::PutNew(23, 5)]];
                let strategy = Strategy::StopAt { thread: 0, step, nth: 1 };
                let plan = Plan { before: before.clone(), threads, strategy, seed: 1 };
                let subject = NbBytes::<16, 4, One>::about(vec![10, 20, 21, 22, 23, 30, 40]);
                let mut campaign = Campaign::new(subject, Model::WEAKEST_ADR, LIMIT, 24);
                campaign.plan(&plan).unwrap_or_else(|unsound| panic!("{step}: {unsound}"));
            }
        }
    }
}

/// Sessions that begin with an empty pool: no chunk may be lost at the end.
#[test]
fn no_record_is_lost_in_sessions_that_begin_with_an_empty_pool() {
    let mut campaign =
        Campaign::new(subject::<One>(), Model::WEAKEST_ADR, LIMIT, 1).with_fresh_starts();
    for family in [Family::Mixed, Family::MergePost, Family::SplitSplit] {
        campaign
            .family(family, 0..SCHEDULES)
            .unwrap_or_else(|unsound| panic!("{family:?}: {unsound}"));
    }
}

#[test]
#[ignore = "ENDURA_SIM_SECONDS, cargo test --release -p endura-sim --test schedules -- --ignored --nocapture nb_bytes"]
fn schedules_of_nb_bytes_without_end() {
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
