//! The campaign of pools, allocator and directory, in parts.

use std::cell::Cell;
use std::fmt;

use endura::lab::pool::PAGE;
use endura_sim::aftermath::Aftermath;
use endura_sim::choose::Chooser;
use endura_sim::event::{Action, Event, Trace};
use endura_sim::explore::{Explorer, Next, visible};
use endura_sim::model::Model;
use endura_sim::mutant::Mutant;
use endura_sim::mutate::Calls;
use endura_sim::sim::{Sim, act_as};
use endura_sim::subject::{Finding, Subject};
use endura_sim::subjects::First;
use endura_sim::subjects::pool::histories::{History, LONG, choices, histories, link, starts};
use endura_sim::subjects::pool::{PoolOp, PoolSpace};
use endura_sim::tally::Effort;

use PoolOp::{
    Collect, Drop, DropInside, Make, MakeMany, Probe, Relieve, Rename, Reopen, Soil, Unlink,
};

const LIMIT: u64 = 48 * PAGE;

const EFFORT: Effort = Effort {
    exhaustive: 24,
    samples: 8,
    depth: 2,
    deepen_one_in: 8,
    deep_points: 3,
    deep_ops: 1,
    ..Effort::EXHAUSTIVE
};

/// As many entries as go into the page that the directory begins in.
const ENTRIES: u64 = ((1 << 20) - 12_288) / 1024;

/// A part of the campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Part {
    /// How a pool is made, up to its first map.
    Made(Under),
    /// A history of the session that made the pool: what it closes must be found as it was.
    First(usize, Under),
    /// Pages, and entries of the directory, from thread to thread.
    Apart(usize),
    /// A history, all of whose operations are crashed.
    History(usize, Under),
    /// An operation in a pool that has one or another past.
    One { start: usize, op: usize, under: Under },
    /// An operation in which the process is killed; the collection of the next one, and a power failure.
    Killed(usize),
    /// A directory that goes on in a page that was used before.
    Directory,
    /// The same, in a page that was the second one of a large chunk.
    DirectoryInRun,
    /// A map is dropped inside another operation: all that is done of it is that it is DROPPING.
    DropInside,
    /// A map is dropped by a process that is killed, as is the next one in its open; a third one looks.
    DropKilled,
    /// The same with a map that gets another name.
    RenameKilled,
    /// The first map of a page of the directory that a killed process had linked, not durably.
    BehindALink,
    /// The same, of a page that another thread had linked for a map that it had no room to make.
    BehindARefusal(Under),
    /// A map is dropped by a process that is killed; one thread opens the pool, and another makes a map in the
    /// same entry.
    BehindAnOpen,
}

/// The model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Under {
    Adr,
    Eadr,
    /// The same, and what a thread has stored waits in a buffer of its own.
    EadrApart,
}

impl Under {
    fn model(self) -> Model {
        match self {
            Self::Adr => Model::WEAKEST_ADR,
            Self::Eadr | Self::EadrApart => Model::WEAKEST_EADR,
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One { start, op, under } => write!(f, "One({start}, {op}, {under:?})"),
            part => write!(f, "{part:?}"),
        }
    }
}

/// Operations of which each is crashed after each of the starts.
fn ops() -> Vec<PoolOp> {
    let mut ops = choices();
    ops.insert(6, Unlink(3));
    ops
}

/// In the session that made the pool: what it closes must be found as it was.
fn of_the_first_session() -> [Vec<PoolOp>; 3] {
    let [saved, maps] = [3, 5].map(|i| histories().swap_remove(i).ops);
    let all = [&saved[..], &[link(3, 0), Unlink(0)], &maps, &[Reopen]].concat();
    [saved, maps, all]
}

/// Histories in which one thread uses what the other has freed.
fn apart() -> Vec<Vec<PoolOp>> {
    // Classes, runs, what was collected, maps, names.
    let of = |i| {
        let History { before, ops, .. } = histories().swap_remove(i);
        [before, ops].concat()
    };
    [1, 2, 6, 5, 10].map(of).into()
}

