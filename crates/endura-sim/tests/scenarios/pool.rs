//! Chunks and pages.

use std::collections::BTreeSet;
use std::sync::Arc;

use endura_engine::Error;
use endura_engine::media::{Media, Ordering, Region};
use endura_engine::space::{PAGE, Session, Space};
use endura_sim::aftermath::Aftermath;
use endura_sim::choose::Chooser;
use endura_sim::event::Action;
use endura_sim::explore::Explorer;
use endura_sim::model::Model;
use endura_sim::mutant::{Call, Mutant, Use};
use endura_sim::schedule::{Strategy, Thread, pause, run};
use endura_sim::sim::Sim;
use endura_sim::subject::{Finding, Subject};
use endura_sim::subjects::pool::histories::full;
use endura_sim::subjects::pool::{PoolModel, PoolOp, PoolSpace, SIZES};
use endura_sim::subjects::{FastFair, LIMIT, MapOp};
use endura_sim::tally::Tally;

use PoolOp::{Link, Probe, Relieve, Unlink};

use super::{MODELS, ONE_CRASH, TWO_CRASHES, around, tens};

const POOL_LIMIT: u64 = 32 * PAGE;

fn pool(model: Model, before: &[PoolOp], ops: &[PoolOp]) -> Tally {
    let mut explorer = Explorer::new(&PoolSpace, model, POOL_LIMIT, TWO_CRASHES, 1);
    let start = explorer.start(before).unwrap_or_else(|failure| panic!("{failure}"));
    explorer.explore(&start, ops, 0).unwrap_or_else(|failure| panic!("{failure}"));
    explorer.tally
}

/// A7. A node is unlinked by a merge, and its chunk becomes another node by a split, in one session. The
/// chunk reads as nothing once it is handed out, so a crash that took the unlink back would lead into it.
#[test]
fn a7_a_chunk_is_not_used_again_before_its_unlink_is_durable() {
    let subject = FastFair::<14, 14>::about(around(8));
    for model in MODELS {
        let mut explorer = Explorer::new(&subject, model, LIMIT, ONE_CRASH, 1);
        let start = explorer.start(&tens(4)).unwrap_or_else(|failure| panic!("{failure}"));
        let aftermath = Aftermath::certain(start.image.clone());
        let sim = Sim::after(model, LIMIT, &aftermath, Chooser::first());
        let open = subject.open(sim.clone(), 2).unwrap();
        let mut map = start.model.clone();
        let mut expect = vec![(0, vec![map.clone()])];
        let removes = [40, 30].map(MapOp::Remove);
        // More than the thread has in its cache.
        let puts = (0..4).map(|i| MapOp::Put(25 + i, i));
        let mut taken = Vec::new();
        for (i, op) in removes.into_iter().chain(puts).enumerate() {
            let before = map.clone();
            subject.specify(&mut map, &op);
            expect.push((sim.moment(), vec![before, map.clone()]));
            sim.note(Action::Begin(i));
            subject.apply(&open, &op).unwrap();
            sim.note(Action::Acknowledge(i));
            expect.push((sim.moment(), vec![map.clone()]));
            if i == 1 {
                open.space.relieve().unwrap();
            }
        }
        let trace = sim.take_trace();
        for event in &trace.events {
            if let Action::Fresh { at, .. } = event.action {
                taken.push(at);
            }
        }
        let was_node = |&&at: &&u64| start.image.word(at + 32) >> 32 == 0xFA57_FA18;
        assert!(taken.iter().filter(was_node).count() >= 1, "no chunk was used again: {taken:x?}");
        explorer
            .crash_trace(&trace, 0, |events| {
                expect.iter().rfind(|e| e.0 <= events).unwrap().1.clone()
            })
            .unwrap_or_else(|(finding, crashes)| panic!("{finding}\n{crashes:#?}"));
        assert!(explorer.tally.images > 20, "{:?}", explorer.tally);
    }
}

