//! Each pair of kinds, with all kinds of meetings.

use std::time::{Duration, Instant};

use endura_sim::model::Model;
use endura_sim::schedule::{Figures, KEYS, Meeting, PoolCampaign};
use endura_sim::subjects::LIMIT;
use endura_sim::subjects::batches::{Batches, KINDS};

/// Schedules of each kind of meeting for each pair, in the quick part.
const QUICK: u64 = 10;
/// Moments at which each schedule is crashed.
const CRASHES: usize = 4;
/// What a checkpoint has that copies whole pages.
const PAGES: Model = Model::marked(4096);

const MODELS: [Model; 4] = [Model::WEAKEST_ADR, Model::PAGE_CACHE, Model::EADR, PAGES];

fn pairs() -> impl Iterator<Item = [usize; 2]> {
    (0..KINDS).flat_map(|first| (first..KINDS).map(move |second| [first, second]))
}

fn campaign(kinds: [usize; 2], model: Model) -> PoolCampaign {
    let subject = Batches { kinds: kinds.to_vec(), keys: KEYS.to_vec() };
    PoolCampaign::new(subject, model, LIMIT, CRASHES)
}

fn run(campaign: &mut PoolCampaign, kinds: [usize; 2], model: Model, seeds: std::ops::Range<u64>) {
    for meeting in Meeting::ALL {
        campaign
            .meeting(meeting, seeds.clone())
            .unwrap_or_else(|unsound| panic!("{kinds:?} {model} {meeting:?}: {unsound}"));
    }
}

#[test]
fn some_order_explains_what_threads_are_told() {
    let mut all = Figures::default();
    let begun = Instant::now();
    for (i, kinds) in pairs().enumerate() {
        let model = MODELS[i % MODELS.len()];
        let mut campaign = campaign(kinds, model);
        let first = QUICK * i as u64;
        run(&mut campaign, kinds, model, first..first + QUICK);
        all.add(&campaign.figures);
    }
    let took = begun.elapsed();
    println!("{} schedules, {} images, {took:.1?}", all.schedules, all.tally.images);
    assert_eq!(all.schedules, 28 * 5 * QUICK);
    assert!(all.tally.images > all.schedules, "{all:?}");
    for step in ["batch.intent", "batch.word", "batch.committed", "closure", "view"] {
        assert!(all.tally.steps.contains_key(step), "{step} was never taken");
    }
    for step in ["batch.word", "batch.committed"] {
        assert!(all.tally.crossed.contains_key(step), "{step} was never crossed");
    }
}

#[test]
#[ignore = "for ENDURA_SIM_SECONDS, a minute if nothing else is said"]
fn schedules_without_end() {
    let seconds = std::env::var("ENDURA_SIM_SECONDS").ok().and_then(|text| text.parse().ok());
    let (begun, long) = (Instant::now(), Duration::from_secs(seconds.unwrap_or(60)));
    let (mut all, mut round) = (Figures::default(), 0);
    // Other seeds each time, unless one is given.
    let seed = std::env::var("ENDURA_SIM_SEED").ok().and_then(|text| text.parse().ok());
    let first = seed.unwrap_or_else(|| u64::from(std::process::id()) * 1_000_003);
    println!("ENDURA_SIM_SEED={first}");
    while begun.elapsed() < long {
        for kinds in pairs() {
            for model in MODELS {
                let mut campaign = campaign(kinds, model);
                let seed = first + 10 * round;
                run(&mut campaign, kinds, model, seed..seed + 10);
                all.add(&campaign.figures);
                if begun.elapsed() > long {
                    break;
                }
            }
        }
        round += 1;
    }
    println!("{} schedules, {} moves, {} images", all.schedules, all.moves, all.tally.images);
}
