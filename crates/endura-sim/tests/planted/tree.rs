//! Faults at single calls of endura's own tree and pool, planted by the medium: the library is not
//! changed, nor built again.

use endura::lab::pool::PAGE;
use endura_sim::mutant::{Call, Mutant, Use};
use endura_sim::mutate::Place;
use endura_sim::sim::Sim;
use endura_sim::subject::Subject;
use endura_sim::subjects::pool::histories::{histories, link};
use endura_sim::subjects::pool::{PoolOp, PoolSpace};
use endura_sim::subjects::{FastFair, LIMIT, MapOp};
use endura_sim::tally::Effort;

use crate::hunt::{Campaign, Hunt};
use crate::table::Planted;

/// Inner nodes of three entries; leaves of six, in two lines, so that there is an order of lines.
type Subjected = FastFair<14, 20>;

/// The call of this kind that stands there, out of those that were made.
fn call(place: Place, what: Use, calls: impl IntoIterator<Item = Call>) -> Call {
    let is_there = place.finder();
    let is_it = |call: &Call| call.what == what && is_there(call);
    calls.into_iter().find(is_it).unwrap_or_else(|| panic!("{place:?}"))
}

const fn write(function: &'static str, text: &'static str) -> Place {
    Place { folder: "fast_fair", function, text }
}

const fn split(text: &'static str) -> Place {
    Place { folder: "fast_fair", function: "fair_split", text }
}

/// Where a fault stands, and which it is.
fn fault(bug: Planted) -> (Place, Use, fn(Call) -> Mutant) {
    let absorb = |text| Place { folder: "fast_fair", function: "absorb", text };
    let root = |text| Place { folder: "fast_fair", function: "install_root", text };
    let append = |text| Place { folder: "pool", function: "append", text };
    let tail = |text| Place { folder: "pool", function: "shorten_tail", text };
    match bug {
        Planted::InsertUnflushed => {
            (write("fast_insert", "flush_slot(place.slot)"), Use::Flush, Mutant::Drop)
        }
        Planted::InsertLinesUnordered => {
            (write("fast_insert", "media.fence()"), Use::Fence, Mutant::Drop)
        }
        Planted::InsertCommitUnordered => {
            (write("fast_insert", "set_key(place.slot, key)"), Use::Store, Mutant::Weaken)
        }
        Planted::DeleteUnflushed => {
            (write("fast_delete", "flush_slot(last)"), Use::Flush, Mutant::Drop)
        }
        Planted::DeleteLinesUnordered => {
            (write("fast_delete", "media.fence()"), Use::Fence, Mutant::Drop)
        }
        Planted::UpdateUnflushed => (write("update", "flush_slot(slot)"), Use::Flush, Mutant::Drop),
        Planted::SplitBeforeCopyDurable => (split("right.flush()"), Use::Flush, Mutant::Drop),
        Planted::SplitUnfenced => (split("media.fence()"), Use::Fence, Mutant::Drop),
        Planted::SplitHighUnordered => (split("left.set_high"), Use::Store, Mutant::Weaken),
        Planted::SplitHeaderUnflushed => (split("left.flush_header"), Use::Flush, Mutant::Drop),
        Planted::MergeBeforeCopyDurable => (absorb("media.fence()"), Use::Fence, Mutant::Drop),
        Planted::MergeTailAlive => (absorb("l.kill_from"), Use::Store, Mutant::Drop),
        Planted::RootUnflushed => (root("root.flush()"), Use::Flush, Mutant::Drop),
        Planted::NextPageUnflushed => (append("word.flush"), Use::Flush, Mutant::Drop),
        Planted::TailUnfenced => (tail("media.drain()"), Use::Drain, Mutant::Drop),
        Planted::TailUnflushed => (tail("line.flush"), Use::Flush, Mutant::Drop),
        _ => unreachable!("{bug:?} is a bug of another structure"),
    }
}

/// Fills a tree far enough for all kinds of changes, and empties it again; gives the calls.
fn calls(subject: &Subjected) -> Vec<Call> {
    let sim = Sim::new(endura_sim::model::Model::WEAKEST_ADR, LIMIT);
    sim.count_calls();
    let open = subject.create(sim.clone()).expect("a tree");
    let keys = &subject.keys;
    let mixed = (0..keys.len()).map(|i| MapOp::Put(keys[i * 5 % keys.len()], 0));
    let again = keys.iter().map(|&key| MapOp::Put(key, 1));
    let emptied = keys.iter().map(|&key| MapOp::Remove(key));
    for op in mixed.chain(again).chain(emptied) {
        subject.apply(&open, &op).expect("an operation");
    }
    sim.calls().into_keys().collect()
}

/// Every update, insert and removal in trees of up to 12 keys, one of which is about to get a new
/// root and one of which was thinned out.
pub(crate) fn hunt(bug: Planted, flawed: bool) -> Hunt {
    let subject = Subjected::about((1..=27).map(|i| 10 * i).collect());
    let mutant = flawed.then(|| {
        let (place, what, mutant) = fault(bug);
        mutant(call(place, what, calls(&subject)))
    });
    let filled = |n: u64| (1..=n).map(|i| MapOp::Put(10 * i, i)).collect::<Vec<_>>();
    let thinned = |n: u64, of: [u64; 4]| {
        filled(n).into_iter().chain(of.map(|i| MapOp::Remove(10 * i))).collect::<Vec<_>>()
    };
    let starts = [3, 6, 11, 12].map(filled).into_iter().chain([thinned(9, [1, 2, 3, 9])]);
    let ops: Vec<MapOp> = [1, 2, 4, 5, 7, 8]
        .into_iter()
        .flat_map(|i| [MapOp::Put(10 * i, 77), MapOp::Remove(10 * i)])
        .chain([MapOp::Put(35, 77), MapOp::Put(260, 77), MapOp::Put(270, 77)])
        .collect();
    let effort = Effort { depth: 1, exhaustive: 200, samples: 16, ..Effort::EXHAUSTIVE };
    Campaign { bytes: LIMIT, effort, ..Campaign::of(&ops) }.from(starts).hunt(&subject, mutant)
}

/// Chunks of 32 KiB, of which two go into a 32nd of a page, in pools without trees.
pub(crate) fn hunt_in_pool(bug: Planted, flawed: bool) -> Hunt {
    const BYTES: u64 = 48 * PAGE;
    let chunks: Vec<PoolOp> = (0..3).map(|slot| link(slot, 2)).collect();
    let mutant = flawed.then(|| {
        let sim = Sim::new(endura_sim::model::Model::WEAKEST_ADR, BYTES);
        sim.count_calls();
        let open = PoolSpace.create(sim.clone()).expect("a pool");
        chunks.iter().for_each(|op| assert!(PoolSpace.apply(&open, op).expect("an operation")));
        let (place, what, mutant) = fault(bug);
        mutant(call(place, what, sim.calls().into_keys()))
    });
    let effort = Effort { depth: 1, exhaustive: 200, samples: 16, ..Effort::EXHAUSTIVE };
    let longer = histories().into_iter().filter(|history| history.name.starts_with("tails of"));
    Campaign { bytes: BYTES, effort, ..Campaign::of(&chunks[..1]) }
        .and([chunks.clone()])
        .and(longer.map(|history| history.ops))
        .from([chunks])
        .hunt(&PoolSpace, mutant)
}
