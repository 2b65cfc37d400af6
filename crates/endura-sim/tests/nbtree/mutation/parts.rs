//! Pieces of a campaign on tiny NBTrees, each of which can be run alone.

use std::fmt;

use endura_sim::aftermath::Aftermath;
use endura_sim::choose::Chooser;
use endura_sim::event::{Action, Event};
use endura_sim::explore::{Explorer, Next};
use endura_sim::model::Model;
use endura_sim::mutant::Mutant;
use endura_sim::mutate::{self, Calls};
use endura_sim::schedule::{Campaign, Family, OrderedMap, Place, Plan, Strategy, Task, Way};
use endura_sim::sim::Sim;
use endura_sim::subject::{Finding, Subject};
use endura_sim::subjects::{LIMIT, MapOp};
use endura_sim::tally::Effort;

use MapOp::{Put, Remove};

use super::after;
use crate::{Slots3, Slots7};

const QUICK: Effort = Effort {
    exhaustive: 40,
    samples: 8,
    depth: 2,
    deepen_one_in: 8,
    deep_points: 3,
    deep_ops: 2,
    ..Effort::EXHAUSTIVE
};
pub(crate) const KILLS: Effort =
    Effort { exhaustive: 12, samples: 4, depth: 1, continue_one_in: 4, deep_ops: 1, ..QUICK };

/// Seeds of each family.
const SCHEDULES: u64 = 1000;

/// A part of the campaign.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Part {
    /// A plan of one thread, crashed everywhere.
    Alone { plan: usize, is_eadr: bool, is_wide: bool },
    /// A process is killed in an operation; what the next one does is crashed.
    Killed { number: usize, is_wide: bool },
    /// A process was killed in the middle of something, and threads of the next one go on.
    AfterKill(usize),
    /// A chunk is refused, so that one comes from the reserve.
    Refused(u64),
    /// The making of a map.
    Made { is_eadr: bool },
    /// A tree that grew and was drained: few blocks are left.
    Drained,
    /// A thread stands at a step while another one works.
    Stands { duel: usize, step: usize, nth: usize, is_wide: bool },
    /// One thread stands before its flush, another one in the change of the same leaf; a third comes by.
    Meets { duel: usize, stops: usize, is_wide: bool },
    /// Three inserts of one key: one stands while another enters it, removes it, and then completes the first.
    Helped,
    /// A schedule of a family.
    Family(Family, u64),
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

pub(crate) fn subject() -> Slots3 {
    Slots3::about((1..=16).map(|key| 10 * key).collect())
}

pub(crate) fn wide() -> Slots7 {
    Slots7::about((1..=16).map(|key| 10 * key).collect())
}

pub(crate) fn puts(keys: impl IntoIterator<Item = u64>) -> Vec<MapOp> {
    keys.into_iter().map(|key| Put(10 * key, key)).collect()
}

pub(crate) fn removes(keys: impl IntoIterator<Item = u64>) -> Vec<MapOp> {
    keys.into_iter().map(|key| Remove(10 * key)).collect()
}

/// What is durable beforehand, and what is crashed.
fn plans() -> Vec<(Vec<MapOp>, Vec<MapOp>)> {
    vec![
        (vec![], puts([1, 1, 2])),
        (puts([1, 2]), removes([1])),
        (puts([1, 2]), vec![Put(20, 7), Remove(20), Put(20, 8)]),
        (puts([1, 2, 3]), puts([4])),
        (puts([3, 2, 1]), puts([4, 5])),
        (puts([1, 2, 3, 4, 5, 6]), puts([7, 8, 9])),
        (puts([1, 2, 3, 4, 5, 6, 7]), puts([8])),
        (puts(1..=9), removes([1, 2, 3, 4, 5])),
        (puts(1..=9), removes([9, 8, 7, 6, 5])),
        ([puts(1..=3), removes([1, 2])].concat(), puts([4, 5, 6])),
        (puts(1..=12), [removes(4..=9), puts(4..=9)].concat()),
        (vec![], [puts(1..=8), removes(1..=8), puts(1..=8)].concat()),
    ]
}

