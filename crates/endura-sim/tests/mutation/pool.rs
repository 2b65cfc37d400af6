//! The campaign of pools, allocator and directory, in parts.

use std::fmt;

use endura::pool::PAGE;
use endura_sim::explore::Explorer;
use endura_sim::model::Model;
use endura_sim::mutant::Mutant;
use endura_sim::mutate::Calls;
use endura_sim::sim::Sim;
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

/// A part of the campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Part {
    /// How a pool is made, up to its first map.
    Made(Under),
    /// A history, all of whose operations are crashed.
    History(usize, Under),
    /// An operation in a pool that has one or another past.
    One { start: usize, op: usize, under: Under },
    /// A directory that goes on in a page that was used before.
    Directory,
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
            Self::Eadr => Model::EADR,
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

fn link(slot: usize, size: usize) -> PoolOp {
    Link { slot, size }
}

fn choices() -> Vec<PoolOp> {
    let links = [link(0, 0), link(0, 2), link(1, 1), link(1, 4)];
    let others = [Unlink(0), Unlink(1), Unlink(3), Relieve, Make("first", 2), Drop("first"), Reopen];
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
        (saved, again),
        (vec![], maps),
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
        parts.extend((0..histories().len()).map(|history| Part::History(history, under)));
    }
    parts.push(Part::Directory);
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
        Part::Made(under) => made(under, mutant, calls),
        Part::One { start, op, under } => {
            explored(under, &starts()[start], &choices()[op..=op], calls)
        }
        Part::History(history, under) => {
            let (before, ops) = histories().swap_remove(history);
            explored(under, &before, &ops, calls)
        }
        Part::Directory => {
            // As many entries as go into the page that the directory begins in, but one.
            const ENTRIES: u64 = ((1 << 20) - 12_288) / 512;
            let before = [Soil(2), MakeMany(ENTRIES - 1)];
            explored(Under::Adr, &before, &[Make("first", 2)], calls)
        }
    }
}

fn made(
    under: Under,
    mutant: Option<Mutant>,
    calls: &mut Option<Calls>,
) -> Result<(), Finding> {
    let sim = Sim::new(under.model(), LIMIT);
    sim.plant(mutant);
    let open = PoolSpace.create(sim.clone())?;
    PoolSpace.observe(&open)?;
    let mut explorer = Explorer::new(&PoolSpace, under.model(), LIMIT, EFFORT, 1);
    explorer.plant(mutant);
    explorer.calls = calls.take();
    let result = explorer.crash_trace(&sim.trace(), 0, |_| vec![PoolSpace.empty()]);
    *calls = explorer.calls;
    result.map_err(|(finding, _)| finding)
}
