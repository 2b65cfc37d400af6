//! How the parts are run.

use std::collections::BTreeSet;

use endura_engine::tree::key_word::{KeyWord, One};
use endura_sim::aftermath::Aftermath;
use endura_sim::event::{Action, Event};
use endura_sim::explore::Next;
use endura_sim::image::Image;
use endura_sim::model::Model;
use endura_sim::mutate::{Bed, Harness};
use endura_sim::schedule::{Campaign, Plan, Strategy};
use endura_sim::sim::Stale;
use endura_sim::subject::{Finding, Subject};
use endura_sim::subjects::{FairBytes, LIMIT, MapOp, NumberTree, Numbers, OpenNumbers};
use endura_sim::tally::Effort;

use super::directed::Directed;
use super::duels::{Duel, at_the_fault, duels, strategy};
use super::parts::{Part, Sees};
use super::plans::{kills, plans, puts, removes};
use super::{after, directed};

/// What histories that are crashed once look at.
const ONCE: Effort =
    Effort { exhaustive: 24, samples: 4, depth: 1, continue_one_in: 4, ..Harness::QUICK };
/// What is looked at after a kill.
const AFTER_KILLS: Effort = Effort { exhaustive: 6, samples: 2, ..Harness::KILLS };
fn keys() -> Vec<u64> {
    let near = (25..160).step_by(20).flat_map(|key| key - 3..=key + 3);
    let others = [5, 15, 35, 41, 51, 61, 145].into_iter().chain(near);
    let keys: BTreeSet<u64> = (1..=28).map(|key| 10 * key).chain(others).collect();
    keys.into_iter().collect()
}

fn subject<const LEAF: usize, K>() -> FairBytes<24, LEAF, K> {
    FairBytes::about(keys())
}

/// A map of the keys of these operations.
fn about<'o, const LEAF: usize, K>(ops: impl Iterator<Item = &'o MapOp>) -> FairBytes<24, LEAF, K> {
    let keys: BTreeSet<u64> = ops.filter_map(MapOp::about).copied().collect();
    FairBytes::about(keys.into_iter().collect())
}

/// The number of steps at which a thread may stand.
pub(crate) fn steps() -> usize {
    subject::<24, One>().steps().len()
}

fn bed<S>(subject: &S, is_eadr: bool, effort: Effort) -> Bed<'_, S> {
    let model = if is_eadr { Model::WEAKEST_EADR } else { Model::WEAKEST_ADR };
    Bed { subject, model, limit: LIMIT, effort }
}

/// Runs a part on a tree with such leaves.
pub(crate) fn run<const LEAF: usize, K: KeyWord>(
    part: Part,
    harness: &mut Harness,
) -> Result<(), Finding> {
    let subject = subject::<LEAF, K>();
    match part {
        Part::Directed(_)
        | Part::AtFault { .. }
        | Part::Again { .. }
        | Part::Stands { .. }
        | Part::Duel { .. }
        | Part::Family(..) => together(part, subject, harness),
        Part::AfterKill(number) => {
            harness.after_kill(subject, LIMIT, &after::kills().swap_remove(number).1)
        }
        // The pool below it is another's.
        Part::Made { is_eadr } => harness.made(bed(&subject, is_eadr, Harness::QUICK), |event| {
            matches!(event.action, Action::Fresh { .. })
        }),
        Part::Drained(_) => drained(bed(&subject, false, Harness::QUICK), harness),
        Part::Hints(_) => hints(&subject, harness),
        Part::Unpoisoned(_) => unpoisoned(&subject, harness),
        Part::Alone { plan, is_eadr, .. } => {
            let (before, ops) = plans().swap_remove(plan);
            let subject = about::<LEAF, K>(before.iter().chain(&ops));
            harness.alone(bed(&subject, is_eadr, ONCE), &before, &ops, 0)
        }
        Part::Twice { plan, .. } => {
            let (before, ops) = plans().swap_remove(plan);
            let subject = about::<LEAF, K>(before.iter().chain(&ops));
            harness.alone(bed(&subject, false, Harness::QUICK), &before, &ops, 0)
        }
        Part::Killed { number, step, .. } => {
            let (before, op, next) = kills().swap_remove(number);
            let subject = about::<LEAF, K>(before.iter().chain([&op]).chain(&next.ops));
            let on = bed(&subject, false, AFTER_KILLS);
            killed(on, (&before, op, &next), subject.steps()[step], harness)
        }
    }
}

