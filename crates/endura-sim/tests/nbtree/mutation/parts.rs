//! Pieces of a campaign on tiny NBTrees, each of which can be run alone.

use std::fmt;

use endura_sim::aftermath::Aftermath;
use endura_sim::event::Action;
use endura_sim::explore::Next;
use endura_sim::model::Model;
use endura_sim::mutate::{self, Bed, Harness};
use endura_sim::schedule::{Campaign, Family, Place, Plan, Strategy, Task, Unsound, Way};
use endura_sim::subject::{Finding, Subject};
use endura_sim::subjects::{LIMIT, MapOp, NumberTree, Numbers};

use MapOp::{Put, Remove};

use super::after;
use crate::{Slots3, Slots7, Strings4};

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
    /// The same on a tree of byte strings.
    StringsStand { duel: usize, step: usize, nth: usize },
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

/// A tree of byte strings most of whose words are equal.
pub(crate) fn strings() -> Strings4 {
    Strings4::about((1..=16).map(|key| 10 * key).collect())
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
    for duel in 0..duels().len() {
        for step in 0..strings().steps().len() {
            parts.extend([1, 2].map(|nth| Part::StringsStand { duel, step, nth }));
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
    type Shared = ();

    fn run(self, harness: &mut Harness, (): &mut ()) -> Result<(), Finding> {
        match self {
            Self::AfterKill(number) => after::run(number, harness),
            Self::Alone { is_wide: true, .. }
            | Self::Killed { is_wide: true, .. }
            | Self::Stands { is_wide: true, .. }
            | Self::Meets { is_wide: true, .. }
            | Self::Helped => self.run_on(wide(), harness),
            Self::StringsStand { .. } => self.run_on(strings(), harness),
            _ => self.run_on(subject(), harness),
        }
    }
}

fn model(is_eadr: bool) -> Model {
    if is_eadr { Model::WEAKEST_EADR } else { Model::WEAKEST_ADR }
}

impl Part {
    fn run_on<T: NumberTree>(
        self,
        subject: Numbers<T>,
        harness: &mut Harness,
    ) -> Result<(), Finding> {
        let on = |model, effort| Bed { subject: &subject, model, limit: LIMIT, effort };
        let adr = on(Model::WEAKEST_ADR, Harness::QUICK);
        match self {
            Self::Alone { plan, is_eadr, .. } => {
                let (before, ops) = plans().swap_remove(plan);
                harness.alone(on(model(is_eadr), Harness::QUICK), &before, &ops, 0)
            }
            Self::Killed { number, .. } => {
                let (before, op, next) = kills().swap_remove(number);
                harness.killed(on(Model::WEAKEST_ADR, Harness::KILLS), &before, &op, &[next])
            }
            Self::Refused(nth) => refused(adr, nth, harness),
            // The pool below it is another's.
            Self::Made { is_eadr } => harness.made(on(model(is_eadr), Harness::QUICK), |event| {
                matches!(event.action, Action::Fresh { .. })
            }),
            Self::Drained => drained(adr, harness),
            Self::Stands { duel, step, nth, .. } | Self::StringsStand { duel, step, nth } => {
                let (before, stands, comes) = duels().swap_remove(duel);
                let strategy = Strategy::StopAt { thread: 0, step: subject.steps()[step], nth };
                let plan = Plan { before, threads: vec![stands, comes], strategy, seed: 1 };
                scheduled(subject, 12, harness, |of| of.plan(&plan).map(drop))
            }
            Self::Meets { duel, stops, is_wide } => {
                let (change, writer, readers) = meetings().swap_remove(duel);
                let place = |step| Place { step, nth: 1, moves: 0 };
                let (comes, stops) = (place("alter.durable"), place(STOPS[stops]));
                let before = if is_wide { puts(1..=7) } else { puts(1..=3) };
                let threads = vec![vec![change], vec![writer], readers];
                let strategy = Strategy::Meet { comes, stops };
                let plan = Plan { before, threads, strategy, seed: 1 };
                scheduled(subject, usize::MAX, harness, |of| of.plan(&plan).map(drop))
            }
            Self::Helped => {
                scheduled(subject, usize::MAX, harness, |of| of.plan(&helped()).map(drop))
            }
            Self::Family(family, seed) => {
                scheduled(subject, 4, harness, |of| of.family(family, seed..seed + 1))
            }
            Self::AfterKill(_) => Ok(()),
        }
    }
}

/// A leaf whose entries are almost all removed is copied into a chunk of the reserve; a merge that needs
/// one chunk of two fills that up again.
fn refused<T: NumberTree>(
    on: Bed<'_, Numbers<T>>,
    nth: u64,
    harness: &mut Harness,
) -> Result<(), Finding> {
    let before = [puts([1, 2, 3]), removes([2, 3])].concat();
    let start = harness.explored(on, |of| of.start(&before).map_err(|failure| failure.finding))?;
    let sim = harness.after(on.model, on.limit, &Aftermath::certain(start.image));
    let open = on.subject.open(sim.clone(), 2)?;
    sim.refuse(nth);
    let mut models = vec![(0, start.model.clone())];
    let mut model = start.model;
    let ops = [puts(4..=9), removes((5..=9).rev())].concat();
    for (i, op) in ops.into_iter().enumerate() {
        sim.note(Action::Begin(i));
        let answer = on.subject.apply(&open, &op)?;
        if answer != on.subject.specify(&mut model, &op) {
            return Err(format!("{op:?} answers {answer:?}"));
        }
        sim.note(Action::Acknowledge(i));
        models.push((sim.moment(), model.clone()));
    }
    harness.count(|| sim.all_calls());
    let expected = |events: usize| {
        let known = models.iter().rposition(|(since, _)| *since <= events).unwrap_or(0);
        models[known..].iter().take(2).map(|(_, model)| model.clone()).collect()
    };
    harness.crashed(on, &sim.trace(), 0, expected)
}

/// A sparse leaf that is not merged loses nothing, and stays for ever; so does a signpost.
fn drained<T: NumberTree>(on: Bed<'_, Numbers<T>>, harness: &mut Harness) -> Result<(), Finding> {
    /// One in each partition, the reserve, and what is on its way.
    const MOST: u64 = 13;
    let ops = [puts(1..=16), removes(1..=16), puts(1..=16), removes((1..=16).rev())].concat();
    let (open, mut blocks) = (harness.done(on, ops)?, 0);
    open.tree.check(&mut |_, _| blocks += 1).map_err(|error| format!("{error:?}"))?;
    match blocks {
        0..=MOST => Ok(()),
        _ => Err(format!("{blocks} blocks for no entry")),
    }
}

fn scheduled<T: NumberTree>(
    subject: Numbers<T>,
    crashes: usize,
    harness: &mut Harness,
    run: impl FnOnce(&mut Campaign<Numbers<T>>) -> Result<(), Box<Unsound>>,
) -> Result<(), Finding> {
    harness.scheduled(Campaign::new(subject, Model::WEAKEST_ADR, LIMIT, crashes), run)
}