/// An operation after each of whose stores the process is killed, and what the next one does without a
/// look. Its two threads do an operation in turn: the one collects, or both do.
fn kills() -> Vec<(Vec<PoolOp>, PoolOp, Vec<PoolOp>)> {
    let turns = |count| (0..count).flat_map(|_| [Collect, Relieve]);
    let one = |last: &[PoolOp]| -> Vec<PoolOp> {
        turns(24).chain([Collect]).chain(last.iter().cloned()).collect()
    };
    let both = |last: &[PoolOp]| [&vec![Collect; 30], last].concat();
    // The second thread goes on when the first one has marked everything.
    let second = |last: &[PoolOp]| -> Vec<PoolOp> {
        turns(10).chain([Relieve]).chain(turns(15)).chain(last.iter().cloned()).collect()
    };
    let made = vec![link(2, 0), Make("first", 3)];
    let large = vec![link(2, 0), link(3, 4)];
    vec![
        // What led to the node or the chunk must be gone for good when it is used again.
        (made.clone(), Drop("first"), one(&[Make("another", 4), link(4, 0)])),
        (made.clone(), Unlink(2), one(&[link(4, 0), link(5, 0)])),
        (made.clone(), Unlink(2), both(&[link(4, 0), link(5, 0)])),
        (made, Unlink(2), second(&[link(4, 0), link(5, 0)])),
        (large.clone(), Unlink(3), one(&[link(4, 4), link(5, 0)])),
        (large.clone(), Unlink(3), second(&[link(4, 4), link(5, 0)])),
        (large, Unlink(3), both(&[link(4, 0), link(5, 3)])),
        // Pages that were new to the one that was killed.
        (vec![], link(0, 4), one(&[link(1, 3), link(2, 0)])),
        (vec![], link(0, 0), both(&[link(1, 1), link(2, 2)])),
        (vec![], Make("first", 2), second(&[Make("another", 4), link(0, 0)])),
        // What is free in them is handed out before anything is collected.
        (vec![], link(0, 4), vec![link(1, 0), link(2, 0)]),
        (vec![], link(0, 2), vec![link(1, 2), link(2, 2), link(3, 2)]),
        // A part of a page that was about to be used is free when all is collected.
        (vec![link(2, 2)], link(3, 2), both(&[link(4, 2), link(5, 2)])),
    ]
}

/// All of them, roughly in the order of what they cost.
pub(crate) fn parts() -> Vec<Part> {
    let mut parts = vec![Part::Directory, Part::DirectoryInRun];
    for under in [Under::Adr, Under::Eadr] {
        parts.push(Part::Made(under));
        for start in 0..starts().len() {
            parts.extend((0..ops().len()).map(|op| Part::One { start, op, under }));
        }
        parts.extend((0..of_the_first_session().len()).map(|i| Part::First(i, under)));
        parts.extend((0..histories().len()).map(|history| Part::History(history, under)));
    }
    parts.extend((0..apart().len()).map(Part::Apart));
    parts.extend((0..kills().len()).map(Part::Killed));
    parts.extend([
        Part::DropInside,
        Part::DropKilled,
        Part::RenameKilled,
        Part::BehindALink,
        Part::BehindAnOpen,
    ]);
    parts.extend([Under::Adr, Under::EadrApart].map(Part::BehindARefusal));
    parts
}

pub(crate) fn run(
    part: Part,
    mutant: Option<Mutant>,
    calls: &mut Option<Calls>,
) -> Result<(), Finding> {
    let explored_from = |under: Under, before: &[PoolOp], ops: &[PoolOp], from, calls: &mut _| {
        let first = First { subject: &PoolSpace, ops: vec![Probe] };
        let mut explorer = Explorer::new(&first, under.model(), LIMIT, EFFORT, 1);
        explorer.plant(mutant);
        explorer.calls = Option::take(calls);
        let start = explorer.start(before).map_err(|failure| failure.finding)?;
        let result = explorer.explore(&start, ops, from);
        *calls = explorer.calls;
        result.map_err(|failure| failure.finding)
    };
    let explored =
        |under, before: &[_], ops: &[_], calls: &mut _| explored_from(under, before, ops, 0, calls);
    match part {
        Part::Made(under) => made(&[], under, mutant, calls),
        Part::Apart(number) => made(&apart()[number], Under::EadrApart, mutant, calls),
        Part::First(number, under) => made(&of_the_first_session()[number], under, mutant, calls),
        Part::Killed(number) => killed(number, mutant, calls),
        Part::One { start, op, under } => explored(under, &starts()[start], &ops()[op..=op], calls),
        Part::History(history, under) => {
            let History { before, ops, .. } = histories().swap_remove(history);
            explored(under, &before, &ops, calls)
        }
        Part::Directory => {
            let before = [Soil(2), MakeMany(ENTRIES - 1)];
            explored(Under::Adr, &before, &[Make("first", 2)], calls)
        }
        Part::DirectoryInRun => {
            let ops = [link(0, 4), Unlink(0), Relieve, link(1, 0), link(2, 0), Make("first", 2)];
            let before = [MakeMany(ENTRIES - 1)];
            explored_from(Under::Adr, &before, &ops, ops.len() - 1, calls)
        }
        Part::DropInside => {
            explored(Under::Adr, &[Make("first", 3)], &[DropInside("first"), Reopen], calls)
        }
        Part::DropKilled => looked_at(&Drop("first"), mutant, calls),
        Part::RenameKilled => looked_at(&Rename("first", LONG), mutant, calls),
        Part::BehindALink => behind_a_link(mutant, calls),
        Part::BehindARefusal(under) => behind_a_refusal(under, mutant, calls),
        Part::BehindAnOpen => behind_an_open(mutant, calls),
    }
}

