//! Pieces of a campaign on tiny ROART trees, each of which can be run alone.

use std::collections::BTreeSet;
use std::fmt;

use endura_engine::tree::roart::Techniques;
use endura_sim::event::Action;
use endura_sim::explore::Next;
use endura_sim::model::Model;
use endura_sim::mutant::Mutant;
use endura_sim::mutate::{self, Bed, Harness};
use endura_sim::schedule::{Campaign, Family, Plan, Strategy};
use endura_sim::sim::{Stale, act_as};
use endura_sim::subject::{Finding, Subject};
use endura_sim::subjects::{ByteOp, Roart, SPELLINGS, Spellings};
use endura_sim::tally::Effort;
use endura_variants::roart::{NonTemporal, Tiny, WithoutArrays};

use super::plans;
use crate::{LIMIT, put, remove};

const QUICK: Effort = Harness::QUICK;

/// Seeds of each family.
const SCHEDULES: u64 = 60;
/// Schedules of each duel, of each kind.
const ROUNDS: u64 = 48;

/// The techniques of a tree.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Of {
    Tiny,
    WithoutArrays,
}

/// What threads see of each other.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sees {
    /// What the orders of their stores and loads say; with crashes.
    Late(Stale),
    /// The same on a medium on which fences are no instructions.
    Unfenced(Stale),
}

/// Where a remove stands.
const STEPS: [&str; 3] = ["unlink.word", "publish.dirty", "publish.durable"];

const KINDS: [Sees; 4] = [
    Sees::Late(Stale::Misled),
    Sees::Unfenced(Stale::Misled),
    Sees::Late(Stale::OneIn(3)),
    Sees::Unfenced(Stale::OneIn(3)),
];

/// A part of the campaign.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Part {
    /// A plan of one thread, crashed everywhere.
    Alone { plan: usize, of: Of, is_eadr: bool },
    /// The same where a checkpoint copies what was flushed.
    Marked { plan: usize },
    /// A process is killed in an operation; what the next ones do is crashed.
    Killed(usize),
    /// The same; the next one collects and uses again. Words of the first may be stored past the cache.
    Collected { number: usize, is_streamed: bool },
    /// The making of a map.
    Made { is_eadr: bool },
    /// A tree that grew and was drained: few nodes and arrays are left.
    Drained,
    /// A tree in chunks that hold what they held before.
    Unpoisoned,
    /// A thread stands at a step while another one works.
    Stands { duel: usize, step: usize, nth: usize },
    /// The same, in a tree in which a kill left a node or an array that should have gone.
    Barren { number: usize, step: usize },
    /// A thread counts what a killed one left; another one reads it.
    Settles,
    /// Two threads that see each other's stores late.
    Duel { duel: usize, sees: Sees, seed: u64 },
    /// A schedule of a family.
    Family(Family, u64),
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl mutate::Part for Part {
    type Shared = ();

    fn run(self, harness: &mut Harness, (): &mut ()) -> Result<(), Finding> {
        match self {
            Self::Alone { plan, of: Of::Tiny, is_eadr } => {
                alone::<Tiny>(plan, model(is_eadr), harness)
            }
            Self::Alone { plan, is_eadr, .. } => {
                alone::<WithoutArrays>(plan, model(is_eadr), harness)
            }
            Self::Marked { plan } => alone::<Tiny>(plan, Model::MARKED, harness),
            Self::Killed(number) => {
                let (before, op, next) = plans::kills().swap_remove(number);
                killed::<Tiny>(&before, &op, &next, harness)
            }
            Self::Collected { number, is_streamed } => {
                let (before, op, next) = plans::collected_kills().swap_remove(number);
                match is_streamed {
                    true => killed::<NonTemporal>(&before, &op, &[next], harness),
                    false => killed::<Tiny>(&before, &op, &[next], harness),
                }
            }
            // The pool below it is another's.
            Self::Made { is_eadr } => harness
                .made(bed(&about::<Tiny>(&[put("a", 1)]), model(is_eadr), QUICK), |event| {
                    matches!(event.action, Action::Fresh { .. })
                }),
            Self::Drained => drained(harness),
            Self::Unpoisoned => unpoisoned(harness),
            Self::Stands { duel, step, nth } => {
                let step = subject().steps()[step];
                let strategy = Strategy::StopAt { thread: 0, step, nth };
                self::duel(duel, strategy, 1, (Model::WEAKEST_ADR, 12, None), harness)
            }
            Self::Barren { number, step } => {
                let (before, cut, stands, comes) = plans::barren().swap_remove(number);
                let strategy = Strategy::StopAt { thread: 0, step: STEPS[step], nth: 1 };
                let plan = Plan { before, threads: vec![stands, comes], strategy, seed: 1 };
                let campaign = Campaign::new(subject(), Model::WEAKEST_ADR, LIMIT, usize::MAX);
                harness.scheduled(campaign.after_cut(cut), |of| of.plan(&plan).map(drop))
            }
            Self::Settles => settles(harness),
            Self::Duel { duel, sees, seed } => {
                let sees = match sees {
                    Sees::Late(stale) => (Model::WEAKEST_ADR, 2, Some(stale)),
                    Sees::Unfenced(stale) => (Model::PAGE_CACHE, 0, Some(stale)),
                };
                let steps = subject().steps();
                self::duel(duel, plans::strategy(seed, steps), seed, sees, harness)
            }
            Self::Family(family, seed) => {
                let campaign = Campaign::new(subject(), Model::WEAKEST_ADR, LIMIT, 4);
                harness.scheduled(campaign, |of| of.family(family, seed..seed + 1))
            }
        }
    }

    /// Only a relaxed store misleads.
    fn may_notice(self, mutant: Mutant) -> bool {
        let misleads = matches!(mutant, Mutant::Weaken(_));
        let needs_misled = matches!(
            self,
            Self::Duel { sees: Sees::Late(Stale::Misled) | Sees::Unfenced(Stale::Misled), .. }
        );
        misleads || !needs_misled
    }

    fn kind(self) -> String {
        match self {
            Self::Family(family, _) => format!("{family:?}"),
            Self::Duel { duel, .. } | Self::Stands { duel, .. } => format!("duel {duel}"),
            _ => self.to_string(),
        }
    }

    fn is_sample(self) -> bool {
        match self {
            Self::Duel { seed, .. } => seed < 2,
            _ => true,
        }
    }
}

