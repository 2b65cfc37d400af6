//! Processes that are killed while they make, drop or rename a map, while they open the pool after that, and
//! then the power fails. What the last of them read or built on outlives it.
//!
//! (Only under ADR: where the caches are durable, all that was visible is.)

use std::slice;

use endura_sim::aftermath::Aftermath;
use endura_sim::event::{Action, Event, Trace};
use endura_sim::explore::{Next, visible};
use endura_sim::failure::Failure;
use endura_sim::model::Model;
use endura_sim::mutant::{Call, Mutant, Use};
use endura_sim::mutate::{Bed, Harness};
use endura_sim::subject::Subject;
use endura_sim::subjects::pool::histories::{LONG, full};
use endura_sim::subjects::pool::{PoolOp, PoolSpace};
use endura_sim::tally::Effort;

use crate::pool::{bed, behind_a_link, end_in_a_store};

use PoolOp::{Collect, Drop, Link, Make, Relieve, Rename, Unlink};

const EFFORT: Effort = Effort {
    depth: 1,
    exhaustive: 24,
    samples: 4,
    continue_one_in: 16,
    deep_ops: 0,
    ..Effort::EXHAUSTIVE
};

/// Where the power fails at last.
fn adr() -> Bed<'static, PoolSpace> {
    bed(Model::WEAKEST_ADR, EFFORT)
}

fn with(mutant: impl Into<Option<Mutant>>) -> Harness {
    Harness::new(mutant.into(), false)
}

fn told(failure: Failure<PoolOp>) -> String {
    failure.to_string()
}

/// One after the other: look; look, in two processes; look and go on, up to the use of what was freed.
fn next() -> Vec<Vec<Next<PoolOp>>> {
    let look = || Next { looks: true, ops: Vec::new() };
    let collected = (0..10).map(|_| Collect);
    let ops = [Make("another", 5)].into_iter().chain(collected).chain([Link { slot: 7, size: 0 }]);
    vec![vec![look(), look()], vec![Next { looks: true, ops: ops.collect() }]]
}

/// Gives a map a name of other lines, in which nothing else is stored.
const RENAMES: [PoolOp; 2] = [Rename("first", LONG), Rename("first", "another")];

/// Makes, drops or renames a map, killed after each store; how many images there were.
fn killed(op: &PoolOp, mut harness: Harness) -> Result<u64, String> {
    harness.explored(adr(), |explorer| {
        let start = explorer.start(&[Link { slot: 2, size: 0 }, Make("first", 3)]).map_err(told)?;
        for next in next() {
            explorer.kill(&start, op, &next).map_err(told)?;
        }
        Ok(explorer.tally.images)
    })
}

/// Takes away what comes behind the last store before a step.
fn end_before(step: &'static str, events: &mut Vec<Event>) {
    events.truncate(events.iter().position(|e| e.action == Action::Step(step)).unwrap());
    end_in_a_store(events);
}

/// A span in a page behind a run that a killed process had made shorter. It took the pages of a longer one, which
/// another killed process had freed, not durably either: on the medium they may still be that one's. Nobody's
/// fences wait for the flushes of the ones before.
pub(crate) fn taken_behind_a_shorter_run(harness: &mut Harness) -> Result<(), String> {
    // There is no room in page 0.
    let before = [full(), vec![Link { slot: 0, size: 5 }]].concat();
    let mut trace =
        harness.up_to(adr(), &before, &[Unlink(0), Relieve], "pool.large.free.first")?;
    end_in_a_store(&mut trace.events);
    let shorter = Link { slot: 1, size: 4 };
    let mut events = harness
        .session_after(adr(), &trace, 3, |open| PoolSpace.apply(open, &shorter).map(drop))?;
    end_before("pool.large.take", &mut events);
    trace.events.extend(events);
    let mut found = None;
    let events = harness.session_after(adr(), &trace, 9, |open| {
        assert!(PoolSpace.apply(open, &Link { slot: 2, size: 0 })?);
        found = Some(PoolSpace.observe(open)?);
        Ok(())
    })?;
    trace.events.extend(events);
    let from = trace.events.len() - 1;
    harness.crashed(adr(), &trace, from, |_| found.clone().into_iter().collect())
}