/// Runs a part of several threads.
fn together<T: NumberTree>(
    part: Part,
    subject: Numbers<T>,
    harness: &mut Harness,
) -> Result<(), Finding> {
    match part {
        Part::Directed(number) => {
            let Directed { before, cut, threads, strategy, .. } =
                directed::all().swap_remove(number);
            let plan = Plan { before, threads, strategy, seed: 1 };
            let mut campaign = Campaign::new(subject, Model::WEAKEST_ADR, LIMIT, usize::MAX);
            if let Some(cut) = cut {
                campaign = campaign.after_cut(cut);
            }
            harness.scheduled(campaign, |of| of.plan(&plan).map(drop))
        }
        Part::AtFault { duel, sees } => {
            let strategies = at_the_fault(sees != Sees::AtOnce);
            scheduled(subject, &duels()[duel], (sees, usize::MAX, 1), strategies, harness)
        }
        Part::Again { duel, round } => {
            let (sees, strategies) = (Sees::Unfenced(Stale::OneIn(3)), at_the_fault(true));
            let seed = 1 + round * strategies.len() as u64;
            scheduled(subject, &duels()[duel], (sees, 0, seed), strategies, harness)
        }
        Part::Stands { duel, step, nth } => {
            let step = subject.steps()[step];
            let strategy = Strategy::StopAt { thread: 0, step, nth };
            scheduled(subject, &duels()[duel], (Sees::AtOnce, 8, 1), vec![strategy], harness)
        }
        Part::Duel { duel, sees, seed } => {
            let strategy = strategy(seed, subject.steps());
            scheduled(subject, &duels()[duel], (sees, 6, seed), vec![strategy], harness)
        }
        Part::Family(family, _, seed) => {
            let campaign = Campaign::new(subject, Model::WEAKEST_ADR, LIMIT, 4);
            harness.scheduled(campaign, |of| of.family(family, seed..seed + 1))
        }
        part => Err(format!("{part} has one thread")),
    }
}

/// A duel by each of these strategies, with seeds from `seed` on. Each is crashed at so many moments.
fn scheduled<T: NumberTree>(
    subject: Numbers<T>,
    duel: &Duel,
    (sees, most, seed): (Sees, usize, u64),
    strategies: Vec<Strategy>,
    harness: &mut Harness,
) -> Result<(), Finding> {
    let (model, crashes) = match sees {
        Sees::AtOnce => (Model::WEAKEST_ADR, most),
        Sees::Late(_) => (Model::WEAKEST_ADR, most.min(4)),
        Sees::Unfenced(_) => (Model::PAGE_CACHE, 0),
    };
    let mut campaign = Campaign::new(subject, model, LIMIT, crashes);
    if let Sees::Late(stale) | Sees::Unfenced(stale) = sees {
        campaign = campaign.with_weak_visibility(stale);
    }
    if let Some(cut) = duel.cut {
        campaign = campaign.after_cut(cut);
    }
    harness.scheduled(campaign, |of| {
        (seed..).zip(strategies).try_for_each(|(seed, strategy)| {
            let threads = vec![duel.stops.clone(), duel.comes.clone()];
            let plan = Plan { before: duel.before.clone(), threads, strategy, seed };
            of.plan(&plan).map(drop)
        })
    })
}

/// Kills a process where it comes to a step for the last time; what the next one does is crashed.
fn killed<const LEAF: usize, K: KeyWord>(
    on: Bed<'_, FairBytes<24, LEAF, K>>,
    (before, op, next): (&[MapOp], MapOp, &Next<MapOp>),
    step: &'static str,
    harness: &mut Harness,
) -> Result<(), Finding> {
    let (mut trace, model) = harness.explored(on, |explorer| {
        let start = explorer.start(before).map_err(|failure| failure.finding)?;
        Ok((explorer.trace(&start, &[op])?, start.model))
    })?;
    let is_step = |event: &Event| event.action == Action::Step(step);
    let Some(killed) = trace.events.iter().rposition(is_step) else { return Ok(()) };
    trace.events.truncate(killed);
    let mut expected = vec![model];
    let mut looked = None;
    let events = harness.session_after(on, &trace, 3, |open| {
        if next.looks {
            looked = Some(on.subject.observe(open)?);
        }
        next.ops.iter().try_for_each(|op| on.subject.apply(open, op).map(drop))?;
        if !next.looks {
            looked = Some(on.subject.observe(open)?);
        }
        Ok(())
    })?;
    for op in [op].iter().chain(&next.ops) {
        for mut model in expected.clone() {
            on.subject.specify(&mut model, op);
            expected.push(model);
        }
    }
    let looked = looked.into_iter().collect::<Vec<_>>();
    if !expected.contains(&looked[0]) {
        return Err(format!("{looked:?} is none of {expected:?}"));
    }
    trace.events.extend(events);
    let last = trace.events.len() - 1;
    harness.explored(on, |explorer| {
        let crashed = explorer.crash_session(3, &trace, killed, |events| {
            // What was read at the end stays.
            if events > last { looked.clone() } else { expected.clone() }
        });
        crashed.map_err(|(finding, _)| finding)
    })
}

