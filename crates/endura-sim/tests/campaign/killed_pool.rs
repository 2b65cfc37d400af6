//! Processes that are killed while they make, drop or rename a map, while they open the pool after that, and
//! then the power fails. What the last of them read or built on outlives it.
//!
//! (Only under ADR: where the caches are durable, all that was visible is.)

use std::slice;

use endura::lab::pool::PAGE;
use endura_sim::aftermath::Aftermath;
use endura_sim::choose::Chooser;
use endura_sim::event::{Action, Event, Trace};
use endura_sim::explore::{Explorer, Next, visible};
use endura_sim::failure::Failure;
use endura_sim::model::Model;
use endura_sim::mutant::{Call, Mutant, Use};
use endura_sim::sim::{Sim, act_as};
use endura_sim::subject::Subject;
use endura_sim::subjects::pool::histories::LONG;
use endura_sim::subjects::pool::{OpenPool, PoolOp, PoolSpace};
use endura_sim::tally::Effort;

use PoolOp::{Collect, Drop, Link, Make, MakeMany, Relieve, Rename, Soil, Unlink};

const LIMIT: u64 = 48 * PAGE;
const EFFORT: Effort = Effort {
    depth: 1,
    exhaustive: 24,
    samples: 4,
    continue_one_in: 16,
    deep_ops: 0,
    ..Effort::EXHAUSTIVE
};

/// As many entries as go into the page that the directory begins in.
const ENTRIES: u64 = ((1 << 20) - 12_288) / 1024;

fn explorer(mutant: Option<Mutant>) -> Explorer<'static, PoolSpace> {
    let mut explorer = Explorer::new(&PoolSpace, Model::WEAKEST_ADR, LIMIT, EFFORT, 1);
    explorer.plant(mutant);
    explorer
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
fn killed(op: &PoolOp, mutant: Option<Mutant>) -> Result<u64, String> {
    let mut explorer = explorer(mutant);
    let told = |failure| format!("{failure}");
    let start = explorer.start(&[Link { slot: 2, size: 0 }, Make("first", 3)]).map_err(told)?;
    for next in next() {
        explorer.kill(&start, op, &next).map_err(told)?;
    }
    Ok(explorer.tally.images)
}

/// What a process does, and the step before which its last store is visible and not durable when it is killed.
type Killed<'o> = (&'o [PoolOp], &'static str);