/// All parts, cheap ones first.
pub(crate) fn all() -> Vec<Part> {
    let mut parts = vec![Part::Made { is_eadr: false }, Part::Made { is_eadr: true }];
    parts.extend([Part::Drained, Part::Unpoisoned]);
    for is_eadr in [false, true] {
        for of in [Of::Tiny, Of::WithoutArrays] {
            parts.extend((0..plans::plans().len()).map(|plan| Part::Alone { plan, of, is_eadr }));
        }
    }
    parts.extend((0..plans::plans().len()).map(|plan| Part::Marked { plan }));
    let duels = plans::duels().len();
    for duel in 0..duels {
        for step in 0..subject().steps().len() {
            parts.extend([1, 2].map(|nth| Part::Stands { duel, step, nth }));
        }
    }
    for number in 0..plans::barren().len() {
        parts.extend((0..STEPS.len()).map(|step| Part::Barren { number, step }));
    }
    parts.push(Part::Settles);
    for seed in 0..ROUNDS {
        let of = |duel| KINDS.map(|sees| Part::Duel { duel, sees, seed });
        parts.extend((0..duels).flat_map(of));
    }
    for number in 0..plans::collected_kills().len() {
        parts.extend([false, true].map(|is_streamed| Part::Collected { number, is_streamed }));
    }
    parts.extend((0..plans::kills().len()).map(Part::Killed));
    let families = Family::ALL.into_iter().chain([Family::Recovery]);
    parts.extend(families.flat_map(|of| (0..SCHEDULES).map(move |seed| Part::Family(of, seed))));
    parts
}

fn subject() -> Spellings<Tiny> {
    Spellings::first(SPELLINGS.len() as u64)
}

fn model(is_eadr: bool) -> Model {
    if is_eadr { Model::WEAKEST_EADR } else { Model::WEAKEST_ADR }
}

/// A tree about the keys of these operations.
fn about<'a, T: Techniques>(ops: impl IntoIterator<Item = &'a ByteOp>) -> Roart<T> {
    Roart::about(ops.into_iter().filter_map(ByteOp::about).collect::<BTreeSet<_>>())
}

fn bed<T: Techniques>(subject: &Roart<T>, model: Model, effort: Effort) -> Bed<'_, Roart<T>> {
    Bed { subject, model, limit: LIMIT, effort }
}

fn alone<T: Techniques>(plan: usize, model: Model, harness: &mut Harness) -> Result<(), Finding> {
    let plans::Plan { before, ops } = plans::plans().swap_remove(plan);
    let subject = about::<T>(before.iter().chain(&ops));
    harness.alone(bed(&subject, model, QUICK), &before, &ops, 0)
}

