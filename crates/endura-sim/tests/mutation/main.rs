//! Every flush, fence, drain, store and `Release` of FAST & FAIR is faulted in turn, and the crashes of
//! a quick campaign must find it. What they do not find is listed, with the reason, in `listed.rs`.
//!
//! `cargo test -p endura-sim --test mutation -- --ignored --nocapture` tries the listed ones as well,
//! and prints the fate of each.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod listed;
mod plans;

use std::collections::BTreeSet;
use std::path::Path;

use endura_sim::explore::Explorer;
use endura_sim::model::Model;
use endura_sim::mutant::Mutant;
use endura_sim::mutate::{Calls, Report, judge, name};
use endura_sim::schedule::{self, Family};
use endura_sim::subject::Finding;
use endura_sim::subjects::{FastFair, LIMIT};
use endura_sim::tally::Effort;

use listed::{LISTED, Why};
use plans::Plan;

const QUICK: Effort = Effort {
    exhaustive: 40,
    samples: 8,
    depth: 2,
    deepen_one_in: 8,
    deep_points: 3,
    deep_ops: 2,
    ..Effort::EXHAUSTIVE
};

/// After a kill, the session that follows is crashed everywhere up to the end of its first operation.
const KILLS: Effort =
    Effort { exhaustive: 12, samples: 4, depth: 1, continue_one_in: 4, deep_ops: 1, ..QUICK };

/// Schedules of each kind that several threads are run under.
const SCHEDULES: u64 = 60;

/// How the runs of a plan end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// With a crash at every moment.
    Crash,
    /// With a crash at every moment of the last operation.
    LastCrash,
    /// With a kill, and then a crash.
    Kill,
}

/// A campaign with a fault, or without.
#[derive(Default)]
struct Campaign {
    mutant: Option<Mutant>,
    calls: Option<Calls>,
    fingerprint: u64,
}

impl Campaign {
    fn run<const W: usize>(
        &mut self,
        model: Model,
        plans: &[Plan],
        end: End,
    ) -> Result<(), Finding> {
        let subject = FastFair::<W, W> { keys: (1..=40).map(|key| 10 * key).collect() };
        let effort = if end == End::Kill { KILLS } else { QUICK };
        let mut explorer = Explorer::new(&subject, model, LIMIT, effort, 1);
        explorer.plant(self.mutant);
        explorer.calls = self.calls.take();
        for Plan { before, ops } in plans {
            let start = explorer.start(before).map_err(|failure| failure.finding)?;
            let result = match end {
                End::Crash => explorer.explore(&start, ops, 0),
                End::LastCrash => explorer.explore(&start, ops, ops.len() - 1),
                End::Kill => explorer.explore_kills(&start, ops, 0),
            };
            result.map_err(|failure| failure.finding)?;
        }
        self.calls = explorer.calls;
        self.fingerprint = self.fingerprint.wrapping_add(explorer.tally.fingerprint);
        Ok(())
    }

    /// All of it; gives the fingerprint of what was come across.
    fn all(&mut self) -> Result<u64, Finding> {
        let (leaf, wide_leaf, tree) =
            (plans::of_a_leaf(3), plans::of_a_leaf(7), plans::of_a_tree(3));
        self.run::<14>(Model::WEAKEST_ADR, &leaf, End::Crash)?;
        self.run::<22>(Model::WEAKEST_ADR, &wide_leaf[12..], End::Crash)?;
        self.run::<14>(Model::WEAKEST_ADR, &tree, End::Crash)?;
        self.run::<14>(Model::EADR, &leaf, End::Crash)?;
        self.run::<14>(Model::EADR, &tree, End::Crash)?;
        self.run::<14>(Model::WEAKEST_ADR, &leaf[12..], End::Kill)?;
        self.run::<22>(Model::WEAKEST_ADR, &wide_leaf[12..24], End::Kill)?;
        self.run::<14>(Model::WEAKEST_ADR, &[plans::churn()], End::LastCrash)?;
        self.threads()?;
        Ok(self.fingerprint)
    }

    /// Two or three threads under a few schedules of each kind, with crashes.
    fn threads(&mut self) -> Result<(), Finding> {
        let subject = FastFair::<14, 14> { keys: (1..=12).map(|key| 10 * key).collect() };
        let mut campaign = schedule::Campaign::new(subject, Model::WEAKEST_ADR, LIMIT, 2);
        campaign.plant(self.mutant);
        for family in Family::ALL {
            campaign.family(family, 0..SCHEDULES).map_err(|unsound| unsound.finding)?;
        }
        let images = campaign.figures.tally.fingerprint;
        self.fingerprint = self.fingerprint.wrapping_add(images);
        Ok(())
    }
}

/// The calls that FAST & FAIR makes in a campaign without a fault, and the campaign's fingerprint.
fn sound() -> (Calls, u64) {
    let mut sound = Campaign { calls: Some(Calls::default()), ..Campaign::default() };
    let fingerprint = sound.all().unwrap();
    let mut calls = sound.calls.unwrap();
    let is_of_the_tree = |file: &str| file.contains("tree/fast_fair/");
    calls.made.retain(|call, _| is_of_the_tree(call.site.file()));
    calls.releases.retain(|call| is_of_the_tree(call.site.file()));
    (calls, fingerprint)
}

fn name_of(mutant: Mutant) -> String {
    name(mutant, &Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).unwrap()
}

fn try_out(mutants: Vec<Mutant>, fingerprint: u64) -> Report {
    judge(mutants, fingerprint, |mutant| {
        Campaign { mutant: Some(mutant), ..Campaign::default() }.all()
    })
}

fn is_listed(mutant: &Mutant) -> bool {
    let name = name_of(*mutant);
    LISTED.iter().any(|(listed, ..)| *listed == name)
}

#[test]
fn what_is_not_listed_is_killed() {
    let (calls, fingerprint) = sound();
    let (listed, tried): (Vec<_>, Vec<_>) = calls.mutants().partition(is_listed);
    let count = listed.len() + tried.len();
    let report = try_out(tried, fingerprint);
    let alive: Vec<String> = report.survivors().map(name_of).collect();
    println!("{report}and {} of {count} mutants are listed", listed.len());
    for why in [Why::Harmless, Why::Visibility, Why::NeedsSchedules, Why::NotReached] {
        let reasons = LISTED.iter().filter(|(_, of, _)| *of == why);
        println!("{why:?}: {}", reasons.clone().count());
        reasons.for_each(|(name, _, reason)| println!("  {name} ({reason})"));
    }
    assert!(alive.is_empty(), "nobody notices:\n{}", alive.join("\n"));
    let there: BTreeSet<String> = listed.into_iter().map(name_of).collect();
    let gone = LISTED.iter().filter(|(name, ..)| !there.contains(*name));
    assert_eq!(gone.count(), 0, "of the listed ones only these are there: {there:#?}");
}

#[test]
#[ignore = "two minutes: shows that the listed ones do survive"]
fn what_is_listed_survives() {
    let (calls, fingerprint) = sound();
    let listed: Vec<Mutant> = calls.mutants().filter(is_listed).collect();
    let report = try_out(listed.clone(), fingerprint);
    println!("{report}");
    let alive: BTreeSet<Mutant> = report.survivors().collect();
    let dead: Vec<String> =
        listed.into_iter().filter(|m| !alive.contains(m)).map(name_of).collect();
    assert!(dead.is_empty(), "killed after all:\n{}", dead.join("\n"));
}