/// An operation that a kill ends, and what the next process does.
fn kills() -> Vec<(Vec<MapOp>, MapOp, Next<MapOp>)> {
    let mut all = Vec::new();
    for (before, op) in [
        (puts([1, 2]), Put(20, 7)),
        (puts([1, 2]), Put(30, 7)),
        (puts([1, 2]), Remove(10)),
        (puts([1, 2, 3]), Put(40, 7)),
        (puts([1, 2, 3, 4, 5, 6]), Put(70, 7)),
        (puts(1..=5), Remove(20)),
        ([puts(1..=5), removes([5, 4])].concat(), Remove(30)),
    ] {
        for ops in [
            vec![],
            vec![Put(20, 9)],
            vec![Remove(20)],
            vec![Put(25, 9), Put(26, 9)],
            vec![Put(45, 9), Put(46, 9), Put(47, 9), Put(75, 9)],
            vec![Remove(10), Remove(20), Remove(30), Remove(40)],
        ] {
            let looks = ops.is_empty();
            all.push((before.clone(), op, Next { looks, ops }));
        }
    }
    all
}

/// Who stands somewhere, and who comes by.
fn duels() -> Vec<(Vec<MapOp>, Vec<Task>, Vec<Task>)> {
    let up = || Task::Scan(Way::Up, 0);
    let full = || puts([1, 2, 3]);
    vec![
        (puts([1, 3]), vec![Task::Put(20, 8)], vec![Task::Get(20), Task::Get(10)]),
        (puts([1, 3]), vec![Task::Replace(10, 8)], vec![Task::Get(10), up()]),
        (puts([1, 3]), vec![Task::Remove(10)], vec![up(), Task::Get(10)]),
        (puts([1, 3]), vec![Task::Remove(10)], vec![Task::Remove(10)]),
        // In blocks of two lines the first is full of keys that are at home there: what comes goes elsewhere.
        (puts([1, 2, 6, 3]), vec![Task::Remove(10)], vec![Task::Put(10, 8)]),
        (puts([1, 2, 3, 4]), vec![Task::Put(20, 8)], vec![Task::PutNew(50, 1), Task::Get(20)]),
        (puts([1]), vec![Task::Put(20, 1)], vec![Task::PutNew(20, 2), Task::Get(20)]),
        (puts([1]), vec![Task::Put(20, 1)], vec![Task::PutNew(20, 2), Task::Remove(20)]),
        (puts([1, 2, 3, 4]), vec![Task::Put(50, 1)], vec![Task::PutNew(50, 2), Task::Get(50)]),
        (
            full(),
            vec![Task::Replace(10, 7)],
            vec![Task::Put(40, 8), Task::Get(10), Task::Put(50, 8)],
        ),
        (full(), vec![Task::Remove(10)], vec![Task::Put(40, 8), Task::Get(10), Task::Put(50, 8)]),
        (
            puts([1, 2]),
            vec![Task::Put(30, 7)],
            vec![Task::Put(40, 8), Task::Put(50, 8), Task::Get(30)],
        ),
        (
            full(),
            vec![Task::Put(40, 8)],
            vec![Task::Replace(10, 4), Task::Put(15, 4), Task::Get(40)],
        ),
        (full(), vec![Task::Put(40, 8)], vec![Task::Put(50, 5), Task::Remove(10), up()]),
        (
            puts(1..=6),
            vec![Task::Put(70, 8), Task::Put(80, 8)],
            vec![Task::Put(75, 5), Task::Put(85, 5), Task::Put(65, 5), Task::Put(5, 5)],
        ),
        // The neighbour on the right changes while this one's `next` is being copied.
        (
            puts(1..=6),
            vec![Task::Put(15, 8), Task::Put(16, 8), Task::Put(17, 8), Task::Scribble],
            vec![Task::Put(35, 5), Task::Put(36, 5), Task::Put(37, 5), Task::Put(45, 5)],
        ),
        (
            puts(1..=9),
            vec![Task::Remove(40), Task::Remove(50), Task::Remove(30)],
            vec![Task::Put(45, 5), Task::Remove(60), Task::Remove(70), Task::Scribble, up()],
        ),
        (
            puts(1..=9),
            vec![Task::Remove(40), Task::Remove(50), Task::Remove(30)],
            vec![Task::Put(35, 5), Task::Put(36, 5), Task::Scribble, Task::Get(30)],
        ),
        // An insert that finds an entry behind its slot gives up, for good.
        (
            puts([1]),
            vec![Task::PutNew(20, 1), Task::Remove(20), Task::PutNew(20, 5), Task::Get(20)],
            vec![Task::PutNew(20, 2)],
        ),
        (puts([2, 3]), vec![Task::Put(10, 8)], vec![Task::End(Way::Up)]),
        (puts([2, 3]), vec![Task::Remove(20)], vec![Task::End(Way::Up)]),
    ]
}

