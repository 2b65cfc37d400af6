//! The campaign of pools, allocator and directory, in parts.

use std::fmt;

use endura::pool::PAGE;
use endura_sim::choose::Chooser;
use endura_sim::event::{Action, Event, Trace};
use endura_sim::explore::{Explorer, Next, visible};
use endura_sim::model::Model;
use endura_sim::mutant::Mutant;
use endura_sim::mutate::Calls;
use endura_sim::sim::{Sim, act_as};
use endura_sim::subject::{Finding, Subject};
use endura_sim::subjects::First;
use endura_sim::subjects::pool::{PoolOp, PoolSpace};
use endura_sim::tally::Effort;

use PoolOp::{Drop, Link, Make, MakeMany, Probe, Relieve, Reopen, Soil, Unlink};

const LIMIT: u64 = 48 * PAGE;
const LONG: &str = "second map, with a name beyond one line of sixty-four bytes";

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
const ENTRIES: u64 = ((1 << 20) - 12_288) / 512;

/// A part of the campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Part {
    /// How a pool is made, up to its first map.
    Made(Under),
    /// A history of the session that made the pool: what it closes must be found as it was.
    First(usize, Under),
    /// A history, all of whose operations are crashed.
    History(usize, Under),
    /// An operation in a pool that has one or another past.
    One { start: usize, op: usize, under: Under },
    /// A directory that goes on in a page that was used before.
    Directory,
    /// The same, in a page that was the second one of a large chunk.
    DirectoryInRun,
    /// A map is dropped by a process that is killed, as is the next one in its open; a third one looks.
    DropKilled,
    /// The first map of a page of the directory that a killed process had linked, not durably.
    BehindALink,
}

/// The model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Under {
    Adr,
    Eadr,
}

impl Under {
    fn model(self) -> Model {
        match self {
            Self::Adr => Model::WEAKEST_ADR,
            Self::Eadr => Model::WEAKEST_EADR,
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

fn link(slot: usize, size: usize) -> PoolOp {
    Link { slot, size }
}

fn choices() -> Vec<PoolOp> {
    let links = [link(0, 0), link(0, 2), link(1, 1), link(1, 4)];
    let others =
        [Unlink(0), Unlink(1), Unlink(3), Relieve, Make("first", 2), Drop("first"), Reopen];
    links.into_iter().chain(others).collect()
}

/// An empty pool; one in use; one whose pages were freed; one that was closed.
fn starts() -> [Vec<PoolOp>; 4] {
    let used = vec![link(2, 0), link(3, 4), link(4, 2), Make("first", 3), link(5, 0)];
    let freed =
        [&used[..], &[Unlink(3), Unlink(4), Drop("first"), Unlink(2), Relieve][..]].concat();
    let closed = [&freed[..], &[Reopen][..]].concat();
    [vec![], used, freed, closed]
}

/// What was there before, and what is crashed.
fn histories() -> Vec<(Vec<PoolOp>, Vec<PoolOp>)> {
    let classes = (0..3).flat_map(|size| [link(0, size), Unlink(0), Relieve]);
    let more = [link(1, 0), link(0, 2), Unlink(1), Relieve, link(2, 1)];
    let runs = vec![
        link(0, 4),
        Unlink(0),
        Relieve,
        // The second page of the run becomes one of chunks while the first is another's.
        link(1, 0),
        link(2, 1),
        link(3, 2),
        Unlink(1),
        Relieve,
        link(4, 0),
        Unlink(2),
        Unlink(3),
        Relieve,
        link(5, 3),
        Unlink(5),
        Relieve,
        link(6, 4),
    ];
    let saved = vec![link(0, 0), link(1, 3), link(2, 2), Unlink(1), Reopen];
    let again = vec![link(3, 0), link(4, 1), link(5, 2), Reopen];
    let maps = vec![
        Make("first", 2),
        Drop("first"),
        Make(LONG, 3),
        Make("first", 4),
        Drop(LONG),
        Make("another", 5),
    ];
    vec![
        (vec![], (0..5).map(|i| link(i, i)).collect()),
        (vec![], classes.chain(more).collect()),
        (vec![], runs),
        (vec![], saved.clone()),
        (saved.clone(), again),
        (vec![], maps.clone()),
        (vec![], [&saved[..], &[link(3, 0), Unlink(0)], &maps[..], &[Reopen]].concat()),
    ]
}

/// All of them, roughly in the order of what they cost.
pub(crate) fn parts() -> Vec<Part> {
    let mut parts = Vec::new();
    for under in [Under::Adr, Under::Eadr] {
        parts.push(Part::Made(under));
        for start in 0..starts().len() {
            parts.extend((0..choices().len()).map(|op| Part::One { start, op, under }));
        }
        parts.extend([3, 5, 6].map(|history| Part::First(history, under)));
        parts.extend((0..histories().len()).map(|history| Part::History(history, under)));
    }
    parts.extend([Part::Directory, Part::DirectoryInRun, Part::DropKilled, Part::BehindALink]);
    parts
}

pub(crate) fn run(
    part: Part,
    mutant: Option<Mutant>,
    calls: &mut Option<Calls>,
) -> Result<(), Finding> {
    let explored = |under: Under, before: &[PoolOp], ops: &[PoolOp], calls: &mut Option<Calls>| {
        let first = First { subject: &PoolSpace, ops: vec![Probe] };
        let mut explorer = Explorer::new(&first, under.model(), LIMIT, EFFORT, 1);
        explorer.plant(mutant);
        explorer.calls = calls.take();
        let start = explorer.start(before).map_err(|failure| failure.finding)?;
        let result = explorer.explore(&start, ops, 0);
        *calls = explorer.calls;
        result.map_err(|failure| failure.finding)
    };
    match part {
        Part::Made(under) => made(&[], under, mutant, calls),
        Part::First(history, under) => made(&histories()[history].1, under, mutant, calls),
        Part::One { start, op, under } => {
            explored(under, &starts()[start], &choices()[op..=op], calls)
        }
        Part::History(history, under) => {
            let (before, ops) = histories().swap_remove(history);
            explored(under, &before, &ops, calls)
        }
        Part::Directory => {
            let before = [Soil(2), MakeMany(ENTRIES - 1)];
            explored(Under::Adr, &before, &[Make("first", 2)], calls)
        }
        Part::DirectoryInRun => {
            let before =
                [link(0, 4), Unlink(0), Relieve, link(1, 0), link(2, 0), MakeMany(ENTRIES - 1)];
            explored(Under::Adr, &before, &[Make("first", 2)], calls)
        }
        Part::DropKilled => drop_killed(mutant, calls),
        Part::BehindALink => behind_a_link(mutant, calls),
    }
}

fn drop_killed(mutant: Option<Mutant>, calls: &mut Option<Calls>) -> Result<(), Finding> {
    let effort = Effort { depth: 1, deep_ops: 0, ..EFFORT };
    let mut explorer = Explorer::new(&PoolSpace, Model::WEAKEST_ADR, LIMIT, effort, 1);
    explorer.plant(mutant);
    explorer.calls = calls.take();
    let start = explorer.start(&[Make("first", 3)]).map_err(|failure| failure.finding)?;
    let look = Next { looks: true, ops: Vec::new() };
    let result = explorer.kill(&start, &Drop("first"), &[look.clone(), look]);
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
    for op in ops {
        let before = model.clone();
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