fn killed(number: usize, mutant: Option<Mutant>, calls: &mut Option<Calls>) -> Result<(), Finding> {
    let (before, op, next) = kills().swap_remove(number);
    let effort = Effort { depth: 1, ..EFFORT };
    let mut explorer = Explorer::new(&PoolSpace, Model::WEAKEST_ADR, LIMIT, effort, 1);
    explorer.plant(mutant);
    explorer.calls = calls.take();
    let start = explorer.start(&before).map_err(|failure| failure.finding)?;
    let result = explorer.kill(&start, &op, &[Next { looks: false, ops: next }]);
    *calls = explorer.calls;
    result.map_err(|failure| failure.finding)
}

/// Kills the process in `op`, and the next one in its open; a third one looks.
fn looked_at(
    op: &PoolOp,
    mutant: Option<Mutant>,
    calls: &mut Option<Calls>,
) -> Result<(), Finding> {
    let effort = Effort { depth: 1, deep_ops: 0, ..EFFORT };
    let mut explorer = Explorer::new(&PoolSpace, Model::WEAKEST_ADR, LIMIT, effort, 1);
    explorer.plant(mutant);
    explorer.calls = calls.take();
    let start = explorer.start(&[Make("first", 3)]).map_err(|failure| failure.finding)?;
    let look = Next { looks: true, ops: Vec::new() };
    let result = explorer.kill(&start, op, &[look.clone(), look]);
    *calls = explorer.calls;
    result.map_err(|failure| failure.finding)
}

fn behind_a_link(mutant: Option<Mutant>, calls: &mut Option<Calls>) -> Result<(), Finding> {
    let effort = Effort { depth: 1, deep_ops: 0, ..EFFORT };
    let mut explorer = Explorer::new(&PoolSpace, Model::WEAKEST_ADR, LIMIT, effort, 1);
    explorer.plant(mutant);
    let start = explorer.start(&[Soil(2), MakeMany(ENTRIES - 1)]).map_err(|e| e.finding)?;
    let trace = explorer.trace(&start, &[Make("first", 2)])?;
    let is_linked = |event: &Event| event.action == Action::Step("pool.directory.link");
    let linked = trace.events.iter().position(is_linked).ok_or("no link")?;
    let is_store = |i: &usize| matches!(trace.events[*i].action, Action::Store { .. });
    let killed = (0..linked).rfind(is_store).map_or(0, |i| i + 1);
    let sim = Sim::after(Model::WEAKEST_ADR, LIMIT, &visible(&trace, killed), Chooser::first());
    sim.plant(mutant);
    if calls.is_some() {
        sim.count_calls();
    }
    // Its fences do not wait for the flushes of the one before.
    act_as(3);
    let open = PoolSpace.open(sim.clone(), 3)?;
    PoolSpace.apply(&open, &MakeMany(ENTRIES))?;
    let found = PoolSpace.observe(&open)?;
    act_as(0);
    sim.note(Action::Observed);
    calls.iter_mut().for_each(|calls| calls.add(sim.all_calls()));
    let mut events = trace.events[..killed].to_vec();
    events.extend(sim.take_trace().events);
    let (from, trace) = (events.len() - 1, Trace { start: trace.start, events });
    let crashed = explorer.crash_trace(&trace, from, |_| vec![found.clone()]);
    crashed.map_err(|(finding, _)| finding)
}

/// Opens what a killed process has left of a map that it dropped, and makes a map in another thread.
fn behind_an_open(mutant: Option<Mutant>, calls: &mut Option<Calls>) -> Result<(), Finding> {
    let model = Under::EadrApart.model();
    let mut explorer = Explorer::new(&PoolSpace, model, LIMIT, EFFORT, 1);
    explorer.plant(mutant);
    let start = explorer.start(&[Make("first", 2)]).map_err(|failure| failure.finding)?;
    let trace = explorer.trace(&start, &[Drop("first")])?;
    let is_dropping = |event: &Event| event.action == Action::Step("pool.drop.dropping");
    let dropping = trace.events.iter().position(is_dropping).ok_or("no drop")?;
    let sim = Sim::after(model, LIMIT, &visible(&trace, dropping), Chooser::first());
    sim.plant(mutant);
    if calls.is_some() {
        sim.count_calls();
    }
    act_as(1);
    let open = PoolSpace.open(sim.clone(), 3)?;
    let mut made = PoolSpace.observe(&open)?;
    act_as(2);
    PoolSpace.apply(&open, &Make("another", 4))?;
    PoolSpace.specify(&mut made, &Make("another", 4));
    calls.iter_mut().for_each(|calls| calls.add(sim.all_calls()));
    let trace = sim.trace();
    let from = trace.events.len() - 1;
    let crashed = explorer.crash_trace(&trace, from, |_| vec![made.clone()]);
    crashed.map_err(|(finding, _)| finding)
}