/// A change, a writer that stands before its flush, and who comes by when the change stands as well.
fn meetings() -> Vec<(Task, Task, Vec<Task>)> {
    vec![
        (Task::Put(40, 8), Task::Replace(10, 7), vec![Task::Get(10)]),
        (Task::Put(40, 8), Task::Remove(10), vec![Task::Get(10), Task::Scan(Way::Up, 0)]),
        (Task::Put(40, 8), Task::Replace(30, 7), vec![Task::GetMany([10, 20, 30])]),
    ]
}

/// Thread 0 has found thread 1's insert in a lower slot, and stands before it looks again; thread 1 has
/// looked before that, enters the key, removes it, and finds thread 0's insert in a lower slot than its
/// next one: it completes that, and stands before its flush. (The slots lie in different lines.)
fn helped() -> Plan {
    let place = |step, nth, moves| Place { step, nth, moves };
    let legs = vec![
        (1, place("insert.I5", 1, 0)),
        (0, place("insert.I4", 1, 2)),
        (1, place("insert.durable", 2, 0)),
    ];
    let threads = vec![
        vec![Task::PutNew(25, 1)],
        vec![Task::PutNew(25, 2), Task::Remove(25), Task::PutNew(25, 3)],
    ];
    Plan { before: puts([1, 2]), threads, strategy: Strategy::Relay(legs), seed: 1 }
}

/// Where the change stands.
const STOPS: [&str; 5] = ["change.S0", "change.S1", "change.S3", "change.S4", "settle.S5"];

/// All parts, cheap ones first.
pub(crate) fn all() -> Vec<Part> {
    let mut parts =
        vec![Part::Made { is_eadr: false }, Part::Made { is_eadr: true }, Part::Drained];
    for is_eadr in [false, true] {
        for is_wide in [false, true] {
            parts.extend((0..plans().len()).map(|plan| Part::Alone { plan, is_eadr, is_wide }));
        }
    }
    parts.extend((1..=6).map(Part::Refused));
    parts.extend((0..after::kills().len()).map(Part::AfterKill));
    parts.push(Part::Helped);
    for is_wide in [false, true] {
        for duel in 0..duels().len() {
            for step in 0..subject().steps().len() {
                parts.extend([1, 2].map(|nth| Part::Stands { duel, step, nth, is_wide }));
            }
        }
    }
    for is_wide in [false, true] {
        for duel in 0..meetings().len() {
            parts.extend((0..STOPS.len()).map(|stops| Part::Meets { duel, stops, is_wide }));
        }
    }
    for is_wide in [true, false] {
        parts.extend((0..kills().len()).map(|number| Part::Killed { number, is_wide }));
    }
    let families = Family::ALL.into_iter();
    parts.extend(families.flat_map(|of| (0..SCHEDULES).map(move |seed| Part::Family(of, seed))));
    parts
}

impl mutate::Part for Part {
    type Runner = Runner;
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
        part.run(self.mutant, &mut self.calls)
    }

    fn into_calls(self) -> Calls {
        self.calls.unwrap_or_default()
    }
}

