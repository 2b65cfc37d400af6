//! Tiny NBTrees: threads and crashes, calls that matter, lines that are stored to. (Every crash of every short
//! history is a matter of `campaign`.)
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod counts;
mod mutation;
mod stopped;

use endura_engine::tree::key_word::One;
use endura_sim::model::Model;
use endura_sim::schedule::{Campaign, Family, Figures};
use endura_sim::subjects::{LIMIT, NbBytes, NbTree, NumberTree, Numbers};
use endura_sim::tally::Tally;

/// Three slots in a block, one line.
type Slots3 = NbTree<8, 4>;
/// Seven, two lines.
type Slots7 = NbTree<16, 4>;
/// Four byte strings in a block, whose words are mostly equal.
type Strings4 = NbBytes<16, 4, One>;

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

/// Schedules of each family and model.
const SCHEDULES: u64 = 500;

fn run<T: NumberTree>(subject: Numbers<T>, family: Family, model: Model) -> Figures {
    let mut campaign = Campaign::new(subject, model, LIMIT, 3);
    let ran = campaign.family(family, 0..SCHEDULES);
    ran.unwrap_or_else(|unsound| panic!("{family:?}: {unsound}"));
    campaign.figures
}

/// Several threads take turns at every access and every step; each schedule is crashed at a few
/// moments. What was answered, before the crash and after it, must fit into one order.
fn families(model: Model, keys: Vec<u64>) {
    let mut figures = Figures::default();
    for family in Family::ALL {
        figures.add(&run(Slots3::about(keys.clone()), family, model));
        figures.add(&run(Slots7::about(keys.clone()), family, model));
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