/// Processes are killed one after the other. The next one opens the pool and does `then`; nobody's fences wait
/// for the flushes of the ones before. Then the power fails.
fn relied_on(
    before: &[PoolOp],
    processes: &[Killed<'_>],
    then: &PoolOp,
    mutant: Option<Mutant>,
) -> Result<(), String> {
    let mut explorer = explorer(mutant);
    let start = explorer.start(before).map_err(|failure| failure.to_string())?;
    let (ops, step) = processes[0];
    let mut trace = explorer.trace(&start, ops)?;
    trace.events.truncate(last_store_before(step, &trace.events));
    for (thread, (ops, step)) in (3..).zip(&processes[1..]) {
        let mut events = session_after(&trace, thread, mutant, |open| {
            ops.iter().try_for_each(|op| PoolSpace.apply(open, op).map(drop))
        })?;
        events.truncate(last_store_before(step, &events));
        trace.events.extend(events);
    }
    let mut found = None;
    let events = session_after(&trace, 9, mutant, |open| {
        assert!(PoolSpace.apply(open, then)?);
        found = Some(PoolSpace.observe(open)?);
        Ok(())
    })?;
    trace.events.extend(events);
    let from = trace.events.len() - 1;
    let crashed = explorer.crash_trace(&trace, from, |_| found.clone().into_iter().collect());
    assert!(crashed.is_err() || explorer.tally.images > 0);
    crashed.map_err(|(finding, _)| finding)
}

/// How many events there are up to the last store before a step.
fn last_store_before(step: &'static str, events: &[Event]) -> usize {
    let reached = events.iter().position(|event| event.action == Action::Step(step)).unwrap();
    let is_store = |event: &Event| matches!(event.action, Action::Store { .. });
    1 + events[..reached].iter().rposition(is_store).unwrap()
}

/// What a process does that finds what is visible after `trace`.
fn session_after(
    trace: &Trace,
    thread: u32,
    mutant: Option<Mutant>,
    work: impl FnOnce(&OpenPool) -> Result<(), String>,
) -> Result<Vec<Event>, String> {
    let left = visible(trace, trace.events.len());
    let sim = Sim::after(Model::WEAKEST_ADR, LIMIT, &left, Chooser::first());
    sim.plant(mutant);
    act_as(thread);
    let open = PoolSpace.open(sim.clone(), 3)?;
    work(&open)?;
    act_as(0);
    sim.note(Action::Observed);
    Ok(sim.take_trace().events)
}

/// The first map of a page of the directory that a killed process had linked, not durably.
fn made_behind_a_link(mutant: Option<Mutant>) -> Result<(), String> {
    // One more. It has no node: what is flushed for a new page would be flushed beside the link.
    let (before, then) = ([Soil(2), MakeMany(ENTRIES - 1)], MakeMany(ENTRIES));
    relied_on(&before, &[(&[Make("first", 2)], "pool.directory.link")], &then, mutant)
}

/// A page behind a run that a killed process had made shorter. It took the pages of a longer one, which
/// another killed process had freed, not durably either: on the medium they may still be that one's.
fn taken_behind_a_shorter_run(mutant: Option<Mutant>) -> Result<(), String> {
    let freed: Killed<'_> = (&[Unlink(0), Relieve], "pool.run.free.first");
    let shorter: Killed<'_> = (&[Link { slot: 1, size: 3 }], "pool.page.take");
    let then = Link { slot: 2, size: 0 };
    relied_on(&[Link { slot: 0, size: 4 }], &[freed, shorter], &then, mutant)
}

/// The process that renames a map is killed when it has said RENAMED; those that open the pool next, each after any
/// store of completing that. The last one renames another map, and the power fails anywhere in what it does, or in
/// what one of those did. How many were killed.
fn completed_by_opens(mutant: Option<Mutant>) -> Result<usize, String> {
    let mut explorer = explorer(mutant);
    let told = |failure: Failure<PoolOp>| failure.to_string();
    let start = explorer.start(&[Make("first", 3), Make("another", 4)]).map_err(told)?;
    let (renamed, next) = (Rename("first", LONG), Rename("another", "first"));
    let mut states = vec![start.model.clone()];
    for op in [&renamed, &next] {
        let mut state = states[states.len() - 1].clone();
        assert!(PoolSpace.specify(&mut state, op));
        states.push(state);
    }
    let mut trace = explorer.trace(&start, &[renamed])?;
    trace.events.truncate(last_store_before("pool.rename.renamed", &trace.events));
    let (mut left, mut killed) = (vec![(trace, 3)], 0);
    while let Some((trace, thread)) = left.pop() {
        // An open, which is killed or goes on.
        for ops in [&[][..], slice::from_ref(&next)] {
            let events = session_after(&trace, thread, mutant, |open| {
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
            explorer.crash_trace(&whole, from, expect).map_err(|(finding, _)| finding)?;
            if ops.is_empty() && thread < 5 {
                let stores = (from..end).filter(|&i| whole.events[i].changes_words());
                let entry =
                    |i: &usize| whole.events[*i].site.file().ends_with("pool/directory/entry.rs");
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

/// The flushes of `file` by which an open makes durable what it found.
fn flushes_of_an_open(before: &[PoolOp], file: &str) -> Vec<Call> {
    let start = explorer(None).start(before).unwrap();
    let left = Aftermath::certain(start.image);
    let sim = Sim::after(Model::WEAKEST_ADR, LIMIT, &left, Chooser::first());
    sim.count_calls();
    drop(PoolSpace.open(sim.clone(), 3).unwrap());
    let calls = sim.calls().into_keys();
    calls.filter(|call| call.what == Use::Flush && call.site.file().ends_with(file)).collect()
}

#[test]
fn maps_that_killed_processes_made_dropped_or_renamed() {
    for op in [Make("another", 4), Drop("first")].into_iter().chain(RENAMES) {
        let images = killed(&op, None).unwrap_or_else(|failure| panic!("{failure}"));
        assert!(images > 10, "{images}");
    }
    made_behind_a_link(None).unwrap();
    taken_behind_a_shorter_run(None).unwrap();
}

#[test]
fn opens_that_are_killed_while_they_complete_a_renaming() {
    let killed = completed_by_opens(None).unwrap();
    assert!(killed > 1_000, "{killed}");
    // Each store, flush, fence and drain of it counts, but for the last drain: the open ends with another one.
    let explorer = explorer(None);
    let start = explorer.start(&[Make("first", 3)]).unwrap();
    let trace = explorer.trace(&start, &RENAMES[..1]).unwrap();
    let left = visible(&trace, last_store_before("pool.rename.renamed", &trace.events));
    let sim = Sim::after(Model::WEAKEST_ADR, LIMIT, &left, Chooser::first());
    sim.count_calls();
    drop(PoolSpace.open(sim.clone(), 3).unwrap());
    let is_of_entry = |call: &Call| call.site.file().ends_with("pool/directory/entry.rs");
    let calls = sim.calls().into_keys().filter(|call| call.what != Use::Load);
    let calls: Vec<Call> = calls.filter(is_of_entry).collect();
    let [but @ .., last] = &calls[..] else { panic!("no calls") };
    assert!(but.len() > 6 && last.what == Use::Drain, "{calls:?}");
    for &call in but {
        assert!(completed_by_opens(Some(Mutant::Drop(call))).is_err(), "{call:?}");
    }
}

/// An open that relies on what it sees, and does not make it durable, is noticed in each case.
#[test]
fn an_open_that_flushes_nothing_is_noticed() {
    let made = [Make("first", 3)];
    // By their places: that of links stands before that of entries.
    let [link, state] = flushes_of_an_open(&made, "pool/directory/registry.rs")[..] else {
        panic!("two")
    };
    let [header] = flushes_of_an_open(&made, "pool/alloc/tails.rs")[..] else { panic!("one") };
    for op in [Make("another", 4), Drop("first"), Rename("first", LONG)] {
        assert!(killed(&op, Some(Mutant::Drop(state))).is_err(), "{op:?}");
    }
    assert!(made_behind_a_link(Some(Mutant::Drop(link))).is_err());
    assert!(taken_behind_a_shorter_run(Some(Mutant::Drop(header))).is_err());
}
