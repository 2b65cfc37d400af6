//! Pieces of a campaign on tiny ROART trees, each of which can be run alone.

use std::collections::BTreeSet;
use std::fmt;

use endura::lab::tree::roart::Techniques;
use endura_sim::choose::Chooser;
use endura_sim::event::{Action, Event, Trace};
use endura_sim::explore::{Explorer, visible};
use endura_sim::model::Model;
use endura_sim::mutant::Mutant;
use endura_sim::mutate::{self, Calls};
use endura_sim::schedule::{Campaign, Family, OrderedMap, Plan, Strategy, Unsound};
use endura_sim::sim::{Sim, Stale, act_as};
use endura_sim::subject::{Finding, Subject};
use endura_sim::subjects::{ByteOp, Roart, SPELLINGS, Spellings};
use endura_sim::tally::Effort;
use endura_variants::roart::{NonTemporal, Tiny, WithoutArrays};

use super::plans;
use crate::{LIMIT, put, remove};

const QUICK: Effort = Effort {
    exhaustive: 40,
    samples: 8,
    depth: 2,
    deepen_one_in: 8,
    deep_points: 3,
    deep_ops: 2,
    ..Effort::EXHAUSTIVE
};
const KILLS: Effort =
    Effort { exhaustive: 12, samples: 4, depth: 1, continue_one_in: 4, deep_ops: 1, ..QUICK };

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
    type Runner = Runner;

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
    let families = Family::ALL.into_iter().chain([Family::Collection]);
    parts.extend(families.flat_map(|of| (0..SCHEDULES).map(move |seed| Part::Family(of, seed))));
    parts
}

/// Runs parts.
pub(crate) struct Runner {
    mutant: Option<Mutant>,
    /// Calls made, where they are counted.
    calls: Option<Calls>,
}

impl mutate::Runner for Runner {
    type Part = Part;

    fn new(mutant: Option<Mutant>, counts: bool) -> Self {
        Self { mutant, calls: counts.then(Calls::default) }
    }

    fn run(&mut self, part: Part) -> Result<(), Finding> {
        match part {
            Part::Alone { plan, of: Of::Tiny, is_eadr } => self.alone::<Tiny>(plan, is_eadr),
            Part::Alone { plan, is_eadr, .. } => self.alone::<WithoutArrays>(plan, is_eadr),
            Part::Killed(number) => {
                let (before, op, next) = plans::kills().swap_remove(number);
                self.killed::<Tiny>(&before, &op, &next)
            }
            Part::Collected { number, is_streamed } => {
                let (before, op, next) = plans::collected_kills().swap_remove(number);
                match is_streamed {
                    true => self.killed::<NonTemporal>(&before, &op, &[next]),
                    false => self.killed::<Tiny>(&before, &op, &[next]),
                }
            }
            Part::Made { is_eadr } => self.made(is_eadr),
            Part::Drained => self.drained(),
            Part::Unpoisoned => self.unpoisoned(),
            Part::Stands { duel, step, nth } => {
                let step = subject().steps()[step];
                let strategy = Strategy::StopAt { thread: 0, step, nth };
                self.duel(duel, strategy, 1, (Model::WEAKEST_ADR, 12, None))
            }
            Part::Barren { number, step } => {
                let (before, cut, stands, comes) = plans::barren().swap_remove(number);
                let strategy = Strategy::StopAt { thread: 0, step: STEPS[step], nth: 1 };
                let plan = Plan { before, threads: vec![stands, comes], strategy, seed: 1 };
                let campaign = Campaign::new(subject(), Model::WEAKEST_ADR, LIMIT, usize::MAX);
                self.scheduled(campaign.after_cut(cut), |of| of.plan(&plan).map(drop))
            }
            Part::Settles => self.settles(),
            Part::Duel { duel, sees, seed } => {
                let sees = match sees {
                    Sees::Late(stale) => (Model::WEAKEST_ADR, 2, Some(stale)),
                    Sees::Unfenced(stale) => (Model::PAGE_CACHE, 0, Some(stale)),
                };
                let steps = subject().steps();
                self.duel(duel, plans::strategy(seed, steps), seed, sees)
            }
            Part::Family(family, seed) => {
                let campaign = Campaign::new(subject(), Model::WEAKEST_ADR, LIMIT, 4);
                self.scheduled(campaign, |of| of.family(family, seed..seed + 1))
            }
        }
    }