/// A10. The pages of a run that was freed are used one by one, as pages of spans; the header of each must be true in
/// every crash state (V15: a stale header would free a page that has a new owner).
#[test]
fn a10_pages_of_a_freed_run_become_pages_of_their_own() {
    let link = |slot, size| Link { slot, size };
    // Page 0 has no room for what follows.
    let before = [full(), vec![link(0, 5)]].concat();
    let ops = [
        Unlink(0),
        Relieve,
        link(1, 6),
        link(2, 3),
        link(3, 0),
        link(4, 3),
        Unlink(1),
        Unlink(2),
        Unlink(3),
        Relieve,
        Probe,
    ];
    for model in MODELS {
        let tally = pool(model, &before, &ops);
        for step in [
            "pool.large.free.rest",
            "pool.large.free.first",
            "pool.page.cut.table",
            "pool.page.cut",
            "pool.page.free",
        ] {
            assert!(tally.crossed.contains_key(step), "{step}: {:?}", tally.crossed);
        }
    }
}

/// A11. A span becomes empty and changes its class; a crash may leave the old header or the new one.
#[test]
fn a11_an_empty_span_changes_its_class() {
    let link = |slot, size| Link { slot, size };
    for sizes in [[0, 1, 2], [2, 0, 1], [1, 2, 0]] {
        let ops: Vec<PoolOp> =
            sizes.into_iter().flat_map(|size| [link(0, size), Unlink(0), Relieve]).collect();
        for model in MODELS {
            let tally = pool(model, &[], &ops);
            assert_eq!(tally.steps.get("pool.grow.next_page"), None, "the units were used again");
            assert!(tally.crossed.get("pool.span.take").is_some_and(|&n| n > 2), "{tally:?}");
        }
    }
}

/// What one thread of A12 does: takes a chunk that lies by itself and links it.
fn links_a_chunk(space: &Arc<Space<Sim>>, table: u64, slot: usize, size: usize) -> Thread {
    let space = Arc::clone(space);
    Box::new(move || {
        let (medium, bytes) = (space.media(), SIZES[size]);
        let word = |at| Region::new(medium, at, 1).unwrap();
        let put = |at, value| {
            word(at).store(0, value, Ordering::Release);
            word(at).flush(0, 1);
        };
        medium.note(Action::Begin(slot));
        let at = space.pin_mut().unwrap().alloc(bytes).map_err(|error| error.to_string())?;
        let link = at << 3 | (size as u64 + 1);
        put(at, link);
        put(at + bytes / 8 * 8 - 8, !link);
        medium.fence();
        put(table + 8 * slot as u64, link);
        medium.drain();
        medium.note(Action::Acknowledge(slot));
        Ok(())
    })
}

/// Two threads link a chunk each, one of which stands still at its `nth` move while the other one works; with a crash
/// anywhere. How many images there were; the calls in `calls`.
fn two_threads_link(
    (model, size, nth): (Model, usize, usize),
    mutant: Option<Mutant>,
    calls: &mut BTreeSet<Call>,
) -> Result<u64, Finding> {
    let mut explorer = Explorer::new(&PoolSpace, model, POOL_LIMIT, ONE_CRASH, nth as u64);
    let start = explorer.start(&[]).unwrap_or_else(|failure| panic!("{failure}"));
    let aftermath = Aftermath::certain(start.image.clone());
    let sim = Sim::after(model, POOL_LIMIT, &aftermath, Chooser::first()).with_pause(pause());
    sim.set_poison(None);
    let generation = (start.image.word(0) >> 8) + 1;
    let session = Session { generation, clean: false, read_only: false };
    let space = Arc::new(Space::mount(sim.clone(), session).unwrap());
    let table = space.find_map("links").unwrap().unwrap().spare();
    sim.plant(mutant);
    sim.count_calls();
    let threads = (0..2).map(|slot| links_a_chunk(&space, table, slot, size)).collect();
    run(threads, Strategy::StopAt { thread: 0, step: "", nth }, 1)?;
    calls.extend(sim.calls().into_keys());
    let trace = sim.take_trace();
    let expect = |events: usize| {
        let happened = |action| trace.events[..events].iter().any(|e| e.action == action);
        let mut all = vec![PoolModel::default()];
        for slot in 0..2 {
            let linked = |mut model: PoolModel| {
                model.links.insert(slot, size);
                model
            };
            if happened(Action::Acknowledge(slot)) {
                all = all.into_iter().map(linked).collect();
            } else if happened(Action::Begin(slot)) {
                all.extend(all.clone().into_iter().map(linked));
            }
        }
        all
    };
    let crashed = explorer.crash_trace(&trace, 0, expect);
    crashed.map_err(|(finding, crashes)| format!("{nth}: {finding}\n{crashes:#?}"))?;
    Ok(explorer.tally.images)
}

