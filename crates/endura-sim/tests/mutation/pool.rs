//! The campaign of pools, allocator and directory, in parts.

use std::cell::Cell;
use std::fmt;

use endura_engine::space::PAGE;
use endura_sim::aftermath::Aftermath;
use endura_sim::event::{Action, Event};
use endura_sim::explore::{Next, visible};
use endura_sim::model::Model;
use endura_sim::mutate::{Bed, Harness};
use endura_sim::sim::act_as;
use endura_sim::subject::{Finding, Subject};
use endura_sim::subjects::First;
use endura_sim::subjects::pool::histories::{
    History, LONG, choices, full, histories, link, starts,
};
use endura_sim::subjects::pool::{PoolOp, PoolSpace};
use endura_sim::tally::Effort;

use crate::killed_pool;

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

/// Crashed once; what is recovered is only looked at.
const ONCE: Effort = Effort { depth: 1, deep_ops: 0, ..EFFORT };

/// As many entries as go into page 0.
const ENTRIES: u64 = 16;

/// A span of the directory, and more.
const SOILED: PoolOp = Soil(40);

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
    /// An operation in which the process is killed; the leak recovery of the next one, and a power failure.
    Killed(usize),
    /// The same with all operations; the next process does what the subject does after a crash.
    Kills(usize),
    /// A directory that goes on in a span that was used before.
    Directory,
    /// The same, in a page that was the second one of a large chunk.
    DirectoryInRun,
    /// A map is dropped inside another operation: all that is done of it is that it is DROPPING.
    DropInside,
    /// A map is dropped by a process that is killed, as is the next one in its open; a third one looks.
    DropKilled,
    /// The same with a map that gets another name.
    RenameKilled,
    /// The first map of a span of the directory that a killed process had linked, not durably.
    BehindALink,
    /// The same, of a span that another thread had linked for a map that it had no room to make.
    BehindARefusal(Under),
    /// A span in a page behind a run that a killed process had made shorter.
    BehindAShorterRun,
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
    // Classes, runs, what was collected, maps, names, spans.
    let of = |i| {
        let History { before, ops, .. } = histories().swap_remove(i);
        [before, ops].concat()
    };
    [1, 2, 6, 5, 10, 11, 12, 13, 14, 9].map(of).into()
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
    let large = vec![link(2, 0), link(3, 5)];
    // All that is not a large run goes into its pages.
    let large_behind = [full(), large.clone()].concat();
    vec![
        // What led to the node or the chunk must be gone for good when it is used again.
        (made.clone(), Drop("first"), one(&[Make("another", 4), link(4, 0)])),
        (made.clone(), Unlink(2), one(&[link(4, 0), link(5, 0)])),
        (made.clone(), Unlink(2), both(&[link(4, 0), link(5, 0)])),
        (made, Unlink(2), second(&[link(4, 0), link(5, 0)])),
        (large.clone(), Unlink(3), one(&[link(4, 5), link(5, 0)])),
        (large.clone(), Unlink(3), second(&[link(4, 5), link(5, 0)])),
        (large_behind, Unlink(3), both(&[link(4, 3), link(5, 4)])),
        // Pages that were new to the one that was killed.
        (vec![], link(0, 5), one(&[link(1, 4), link(2, 0)])),
        (vec![], link(0, 0), both(&[link(1, 1), link(2, 2)])),
        (vec![], Make("first", 2), second(&[Make("another", 4), link(0, 0)])),
        // What is free in them is handed out before anything is recovered.
        (full(), link(0, 5), vec![link(1, 0), link(2, 3)]),
        (vec![], link(0, 1), vec![link(1, 1), link(2, 1), link(3, 1)]),
        (vec![], link(0, 2), vec![link(1, 2), link(2, 3), link(3, 0)]),
        (full(), link(0, 3), vec![link(1, 0), link(2, 3)]),
        // A part of a span that was about to be used is free when all is recovered.
        (vec![link(2, 1)], link(3, 1), both(&[link(4, 1), link(5, 1)])),
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
    parts.extend((0..histories().len()).map(Part::Kills));
    parts.extend([
        Part::DropInside,
        Part::DropKilled,
        Part::RenameKilled,
        Part::BehindALink,
        Part::BehindAnOpen,
        Part::BehindAShorterRun,
    ]);
    parts.extend([Under::Adr, Under::EadrApart].map(Part::BehindARefusal));
    parts
}

pub(crate) fn bed(model: Model, effort: Effort) -> Bed<'static, PoolSpace> {
    Bed { subject: &PoolSpace, model, limit: LIMIT, effort }
}

