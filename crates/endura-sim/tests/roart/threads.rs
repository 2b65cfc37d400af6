//! Two or three threads on trees with arrays of four, under many schedules, each crashed at a few moments:
//! what was answered before the crash and after it must fit into one order.

use endura_engine::space::PAGE;
use endura_engine::tree::roart::Techniques;
use endura_sim::model::Model;
use endura_sim::schedule::{Campaign, Family, Figures};
use endura_sim::subjects::Spellings;
use endura_variants::roart::{Tiny, WithoutArrays};

pub(crate) const LIMIT: u64 = 64 * PAGE;

/// Schedules of each family, tree and model.
const SCHEDULES: u64 = 120;

const STEPS: [&str; 17] = [
    "array.replaced",
    "array.shrunk",
    "find.step",
    "lock.array",
    "lock.node",
    "lookup.step",
    "node.shrunk",
    "prefix.split",
    "publish.dirty",
    "publish.durable",
    "publish.word",
    "put.exact",
    "ready.array",
    "ready.node",
    "split",
    "unlink.word",
    "write.found",
];

fn run<T: Techniques>(family: Family, model: Model, seeds: std::ops::Range<u64>) -> Figures {
    let mut campaign = Campaign::new(Spellings::<T>::first(14), model, LIMIT, 3);
    campaign
        .family(family, seeds)
        .unwrap_or_else(|unsound| panic!("{family:?}, {model:?}: {unsound}"));
    campaign.figures
}

fn all(families: &[Family], schedules: u64) -> Figures {
    let mut sum = Figures::default();
    for &family in families {
        sum.add(&run::<Tiny>(family, Model::WEAKEST_ADR, 0..schedules));
        sum.add(&run::<Tiny>(family, Model::EADR, 0..schedules / 2));
        sum.add(&run::<WithoutArrays>(family, Model::WEAKEST_ADR, 0..schedules / 2));
    }
    println!("{sum:?}");
    sum
}

#[test]
fn threads_under_power_failures_agree_on_one_order() {
    let figures = all(&Family::ALL, SCHEDULES);
    for step in STEPS {
        assert!(figures.tally.steps.contains_key(step), "{step} was not taken: {figures:?}");
    }
    assert!(figures.traces > 8 * SCHEDULES && figures.tally.images > figures.traces, "{figures:?}");
}

#[test]
fn leak_recoveries_beside_writers() {
    let figures = all(&[Family::Recovery], 2 * SCHEDULES);
    for step in ["leak_recovery.mark", "leak_recovery.sweep", "node.shrunk", "unlink.word"] {
        assert!(figures.tally.steps.contains_key(step), "{step} was not taken: {figures:?}");
    }
}

/// Sessions that begin with an empty pool: no chunk may be lost at the end.
#[test]
fn nothing_is_lost_in_sessions_that_begin_with_an_empty_pool() {
    let subject = Spellings::<Tiny>::first(14);
    let mut campaign = Campaign::new(subject, Model::WEAKEST_ADR, LIMIT, 1).with_fresh_starts();
    for family in [Family::Mixed, Family::MergePost, Family::SplitSplit] {
        campaign
            .family(family, 0..SCHEDULES)
            .unwrap_or_else(|unsound| panic!("{family:?}: {unsound}"));
    }
}

#[test]
#[ignore = "ENDURA_SIM_SECONDS, cargo test --release -p endura-sim --test roart -- --ignored --nocapture"]
fn schedules_without_end() {
    let given = std::env::var("ENDURA_SIM_SECONDS").ok().and_then(|text| text.parse().ok());
    let (begin, mut sum, mut seed) = (std::time::Instant::now(), Figures::default(), 1_000);
    while begin.elapsed().as_secs() < given.unwrap_or(600) {
        for family in Family::ALL.into_iter().chain([Family::Recovery]) {
            sum.add(&run::<Tiny>(family, Model::WEAKEST_ADR, seed..seed + 200));
            sum.add(&run::<Tiny>(family, Model::EADR, seed..seed + 100));
            sum.add(&run::<WithoutArrays>(family, Model::WEAKEST_ADR, seed..seed + 100));
        }
        seed += 200;
    }
    println!("seeds 1000 to {seed}: {sum:?}");
}