impl Part {
    /// Runs it, with a fault or without; takes down what it calls if `calls` is there.
    fn run(&self, mutant: Option<Mutant>, calls: &mut Option<Calls>) -> Result<(), Finding> {
        match *self {
            Self::Alone { plan, is_eadr, is_wide } => {
                let model = if is_eadr { Model::WEAKEST_EADR } else { Model::WEAKEST_ADR };
                let (before, ops) = plans().swap_remove(plan);
                match is_wide {
                    true => alone(&wide(), model, &before, &ops, mutant, calls),
                    false => alone(&subject(), model, &before, &ops, mutant, calls),
                }
            }
            Self::Killed { number, is_wide: true } => killed(&wide(), number, mutant, calls),
            Self::Killed { number, .. } => killed(&subject(), number, mutant, calls),
            Self::AfterKill(number) => after::kills()[number].run(mutant, calls),
            Self::Refused(nth) => refused(nth, mutant, calls),
            Self::Made { is_eadr } => {
                let model = if is_eadr { Model::WEAKEST_EADR } else { Model::WEAKEST_ADR };
                made(model, mutant, calls)
            }
            Self::Drained => drained(mutant, calls),
            Self::Stands { duel, step, nth, is_wide } => {
                let (before, stands, comes) = duels().swap_remove(duel);
                let step = subject().steps()[step];
                let strategy = Strategy::StopAt { thread: 0, step, nth };
                let plan = Plan { before, threads: vec![stands, comes], strategy, seed: 1 };
                let crashes = 12;
                match is_wide {
                    true => {
                        scheduled(wide(), crashes, mutant, calls, |of| of.plan(&plan).map(drop))
                    }
                    false => {
                        scheduled(subject(), crashes, mutant, calls, |of| of.plan(&plan).map(drop))
                    }
                }
            }
            Self::Meets { duel, stops, is_wide } => {
                let (change, writer, readers) = meetings().swap_remove(duel);
                let place = |step| Place { step, nth: 1, moves: 0 };
                let (comes, stops) = (place("alter.durable"), place(STOPS[stops]));
                let before = if is_wide { puts(1..=7) } else { puts(1..=3) };
                let threads = vec![vec![change], vec![writer], readers];
                let strategy = Strategy::Meet { comes, stops };
                let plan = Plan { before, threads, strategy, seed: 1 };
                let all = usize::MAX;
                match is_wide {
                    true => scheduled(wide(), all, mutant, calls, |of| of.plan(&plan).map(drop)),
                    false => {
                        scheduled(subject(), all, mutant, calls, |of| of.plan(&plan).map(drop))
                    }
                }
            }
            Self::Helped => {
                let all = usize::MAX;
                scheduled(wide(), all, mutant, calls, |of| of.plan(&helped()).map(drop))
            }
            Self::Family(family, seed) => {
                scheduled(subject(), 4, mutant, calls, |of| of.family(family, seed..seed + 1))
            }
        }
    }
}

fn alone<S: Subject<Op = MapOp>>(
    subject: &S,
    model: Model,
    before: &[MapOp],
    ops: &[MapOp],
    mutant: Option<Mutant>,
    calls: &mut Option<Calls>,
) -> Result<(), Finding> {
    let mut explorer = Explorer::new(subject, model, LIMIT, QUICK, 1);
    explorer.plant(mutant);
    explorer.calls = calls.take();
    let start = explorer.start(before).map_err(|failure| failure.finding)?;
    let result = explorer.explore(&start, ops, 0);
    *calls = explorer.calls;
    result.map_err(|failure| failure.finding)
}

fn killed<S: Subject<Op = MapOp>>(
    subject: &S,
    number: usize,
    mutant: Option<Mutant>,
    calls: &mut Option<Calls>,
) -> Result<(), Finding> {
    let (before, op, next) = kills().swap_remove(number);
    let mut explorer = Explorer::new(subject, Model::WEAKEST_ADR, LIMIT, KILLS, 1);
    explorer.plant(mutant);
    explorer.calls = calls.take();
    let start = explorer.start(&before).map_err(|failure| failure.finding)?;
    let result = explorer.kill(&start, &op, &[next]);
    *calls = explorer.calls;
    result.map_err(|failure| failure.finding)
}

