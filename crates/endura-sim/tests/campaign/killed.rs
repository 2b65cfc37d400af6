//! A process is killed after each store of an operation; the next one reads or writes, and is killed as
//! well; then the power fails. What anybody was told before outlives it.
//!
//! (Only under ADR: where the caches are durable, all that was visible is.)

use endura_sim::choose::Chooser;
use endura_sim::event::Action;
use endura_sim::explore::{Explorer, Next, visible};
use endura_sim::model::Model;
use endura_sim::mutant::{Call, Mutant, Use};
use endura_sim::sim::Sim;
use endura_sim::subject::Subject;
use endura_sim::subjects::{FastFair, LIMIT, MapOp};

use MapOp::{PopFirst, PopLast, Put, Remove};

use crate::exhaustive::{KILLS, kill_job};
use crate::jobs::Job;
use crate::kinds::Tried;
use crate::report::CampaignTally;

/// Trees whose operations shift, split, merge, and change the height.
fn starts() -> Vec<(Vec<MapOp>, Vec<MapOp>)> {
    let tens = |count: u64| (1..=count).map(|i| Put(10 * i, i)).collect::<Vec<_>>();
    let drained = |count: u64, left: &[u64]| {
        let gone = (1..=count).map(|i| 10 * i).filter(|key| !left.contains(key));
        tens(count).into_iter().chain(gone.map(Remove)).collect::<Vec<_>>()
    };
    vec![
        (tens(2), vec![Put(5, 9), Put(10, 9), Remove(10)]),
        (tens(4), vec![Put(5, 9), Put(15, 9), Put(45, 9), Remove(20), PopFirst, PopLast]),
        (tens(6), vec![Put(25, 9), Put(65, 9)]),
        (tens(10), vec![Put(95, 9), Put(105, 9)]),
        (drained(6, &[10, 60]), vec![Remove(60), Remove(10)]),
        (drained(12, &[10, 50]), vec![Remove(50), Remove(10), PopFirst, PopLast]),
    ]
}

/// What the next processes do: read; write next to what was going on, without a look; both, twice.
fn next(op: MapOp) -> Vec<Vec<Next<MapOp>>> {
    let key = op.about().copied().unwrap_or(10);
    let read = Next { looks: true, ops: Vec::new() };
    let write = |ops: &[MapOp]| Next { looks: false, ops: ops.to_vec() };
    let one = |op| write(&[op]);
    vec![
        vec![read.clone()],
        vec![one(Put(key, 77))],
        vec![one(Remove(key))],
        vec![write(&[PopFirst, PopLast])],
        vec![one(Put(key + 1, 77))],
        vec![one(Put(key - 4, 77))],
        vec![write(&[Remove(10), Put(20, 77), Put(33, 78), Remove(40), Put(50, 79)])],
        vec![write(&[Put(60, 77), Put(7, 78), Remove(20), Remove(30)])],
        vec![Next { looks: true, ops: vec![Put(key, 77), Remove(20)] }],
        vec![one(Put(key, 76)), one(Remove(key))],
        vec![one(Remove(key)), read],
    ]
}

pub(crate) fn killed<S: Tried<Key = u64>>(all: bool) -> impl Iterator<Item = Job> {
    let jobs = starts()
        .into_iter()
        .flat_map(|(before, ops)| ops.into_iter().map(move |op| (before.clone(), op)));
    jobs.map(move |(before, op)| {
        let nexts = next(op).into_iter().filter(|next| all || next.len() == 1);
        kill_job(S::of((1..=24).map(|i| 5 * i).collect()), before, op, nexts.collect())
    })
}

pub(crate) fn assert_clean(report: &CampaignTally) {
    println!("{report}");
    assert_eq!(report.failure, None);
}

/// The calls that the first writer of a process makes to repair a leaf in which the last one was killed.
fn calls_of_a_repair(subject: &FastFair<14, 14>, before: &[MapOp], op: MapOp) -> Vec<Call> {
    let explorer = Explorer::new(subject, Model::WEAKEST_ADR, LIMIT, KILLS, 1);
    let start = explorer.start(before).unwrap();
    let trace = explorer.trace(&start, &[op]).unwrap();
    let begin = trace.events.iter().position(|e| e.action == Action::Begin(0)).unwrap();
    let stores = |e: &&_| matches!(e, Action::Store { .. });
    let actions: Vec<Action> = trace.events[begin..].iter().map(|e| e.action).collect();
    let first = actions.iter().position(|action| stores(&action)).unwrap();
    let left = visible(&trace, begin + first + 1);
    let sim = Sim::after(Model::WEAKEST_ADR, LIMIT, &left, Chooser::first());
    let open = subject.open(sim.clone(), 3).unwrap();
    sim.count_calls();
    subject.apply(&open, &op).unwrap();
    let calls = sim.calls().into_keys();
    calls.filter(|call| call.site.file().ends_with("repair.rs")).collect()
}

/// The explorer can fail: a repair that does not first make durable what it finds builds on sand.
#[test]
fn a_repair_that_flushes_nothing_is_noticed() {
    let subject = FastFair::<14, 14>::about((1..=24).map(|i| 5 * i).collect());
    let (before, ops) = starts().swap_remove(0);
    let calls = calls_of_a_repair(&subject, &before, ops[0]);
    for what in [Use::Flush, Use::Fence] {
        let call = *calls.iter().find(|call| call.what == what).unwrap();
        let mut explorer = Explorer::new(&subject, Model::WEAKEST_ADR, LIMIT, KILLS, 1);
        explorer.plant(Some(Mutant::Drop(call)));
        let start = explorer.start(&before).unwrap();
        let found = ops.iter().any(|op| {
            let mut ways = next(*op).into_iter();
            ways.any(|next| explorer.kill(&start, op, &next).is_err())
        });
        assert!(found, "nobody misses the {what:?} at {}", call.site);
    }
}