fn behind_a_refusal(
    under: Under,
    mutant: Option<Mutant>,
    calls: &mut Option<Calls>,
) -> Result<(), Finding> {
    let effort = Effort { depth: 1, deep_ops: 0, ..EFFORT };
    let mut explorer = Explorer::new(&PoolSpace, under.model(), LIMIT, effort, 1);
    explorer.plant(mutant);
    // A page of entries would be too much for a store buffer: there it is about the entry alone.
    let many = if under == Under::Adr { ENTRIES - 1 } else { 1 };
    let start = explorer.start(&[MakeMany(many)]).map_err(|failure| failure.finding)?;
    let durable = Aftermath::certain(start.image);
    let sim = Sim::after(under.model(), LIMIT, &durable, Chooser::first());
    sim.plant(mutant);
    if calls.is_some() {
        sim.count_calls();
    }
    let (open, mut made) = (PoolSpace.open(sim.clone(), 2)?, start.model);
    let turn = Cell::new(0);
    let apply = |op, made: &mut _| {
        // Under ADR it is a matter of the subject.
        act_as(if under == Under::EadrApart { 1 + turn.replace(turn.get() + 1) % 2 } else { 0 });
        PoolSpace.specify(made, &op);
        PoolSpace.apply(&open, &op)
    };
    // Both threads have chunks: none flushes the number of pages, which lies beside the link.
    apply(link(0, 0), &mut made)?;
    apply(link(1, 0), &mut made)?;
    // The first one gets none for the map's node; the second one does.
    sim.refuse(1);
    match apply(Make("first", 2), &mut made) {
        Err(full) if full.starts_with("Full") => {}
        other => return Err(format!("{other:?} where a chunk is refused")),
    }
    apply(Make("first", 2), &mut made)?;
    calls.iter_mut().for_each(|calls| calls.add(sim.all_calls()));
    let trace = sim.trace();
    let from = trace.events.len() - 1;
    let crashed = explorer.crash_trace(&trace, from, |_| vec![made.clone()]);
    crashed.map_err(|(finding, _)| finding)
}

/// Crashes the session that makes a pool.
fn made(
    ops: &[PoolOp],
    under: Under,
    mutant: Option<Mutant>,
    calls: &mut Option<Calls>,
) -> Result<(), Finding> {
    let sim = Sim::new(under.model(), LIMIT);
    sim.plant(mutant);
    if calls.is_some() {
        sim.count_calls();
    }
    let open = PoolSpace.create(sim.clone())?;
    let mut model = PoolSpace.observe(&open)?;
    let mut expect = vec![(0, vec![model.clone()])];
    for (i, op) in ops.iter().enumerate() {
        let before = model.clone();
        if under == Under::EadrApart {
            act_as(1 + i as u32 % 2);
        }
        expect.push((sim.moment() + 1, vec![before.clone()]));
        PoolSpace.apply(&open, op)?;
        PoolSpace.specify(&mut model, op);
        let last = expect.len() - 1;
        expect[last].1.push(model.clone());
        expect.push((sim.moment(), vec![model.clone()]));
    }
    let expect_at = |events: usize| {
        let at = expect.iter().rposition(|(since, _)| *since <= events).unwrap_or(0);
        expect[at].1.clone()
    };
    let mut explorer = Explorer::new(&PoolSpace, under.model(), LIMIT, EFFORT, 1);
    explorer.plant(mutant);
    explorer.calls = calls.take();
    let result = explorer.crash_trace(&sim.trace(), 0, expect_at);
    *calls = explorer.calls;
    calls.iter_mut().for_each(|calls| calls.add(sim.all_calls()));
    result.map_err(|(finding, _)| finding)
}

/// What is free when a pool is closed is known to the next session, also where the header of a run that
/// has ended is not durable: another thread freed it than the one that closes.
#[test]
fn a_close_lists_a_run_that_has_ended() {
    for ops in [vec![Probe, Reopen], vec![link(1, 4), Unlink(1), Relieve, Reopen]] {
        made(&ops, Under::Adr, None, &mut None).unwrap();
    }
}