    fn into_calls(self) -> Calls {
        self.calls.unwrap_or_default()
    }
}

fn subject() -> Spellings<Tiny> {
    Spellings::first(SPELLINGS.len() as u64)
}

fn model(is_eadr: bool) -> Model {
    if is_eadr { Model::WEAKEST_EADR } else { Model::WEAKEST_ADR }
}

/// A tree about the keys of these operations.
fn about<'a, T: Techniques>(ops: impl IntoIterator<Item = &'a ByteOp>) -> Roart<T> {
    let key = |op: &'a ByteOp| match op {
        ByteOp::Put(key, _) | ByteOp::Remove(key) => key,
    };
    Roart::about(ops.into_iter().map(key).collect::<BTreeSet<_>>())
}

impl Runner {
    fn explorer<'s, T: Techniques>(
        &mut self,
        subject: &'s Roart<T>,
        model: Model,
        effort: Effort,
    ) -> Explorer<'s, Roart<T>> {
        let mut explorer = Explorer::new(subject, model, LIMIT, effort, 1);
        explorer.plant(self.mutant);
        explorer.calls = self.calls.take();
        explorer
    }

    fn alone<T: Techniques>(&mut self, plan: usize, is_eadr: bool) -> Result<(), Finding> {
        let plans::Plan { before, ops } = plans::plans().swap_remove(plan);
        let subject = about::<T>(before.iter().chain(&ops));
        let mut explorer = self.explorer(&subject, model(is_eadr), QUICK);
        let start = explorer.start(&before).map_err(|failure| failure.finding)?;
        let result = explorer.explore(&start, &ops, 0);
        self.calls = explorer.calls;
        result.map_err(|failure| failure.finding)
    }

    fn killed<T: Techniques>(
        &mut self,
        before: &[ByteOp],
        op: &ByteOp,
        next: &[endura_sim::explore::Next<ByteOp>],
    ) -> Result<(), Finding> {
        let later = next.iter().flat_map(|next| &next.ops);
        let subject = about::<T>(before.iter().chain([op]).chain(later));
        let mut explorer = self.explorer(&subject, Model::WEAKEST_ADR, KILLS);
        let start = explorer.start(before).map_err(|failure| failure.finding)?;
        let result = explorer.kill(&start, op, next);
        self.calls = explorer.calls;
        result.map_err(|failure| failure.finding)
    }

    fn sim(&self, model: Model) -> Sim {
        let sim = Sim::new(model, LIMIT);
        sim.plant(self.mutant);
        if self.calls.is_some() {
            sim.count_calls();
        }
        sim
    }

    /// Crashes the making of a map.
    fn made(&mut self, is_eadr: bool) -> Result<(), Finding> {
        let (subject, sim) = (about::<Tiny>(&[put("a", 1)]), self.sim(model(is_eadr)));
        let open = subject.create(sim.clone())?;
        subject.observe(&open)?;
        self.calls.iter_mut().for_each(|calls| calls.add(sim.all_calls()));
        let trace = sim.trace();
        // The pool below it is another's.
        let is_first = |event: &Event| matches!(event.action, Action::Fresh { .. });
        let from = trace.events.iter().position(is_first).unwrap_or(0);
        let mut explorer = self.explorer(&subject, model(is_eadr), QUICK);
        let result = explorer.crash_trace(&trace, from, |_| vec![subject.empty()]);
        self.calls = explorer.calls;
        result.map_err(|(finding, _)| finding)
    }

    /// What is sparse and not tidied loses nothing, and stays for ever.
    fn drained(&mut self) -> Result<(), Finding> {
        let subject = about::<Tiny>(&[]);
        let sim = self.sim(Model::WEAKEST_ADR);
        let open = subject.create(sim.clone())?;
        let keys: Vec<String> = (0..60).map(|i| format!("w{}{}", i % 20, i / 20)).collect();
        for op in keys.iter().map(|key| put(key, 1)).chain(keys.iter().map(|key| remove(key))) {
            subject.apply(&open, &op)?;
        }
        self.calls.iter_mut().for_each(|calls| calls.add(sim.all_calls()));
        let survey =
            open.map.index().check(&mut |_, _| {}).map_err(|error| format!("{error:?}"))?;
        match survey.nodes + survey.arrays {
            // The root; nobody has to flush anything.
            1 if survey.repairs.dirty == 0 => Ok(()),
            _ => Err(format!("{survey:?} for no entry")),
        }
    }

    /// What was in a chunk before looks like a node, an array or a record, of this very session.
    fn unpoisoned(&mut self) -> Result<(), Finding> {
        let subject = about::<Tiny>(&[put("a1", 1), put("w10", 1)]);
        let sim = self.sim(Model::WEAKEST_ADR);
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
        self.calls.iter_mut().for_each(|calls| calls.add(sim.all_calls()));
        Ok(())
    }

    /// A process is killed before it flushes the word of a record. In the next one a thread that counts
    /// locks the node; another one reads.
    fn settles(&mut self) -> Result<(), Finding> {
        let before: Vec<ByteOp> = (1..=9).map(|i| put(&format!("n{i}"), 3)).collect();
        let killed = [put("n9", 7)];
        let subject = about::<Tiny>(&before);
        let effort = Effort { depth: 1, deep_ops: 0, ..QUICK };
        let mut explorer = self.explorer(&subject, Model::WEAKEST_ADR, effort);
        let start = explorer.start(&before).map_err(|failure| failure.finding)?;
        let trace = explorer.trace(&start, &killed)?;
        let is_dirty = |event: &Event| event.action == Action::Step("publish.dirty");
        let end = trace.events.iter().position(is_dirty).ok_or("nothing is published")?;
        let left = visible(&trace, end);
        let sim = Sim::after(Model::WEAKEST_ADR, LIMIT, &left, Chooser::first());
        sim.plant(self.mutant);
        sim.count_calls();
        // Between the session that was killed and the one after the crash.
        let open = subject.open(sim.clone(), 3)?;
        // Its fences do not wait for the flushes of the process before, nor those of the reader for its.
        act_as(3);
        let counted = open.map.index().count_all();
        act_as(4);
        let found = subject.observe(&open);
        act_as(0);
        let survey = open.map.index().check(&mut |_, _| {});
        explorer.calls.iter_mut().for_each(|calls| calls.add(sim.all_calls()));
        self.calls = explorer.calls.take();
        counted.map_err(|error| format!("{error:?}"))?;
        if survey.map_err(|error| format!("{error:?}"))?.repairs.dirty > 0 {
            return Err("all locks were taken, and words are marked".to_owned());
        }
        let found = found?;
        sim.note(Action::Observed);
        let mut events = trace.events[..end].to_vec();
        events.extend(sim.take_trace().events);
        let (from, trace) = (events.len() - 1, Trace { start: trace.start, events });
        let crashed = explorer.crash_session(3, &trace, from, |_| vec![found.clone()]);
        crashed.map_err(|(finding, _)| finding)
    }

    fn duel(
        &mut self,
        duel: usize,
        strategy: Strategy,
        seed: u64,
        (model, crashes, stale): (Model, usize, Option<Stale>),
    ) -> Result<(), Finding> {
        let (before, stands, comes) = plans::duels().swap_remove(duel);
        let plan = Plan { before, threads: vec![stands, comes], strategy, seed };
        let mut campaign = Campaign::new(subject(), model, LIMIT, crashes);
        if let Some(stale) = stale {
            campaign = campaign.with_weak_visibility(stale);
        }
        self.scheduled(campaign, |of| of.plan(&plan).map(drop))
    }

    fn scheduled(
        &mut self,
        mut campaign: Campaign<Spellings<Tiny>>,
        run: impl FnOnce(&mut Campaign<Spellings<Tiny>>) -> Result<(), Box<Unsound>>,
    ) -> Result<(), Finding> {
        campaign.plant(self.mutant);
        if self.calls.is_some() {
            campaign.count_calls();
        }
        run(&mut campaign).map_err(|unsound| unsound.finding)?;
        self.calls.iter_mut().for_each(|calls| calls.add(campaign.calls()));
        Ok(())
    }
}