/// The process that renames a map is killed when it has said RENAMED; those that open the pool next, each after any
/// store of completing that. The last one renames another map, and the power fails anywhere in what it does, or in
/// what one of those did. How many were killed.
fn completed_by_opens(mut harness: Harness) -> Result<usize, String> {
    let before = [Make("first", 3), Make("another", 4)];
    let start = harness.explored(adr(), |of| of.start(&before).map_err(told))?;
    let (renamed, next) = (Rename("first", LONG), Rename("another", "first"));
    let mut states = vec![start.model.clone()];
    for op in [&renamed, &next] {
        let mut state = states[states.len() - 1].clone();
        assert!(PoolSpace.specify(&mut state, op));
        states.push(state);
    }
    let mut trace = harness.up_to(adr(), &before, &[renamed], "pool.rename.renamed")?;
    end_in_a_store(&mut trace.events);
    let (mut left, mut killed) = (vec![(trace, 3)], 0);
    while let Some((trace, thread)) = left.pop() {
        // An open, which is killed or goes on.
        for ops in [&[][..], slice::from_ref(&next)] {
            let events = harness.session_after(adr(), &trace, thread, |open| {
                ops.iter().try_for_each(|op| PoolSpace.apply(open, op).map(drop))?;
                let found = PoolSpace.observe(open)?;
                if found == states[1 + ops.len()] { Ok(()) } else { Err(format!("{found:?}")) }
            })?;
            let mut whole = trace.clone();
            whole.events.extend(events);
            let (from, end) = (trace.events.len(), whole.events.len());
            // What was seen is there ever after; before that, one of those names is.
            let expect =
                |at| if at < end { states.clone() } else { vec![states[1 + ops.len()].clone()] };
            harness.crashed(adr(), &whole, from, expect)?;
            if ops.is_empty() && thread < 5 {
                let stores = (from..end).filter(|&i| whole.events[i].changes_words());
                let entry =
                    |i: &usize| whole.events[*i].site.file().ends_with("space/directory/entry.rs");
                for i in stores.filter(entry) {
                    let mut events = whole.events.clone();
                    events.truncate(i + 1);
                    left.push((Trace { start: whole.start.clone(), events }, thread + 1));
                    killed += 1;
                }
            }
        }
    }
    Ok(killed)
}

/// The calls that an open makes.
fn calls_of_an_open(left: &Aftermath) -> impl Iterator<Item = Call> + use<> {
    let sim = Harness::new(None, true).after(Model::WEAKEST_ADR, adr().limit, left);
    drop(PoolSpace.open(sim.clone(), 3).unwrap());
    sim.calls().into_keys()
}

/// The flushes of `file` by which an open makes durable what it found.
fn flushes_of_an_open(before: &[PoolOp], file: &str) -> Vec<Call> {
    let start = with(None).explored(adr(), |of| of.start(before).map_err(told)).unwrap();
    let calls = calls_of_an_open(&Aftermath::certain(start.image));
    calls.filter(|call| call.what == Use::Flush && call.site.file().ends_with(file)).collect()
}

#[test]
fn maps_that_killed_processes_made_dropped_or_renamed() {
    for op in [Make("another", 4), Drop("first")].into_iter().chain(RENAMES) {
        let images = killed(&op, with(None)).unwrap_or_else(|failure| panic!("{failure}"));
        assert!(images > 10, "{images}");
    }
    behind_a_link(&mut with(None)).unwrap();
    taken_behind_a_shorter_run(&mut with(None)).unwrap();
}

#[test]
fn opens_that_are_killed_while_they_complete_a_renaming() {
    let killed = completed_by_opens(with(None)).unwrap();
    assert!(killed > 1_000, "{killed}");
    // Each store, flush, fence and drain of it counts, but for the last drain: the open ends with another one.
    let before = [Make("first", 3)];
    let mut trace = with(None).up_to(adr(), &before, &RENAMES[..1], "pool.rename.renamed").unwrap();
    end_in_a_store(&mut trace.events);
    let is_of_entry = |call: &Call| call.site.file().ends_with("space/directory/entry.rs");
    let calls = calls_of_an_open(&visible(&trace, trace.events.len()));
    let calls = calls.filter(|call| call.what != Use::Load);
    let calls: Vec<Call> = calls.filter(is_of_entry).collect();
    let [but @ .., last] = &calls[..] else { panic!("no calls") };
    assert!(but.len() > 6 && last.what == Use::Drain, "{calls:?}");
    for &call in but {
        assert!(completed_by_opens(with(Mutant::Drop(call))).is_err(), "{call:?}");
    }
}

/// An open that relies on what it sees, and does not make it durable, is noticed in each case.
#[test]
fn an_open_that_flushes_nothing_is_noticed() {
    let made = [Make("first", 3)];
    // By their places: that of links stands before that of entries.
    let [link, state] = flushes_of_an_open(&made, "space/directory/registry.rs")[..] else {
        panic!("two")
    };
    let pages = [full(), vec![Link { slot: 0, size: 4 }]].concat();
    // That of a page's header stands before that of a span's.
    let [header, _] = flushes_of_an_open(&pages, "space/alloc/survey.rs")[..] else {
        panic!("two")
    };
    for op in [Make("another", 4), Drop("first"), Rename("first", LONG)] {
        assert!(killed(&op, with(Mutant::Drop(state))).is_err(), "{op:?}");
    }
    assert!(behind_a_link(&mut with(Mutant::Drop(link))).is_err());
    assert!(taken_behind_a_shorter_run(&mut with(Mutant::Drop(header))).is_err());
}