/// A12. Two threads let the pool grow at once, and one stands still anywhere while the other links a chunk of
/// the new pages. A crash then must not make those pages free (V14: NEXT_PAGE was seen, and not durable).
/// (Not under eADR: what one thread stored before it let go of a lock has left its store buffer when the
/// other one has the lock, and a medium hears nothing of locks.)
#[test]
fn a12_two_threads_take_pages_at_once() {
    let mut images = 0;
    for model in [Model::WEAKEST_ADR, Model::PAGE_CACHE] {
        for nth in 1..60 {
            let linked = two_threads_link((model, 4, nth), None, &mut BTreeSet::new());
            images += linked.unwrap_or_else(|finding| panic!("{finding}"));
        }
    }
    assert!(images > 1_000, "{images}");
}

/// The same with spans of one page: the second thread takes its span from what the first one has left. A crash then must
/// not make that one free (V14 again: the rest's FREE, or the word in front of it, was seen, and not durable). Each
/// flush, fence and drain between the two counts.
#[test]
fn a12_two_threads_take_spans_at_once() {
    let (mut images, mut calls) = (0, BTreeSet::new());
    for model in [Model::WEAKEST_ADR, Model::PAGE_CACHE] {
        for nth in 1..60 {
            let linked = two_threads_link((model, 3, nth), None, &mut calls);
            images += linked.unwrap_or_else(|finding| panic!("{finding}"));
        }
    }
    assert!(images > 1_000, "{images}");
    calls.retain(|call| {
        let is_meant = |file| call.site.file().ends_with(file);
        matches!(call.what, Use::Flush | Use::Fence | Use::Drain)
            && ["alloc/spans.rs", "alloc/page/table.rs"].into_iter().any(is_meant)
    });
    assert_eq!(calls.len(), 3, "{calls:?}");
    for &call in &calls {
        let mut plans = (1..60).map(|nth| (Model::WEAKEST_ADR, 3, nth));
        let fault = Some(Mutant::Drop(call));
        let is_noticed =
            plans.any(|plan| two_threads_link(plan, fault, &mut BTreeSet::new()).is_err());
        assert!(is_noticed, "nobody misses {call:?}");
    }
}

/// A17, below the trees. Each allocation in turn finds no room: whoever asked is told so, what was taken
/// before is given back, and nothing leaks.
#[test]
fn any_allocation_may_fail() {
    for n in 1.. {
        let medium = Sim::new(Model::PAGE_CACHE, 12 * PAGE);
        medium.set_poison(None);
        Space::format(&medium).unwrap();
        let session = Session { generation: 1, clean: true, read_only: false };
        let space = Space::mount(medium, session).unwrap();
        space.media().refuse(n);
        let mut failed = 0;
        let made = space.open_map("m", 2, 0, |guard, _| {
            let first = guard.alloc(512)?;
            let second = guard.alloc(512).inspect_err(|_| guard.discard(first, 512))?;
            guard.discard(second, 512);
            guard.discard(first, 512);
            Ok(0)
        });
        failed += usize::from(made.is_err());
        assert_eq!(space.find_map("m").unwrap().is_some(), made.is_ok());
        for bytes in SIZES {
            let at = space.pin_mut().unwrap().alloc(bytes);
            failed += usize::from(matches!(at, Err(Error::Full { .. })));
            let at = at.or_else(|_| space.pin_mut()?.alloc(bytes)).unwrap();
            space.pin_mut().unwrap().discard(at, bytes);
        }
        let shares = space.quiesce().unwrap().check().unwrap().finish().unwrap();
        assert_eq!(shares.leaked, 0);
        if failed == 0 {
            let refused = 2 + SIZES.len() as u64;
            assert_eq!(n, refused + 1, "each allocation was refused, one in each round");
            return;
        }
        assert_eq!(failed, 1);
    }
}