pub(crate) fn run(part: Part, harness: &mut Harness) -> Result<(), Finding> {
    let explored_from =
        |under: Under, before: &[PoolOp], ops: &[PoolOp], from, of: &mut Harness| {
            let first = First { subject: &PoolSpace, ops: vec![Probe] };
            let on = Bed { subject: &first, model: under.model(), limit: LIMIT, effort: EFFORT };
            of.alone(on, before, ops, from)
        };
    let explored =
        |under, before: &[_], ops: &[_], of: &mut _| explored_from(under, before, ops, 0, of);
    match part {
        Part::Made(under) => made(&[], under, harness),
        Part::Apart(number) => made(&apart()[number], Under::EadrApart, harness),
        Part::First(number, under) => made(&of_the_first_session()[number], under, harness),
        Part::Killed(number) => {
            let (before, op, ops) = kills().swap_remove(number);
            let on = bed(Model::WEAKEST_ADR, Effort { depth: 1, ..EFFORT });
            harness.killed(on, &before, &op, &[Next { looks: false, ops }])
        }
        Part::Kills(history) => {
            let History { before, ops, .. } = histories().swap_remove(history);
            harness.alone_and_killed(bed(Model::WEAKEST_ADR, Harness::KILLS), &before, &ops)
        }
        Part::One { start, op, under } => {
            explored(under, &starts()[start], &ops()[op..=op], harness)
        }
        Part::History(history, under) => {
            let History { before, ops, .. } = histories().swap_remove(history);
            explored(under, &before, &ops, harness)
        }
        Part::Directory => {
            let before = [SOILED, MakeMany(ENTRIES - 1)];
            explored(Under::Adr, &before, &[Make("first", 2)], harness)
        }
        Part::DirectoryInRun => {
            let runs = [link(0, 5), Unlink(0), Relieve, link(1, 6), link(2, 3)];
            let ops = [&runs[..], &[Make("first", 2)]].concat();
            let before = [full(), vec![MakeMany(ENTRIES - 1)]].concat();
            explored_from(Under::Adr, &before, &ops, ops.len() - 1, harness)
        }
        Part::DropInside => {
            explored(Under::Adr, &[Make("first", 3)], &[DropInside("first"), Reopen], harness)
        }
        Part::DropKilled => looked_at(&Drop("first"), harness),
        Part::RenameKilled => looked_at(&Rename("first", LONG), harness),
        Part::BehindALink => behind_a_link(harness),
        Part::BehindARefusal(under) => behind_a_refusal(under, harness),
        Part::BehindAnOpen => behind_an_open(harness),
        Part::BehindAShorterRun => killed_pool::taken_behind_a_shorter_run(harness),
    }
}

/// Kills the process in `op`, and the next one in its open; a third one looks.
fn looked_at(op: &PoolOp, harness: &mut Harness) -> Result<(), Finding> {
    let look = Next { looks: true, ops: Vec::new() };
    harness.killed(bed(Model::WEAKEST_ADR, ONCE), &[Make("first", 3)], op, &[look.clone(), look])
}

/// Takes what is behind the last store away.
pub(crate) fn end_in_a_store(events: &mut Vec<Event>) {
    let is_store = |event: &Event| matches!(event.action, Action::Store { .. });
    events.truncate(events.iter().rposition(is_store).map_or(0, |i| i + 1));
}

pub(crate) fn behind_a_link(harness: &mut Harness) -> Result<(), Finding> {
    let on = bed(Model::WEAKEST_ADR, ONCE);
    let before = [SOILED, MakeMany(ENTRIES - 1)];
    let mut trace = harness.up_to(on, &before, &[Make("first", 2)], "pool.directory.link")?;
    end_in_a_store(&mut trace.events);
    let mut found = None;
    let events = harness.session_after(on, &trace, 3, |open| {
        PoolSpace.apply(open, &MakeMany(ENTRIES))?;
        found = Some(PoolSpace.observe(open)?);
        Ok(())
    })?;
    trace.events.extend(events);
    let from = trace.events.len() - 1;
    harness.crashed(on, &trace, from, |_| found.clone().into_iter().collect())
}

/// Opens what a killed process has left of a map that it dropped, and makes a map in another thread.
fn behind_an_open(harness: &mut Harness) -> Result<(), Finding> {
    let on = bed(Under::EadrApart.model(), EFFORT);
    let dropped = harness.up_to(on, &[Make("first", 2)], &[Drop("first")], "pool.drop.dropping")?;
    let sim = harness.after(on.model, LIMIT, &visible(&dropped, dropped.events.len()));
    act_as(1);
    let open = PoolSpace.open(sim.clone(), 3)?;
    let mut made = PoolSpace.observe(&open)?;
    act_as(2);
    PoolSpace.apply(&open, &Make("another", 4))?;
    PoolSpace.specify(&mut made, &Make("another", 4));
    harness.count(|| sim.all_calls());
    let trace = sim.trace();
    harness.crashed(on, &trace, trace.events.len() - 1, |_| vec![made.clone()])
}

fn behind_a_refusal(under: Under, harness: &mut Harness) -> Result<(), Finding> {
    let on = bed(under.model(), ONCE);
    // A span of entries would be too much for a store buffer: there it is about the entry alone.
    let many = [MakeMany(if under == Under::Adr { ENTRIES - 1 } else { 1 })];
    let start = harness.explored(on, |of| of.start(&many).map_err(|failure| failure.finding))?;
    let sim = harness.after(on.model, LIMIT, &Aftermath::certain(start.image));
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
    harness.count(|| sim.all_calls());
    let trace = sim.trace();
    harness.crashed(on, &trace, trace.events.len() - 1, |_| vec![made.clone()])
}

/// Crashes the session that makes a pool.
fn made(ops: &[PoolOp], under: Under, harness: &mut Harness) -> Result<(), Finding> {
    let sim = harness.sim(under.model(), LIMIT);
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
    harness.crashed(bed(under.model(), EFFORT), &sim.trace(), 0, expect_at)?;
    harness.count(|| sim.all_calls());
    Ok(())
}

/// What is free when a pool is closed is known to the next session, also where the header of a run that
/// has ended is not durable: another thread freed it than the one that closes.
#[test]
fn a_close_lists_a_run_that_has_ended() {
    for ops in [vec![Probe, Reopen], vec![link(1, 5), Unlink(1), Relieve, Reopen]] {
        made(&ops, Under::Adr, &mut Harness::new(None, false)).unwrap();
    }
}