/// What is sparse and not merged loses nothing, and stays for ever.
fn drained<const LEAF: usize, K: KeyWord>(
    on: Bed<'_, FairBytes<24, LEAF, K>>,
    harness: &mut Harness,
) -> Result<(), Finding> {
    const MOST: usize = 4;
    let keys = || (1..=28).chain((1..=28).rev());
    for order in [keys().take(28).collect::<Vec<_>>(), keys().skip(28).collect()] {
        let ops = puts(1..=28).into_iter().chain(removes(order));
        let (open, mut nodes) = (harness.done(on, ops)?, 0);
        let check = NumberTree::check(&open.tree, &mut |_, _| nodes += 1);
        check.map_err(|error| format!("{error:?}"))?;
        if nodes > MOST {
            return Err(format!("{nodes} nodes for no entry"));
        }
    }
    Ok(())
}

/// A hint that is wrong costs a search of the node, and a reference in an empty slot a store by which it is emptied. The
/// hints of all nodes are right after each operation, those of leaves also once a session after a crash has locked them, and
/// no empty slot leads anywhere. Nor is the link of a finished split still that of a split: each next writer would look at
/// both nodes again.
fn hints<const LEAF: usize, K: KeyWord>(
    subject: &FairBytes<24, LEAF, K>,
    harness: &mut Harness,
) -> Result<(), Finding> {
    let sim = harness.sim(Model::WEAKEST_ADR, LIMIT);
    let open = subject.create(sim.clone())?;
    let order = |i: u64| 1 + i * 5 % 28;
    for op in [puts((0..28).map(order)), removes((0..20).map(order))].concat() {
        subject.apply(&open, &op)?;
        let wrong = wrong_hints(&sim.image(), &nodes(&open)?, 9);
        if !wrong.is_empty() {
            return Err(format!("{op:?}: wrong hints, full slots, or splits, at {wrong:?}"));
        }
    }
    let (mut image, nodes) = (sim.image(), nodes(&open)?);
    nodes.iter().for_each(|at| image.set(at + 8 * HINT, 77));
    harness.count(|| sim.all_calls());
    let sim = harness.after(Model::WEAKEST_ADR, LIMIT, &Aftermath::certain(image));
    let open = subject.open(sim.clone(), 2)?;
    open.tree.count().map_err(|error| format!("{error:?}"))?;
    harness.count(|| sim.all_calls());
    match &wrong_hints(&sim.image(), &nodes, 0)[..] {
        [] => Ok(()),
        wrong => Err(format!("after a crash: wrong hints, full slots, or splits, at {wrong:?}")),
    }
}

/// The indexes of words in a node.
const SIB: u64 = 3;
const META: u64 = 4;
const HINT: u64 = 5;
const HIGH: u64 = 2;
const SLOTS: u64 = 16;
/// The tag of a link during a split.
const SPLITTING: u64 = 1;

/// The nodes of a tree.
fn nodes<T: NumberTree>(open: &OpenNumbers<T>) -> Result<Vec<u64>, Finding> {
    let mut all = Vec::new();
    open.tree.check(&mut |at, _| all.push(at)).map_err(|error| format!("{error:?}"))?;
    Ok(all)
}

/// Of these chunks, the nodes up to a level that do not say how many entries they have, or whose split has no end.
fn wrong_hints(image: &Image, chunks: &[u64], most: u64) -> Vec<u64> {
    let is_wrong = |at: &u64| {
        let word = |i: u64| image.word(at + 8 * i);
        let (meta, level) = (word(META), word(META) & 0xFF);
        if meta >> 32 != 0xFA57_FA1B || level > most {
            return false;
        }
        let limit = if level == 0 { word(HIGH) } else { u64::MAX };
        let slots = (SLOTS..meta >> 8 & 0xFFFF).step_by(2);
        let used = |slot: &u64| word(*slot) < limit && word(slot + 1) != 0;
        let leads = |slot: u64| word(slot) == u64::MAX && word(slot + 1) != 0;
        word(HINT) != slots.clone().take_while(used).count() as u64
            || { slots }.any(leads)
            || word(SIB) >> 48 == SPLITTING
    };
    chunks.iter().copied().filter(|at| is_wrong(at)).collect()
}

/// What was in a chunk before looks like a node or a record, of this very session.
fn unpoisoned<const LEAF: usize, K: KeyWord>(
    subject: &FairBytes<24, LEAF, K>,
    harness: &mut Harness,
) -> Result<(), Finding> {
    let sim = harness.sim(Model::WEAKEST_ADR, LIMIT);
    sim.set_poison(None);
    let open = subject.create(sim.clone())?;
    let mut model = subject.empty();
    for round in 0..4 {
        let order = |i: u64| 1 + i * (5 + 2 * round) % 28;
        let removed = (0..28).map(order).filter(|key| !key.is_multiple_of(3 + round));
        let ops = [puts((0..28).map(order)), removes(removed)].concat();
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