fn killed<T: Techniques>(
    before: &[ByteOp],
    op: &ByteOp,
    next: &[Next<ByteOp>],
    harness: &mut Harness,
) -> Result<(), Finding> {
    let later = next.iter().flat_map(|next| &next.ops);
    let subject = about::<T>(before.iter().chain([op]).chain(later));
    harness.killed(bed(&subject, Model::WEAKEST_ADR, Harness::KILLS), before, op, next)
}

/// What is sparse and not tidied loses nothing, and stays for ever.
fn drained(harness: &mut Harness) -> Result<(), Finding> {
    let subject = about::<Tiny>(&[]);
    let keys: Vec<String> = (0..60).map(|i| format!("w{}{}", i % 20, i / 20)).collect();
    let ops = keys.iter().map(|key| put(key, 1)).chain(keys.iter().map(|key| remove(key)));
    let open = harness.done(bed(&subject, Model::WEAKEST_ADR, QUICK), ops)?;
    let check = open.map.index().check(&mut |_, _| {}).map_err(|error| format!("{error:?}"))?;
    match check.nodes + check.arrays {
        // The root; nobody has to flush anything.
        1 if check.repairs.dirty == 0 => Ok(()),
        _ => Err(format!("{check:?} for no entry")),
    }
}

/// What was in a chunk before looks like a node, an array or a record, of this very session.
fn unpoisoned(harness: &mut Harness) -> Result<(), Finding> {
    let subject = about::<Tiny>(&[put("a1", 1), put("w10", 1)]);
    let sim = harness.sim(Model::WEAKEST_ADR, LIMIT);
    sim.set_poison(None);
    let open = subject.create(sim.clone())?;
    let mut model = subject.empty();
    for round in 0..4 {
        let keys: Vec<String> =
            (0..40).map(|i| format!("{}{}", i % (3 + round), i / (3 + round))).collect();
        let removed = keys.iter().filter(|key| key.len() < 3 || round % 2 == 0);
        let ops = keys.iter().map(|key| put(key, round)).chain(removed.map(|key| remove(key)));
        for op in ops {
            let answer = subject.apply(&open, &op)?;
            if answer != subject.specify(&mut model, &op) {
                return Err(format!("{op:?} answers {answer:?}"));
            }
        }
        open.space.relieve().map_err(|error| format!("{error:?}"))?;
        if subject.observe(&open)? != model {
            return Err("another content".to_owned());
        }
        subject.verify(&open, &model)?;
    }
    harness.count(|| sim.all_calls());
    Ok(())
}

/// A process is killed before it flushes the word of a record. In the next one a thread that counts
/// locks the node; another one reads.
fn settles(harness: &mut Harness) -> Result<(), Finding> {
    let before: Vec<ByteOp> = (1..=9).map(|i| put(&format!("n{i}"), 3)).collect();
    let subject = about::<Tiny>(&before);
    let effort = Effort { depth: 1, deep_ops: 0, ..QUICK };
    let on = bed(&subject, Model::WEAKEST_ADR, effort);
    let mut trace = harness.up_to(on, &before, &[put("n9", 7)], "publish.dirty")?;
    let mut found = None;
    // Between the session that was killed and the one after the crash.
    let events = harness.session_after(on, &trace, 0, |open| {
        // Its fences do not wait for the flushes of the process before, nor those of the reader for its.
        act_as(3);
        let counted = open.map.index().count_all();
        act_as(4);
        let seen = subject.observe(open);
        act_as(0);
        let check = open.map.index().check(&mut |_, _| {});
        counted.map_err(|error| format!("{error:?}"))?;
        if check.map_err(|error| format!("{error:?}"))?.repairs.dirty > 0 {
            return Err("all locks were taken, and words are marked".to_owned());
        }
        found = Some(seen?);
        Ok(())
    })?;
    trace.events.extend(events);
    let from = trace.events.len() - 1;
    harness.explored(on, |explorer| {
        let crashed =
            explorer.crash_session(3, &trace, from, |_| found.clone().into_iter().collect());
        crashed.map_err(|(finding, _)| finding)
    })
}

fn duel(
    duel: usize,
    strategy: Strategy,
    seed: u64,
    (model, crashes, stale): (Model, usize, Option<Stale>),
    harness: &mut Harness,
) -> Result<(), Finding> {
    let (before, stands, comes) = plans::duels().swap_remove(duel);
    let plan = Plan { before, threads: vec![stands, comes], strategy, seed };
    let mut campaign = Campaign::new(subject(), model, LIMIT, crashes);
    if let Some(stale) = stale {
        campaign = campaign.with_weak_visibility(stale);
    }
    harness.scheduled(campaign, |of| of.plan(&plan).map(drop))
}