/// A leaf whose entries are almost all removed is copied into a chunk of the reserve; a merge that needs
/// one chunk of two fills that up again.
fn refused(nth: u64, mutant: Option<Mutant>, calls: &mut Option<Calls>) -> Result<(), Finding> {
    let subject = subject();
    let before = [puts([1, 2, 3]), removes([2, 3])].concat();
    let mut explorer = Explorer::new(&subject, Model::WEAKEST_ADR, LIMIT, QUICK, 1);
    explorer.plant(mutant);
    let start = explorer.start(&before).map_err(|failure| failure.finding)?;
    let durable = Aftermath::certain(start.image.clone());
    let sim = Sim::after(Model::WEAKEST_ADR, LIMIT, &durable, Chooser::first());
    sim.plant(mutant);
    if calls.is_some() {
        sim.count_calls();
    }
    let open = subject.open(sim.clone(), 2)?;
    sim.refuse(nth);
    let mut models = vec![(0, start.model.clone())];
    let mut model = start.model;
    let ops = [puts(4..=9), removes((5..=9).rev())].concat();
    for (i, op) in ops.into_iter().enumerate() {
        sim.note(Action::Begin(i));
        let answer = subject.apply(&open, &op)?;
        if answer != subject.specify(&mut model, &op) {
            return Err(format!("{op:?} answers {answer:?}"));
        }
        sim.note(Action::Acknowledge(i));
        models.push((sim.moment(), model.clone()));
    }
    calls.iter_mut().for_each(|calls| calls.add(sim.all_calls()));
    let trace = sim.trace();
    let expected = |events: usize| {
        let known = models.iter().rposition(|(since, _)| *since <= events).unwrap_or(0);
        models[known..].iter().take(2).map(|(_, model)| model.clone()).collect()
    };
    explorer.crash_trace(&trace, 0, expected).map_err(|(finding, _)| finding)
}

/// Crashes the making of a map.
fn made(model: Model, mutant: Option<Mutant>, calls: &mut Option<Calls>) -> Result<(), Finding> {
    let (subject, sim) = (subject(), Sim::new(model, LIMIT));
    sim.plant(mutant);
    if calls.is_some() {
        sim.count_calls();
    }
    let open = subject.create(sim.clone())?;
    subject.observe(&open)?;
    calls.iter_mut().for_each(|calls| calls.add(sim.all_calls()));
    let mut explorer = Explorer::new(&subject, model, LIMIT, QUICK, 1);
    explorer.plant(mutant);
    let trace = sim.trace();
    // The pool below it is another's.
    let is_first = |event: &Event| matches!(event.action, Action::Fresh { .. });
    let from = trace.events.iter().position(is_first).unwrap_or(0);
    explorer.crash_trace(&trace, from, |_| vec![subject.empty()]).map_err(|(finding, _)| finding)
}

/// A sparse leaf that is not merged loses nothing, and stays for ever; so does a signpost.
fn drained(mutant: Option<Mutant>, calls: &mut Option<Calls>) -> Result<(), Finding> {
    /// One in each partition, the reserve, and what is on its way.
    const MOST: u64 = 13;
    let (subject, sim) = (subject(), Sim::new(Model::WEAKEST_ADR, LIMIT));
    sim.plant(mutant);
    if calls.is_some() {
        sim.count_calls();
    }
    let open = subject.create(sim.clone())?;
    let ops = [puts(1..=16), removes(1..=16), puts(1..=16), removes((1..=16).rev())].concat();
    for op in ops {
        subject.apply(&open, &op)?;
    }
    calls.iter_mut().for_each(|calls| calls.add(sim.all_calls()));
    let mut blocks = 0;
    open.tree.check(&mut |_, _| blocks += 1).map_err(|error| format!("{error:?}"))?;
    match blocks {
        0..=MOST => Ok(()),
        _ => Err(format!("{blocks} blocks for no entry")),
    }
}

fn scheduled<S: OrderedMap>(
    subject: S,
    crashes: usize,
    mutant: Option<Mutant>,
    calls: &mut Option<Calls>,
    run: impl FnOnce(&mut Campaign<S>) -> Result<(), Box<endura_sim::schedule::Unsound>>,
) -> Result<(), Finding> {
    let mut campaign = Campaign::new(subject, Model::WEAKEST_ADR, LIMIT, crashes);
    campaign.plant(mutant);
    if calls.is_some() {
        campaign.count_calls();
    }
    run(&mut campaign).map_err(|unsound| unsound.finding)?;
    calls.iter_mut().for_each(|calls| calls.add(campaign.calls()));
    Ok(())
}
