//! Both trees of numbers with records: the record of each write, and what was there before it, is crashed like the rest.
//!
//! ```text
//! ENDURA_SIM_SECONDS=3600 cargo test --release -p endura-sim --test campaign -- --ignored --nocapture records
//! ```

use endura_sim::choose::Chooser;
use endura_sim::explore::{Explorer, visible};
use endura_sim::model::Model;
use endura_sim::mutant::{Call, Mutant, Use};
use endura_sim::sim::Sim;
use endura_sim::subjects::{FairRecords, LIMIT, MapOp, NbRecords};
use endura_variants::{fast_fair, nbtree};

use crate::exhaustive::{LONG, ONE_CRASH, SHORT, TWO_CRASHES, add_starts, add_walks, assert_whole};
use crate::fast_fair::{FEW, MANY};
use crate::jobs::{self, Job, SMALL_GUARD};
use crate::killed::{assert_clean, killed};
use crate::kinds::Tried;
use crate::random::{self, explore, without_end};

type Fair = FairRecords<14, 14>;
type Nb = NbRecords<8, 4>;

/// Those of the tree, and those of a write that links a record. What is repaired is seldom: the tree alone crosses it.
fn steps(of_tree: &[&'static str]) -> Vec<&'static str> {
    let of_tree = of_tree.iter().copied().filter(|step| !step.starts_with("repair."));
    of_tree.chain(OWN).collect()
}

#[test]
fn every_crash_of_every_short_history_of_fast_fair_with_records() {
    let mut jobs = Vec::new();
    add_walks::<Fair>(&mut jobs, 12, 0, ONE_CRASH);
    FEW.into_iter().for_each(|starts| add_starts::<Fair>(&mut jobs, starts, 4, SHORT));
    let steps = steps(&fast_fair::STEPS);
    assert_whole(&jobs::run(jobs, SMALL_GUARD, &steps), &steps);
}

#[test]
fn every_crash_of_every_short_history_of_an_nbtree_with_records() {
    let mut jobs = Vec::new();
    add_walks::<Nb>(&mut jobs, 12, 0, ONE_CRASH);
    FEW.into_iter().for_each(|starts| add_starts::<Nb>(&mut jobs, starts, 5, SHORT));
    let steps = steps(&nbtree::STEPS);
    assert_whole(&jobs::run(jobs, SMALL_GUARD, &steps), &steps);
}

#[test]
#[ignore = "takes the time it is given: ENDURA_SIM_SECONDS"]
fn every_crash_of_every_history_of_three_operations_with_records() {
    let mut jobs: Vec<Job> = Vec::new();
    add_walks::<Fair>(&mut jobs, 12, 6, TWO_CRASHES);
    add_walks::<Nb>(&mut jobs, 12, 6, TWO_CRASHES);
    for starts in MANY {
        add_starts::<Fair>(&mut jobs, starts, 4, LONG);
        add_starts::<Nb>(&mut jobs, starts, 5, LONG);
    }
    assert_clean(&jobs::run(jobs, jobs::budget(), &[]));
}

const SHAPES: &[random::Shape] = &[
    ("fast & fair of 3", explore::<Fair>, 11),
    ("fast & fair of 6", explore::<FairRecords<20, 20>>, 20),
    ("nbtree of 3", explore::<Nb>, 14),
    ("nbtree of 7", explore::<NbRecords<16, 4>>, 26),
];

const OWN: [&str; 2] = ["write.found", "write.record"];

#[test]
fn crashes_of_random_histories_with_records() {
    jobs::run(random::jobs(SHAPES, 1..5), SMALL_GUARD, &OWN).assert_clean(&OWN);
}

#[test]
#[ignore = "takes the time it is given: ENDURA_SIM_SECONDS"]
fn crashes_of_random_histories_with_records_without_end() {
    without_end(SHAPES, &OWN);
}

#[test]
fn a_process_with_records_is_killed_and_then_the_power_fails() {
    let jobs = killed::<Fair>(false).chain(killed::<Nb>(false));
    let report = jobs::run(jobs, SMALL_GUARD, &[]);
    assert_clean(&report);
    assert!(report.sum(None).images > 1_000);
}

/// The calls of a write that links a record, in the files of the records and of the tree above the numbers.
fn calls_of_a_write<S: Tried<Key = u64>>(subject: &S, before: &[MapOp], op: MapOp) -> Vec<Call> {
    let explorer = Explorer::new(subject, Model::WEAKEST_ADR, LIMIT, ONE_CRASH, 1);
    let start = explorer.start(before).unwrap();
    let trace = explorer.trace(&start, &[]).unwrap();
    let left = visible(&trace, trace.events.len());
    let sim = Sim::after(Model::WEAKEST_ADR, LIMIT, &left, Chooser::first());
    let open = subject.open(sim.clone(), 3).unwrap();
    sim.count_calls();
    subject.apply(&open, &op).unwrap();
    let is_of_records = |call: &Call| {
        let file = call.site.file();
        file.contains("/records/") || file.contains("/record_tree/")
    };
    let changes = |call: &Call| !matches!(call.what, Use::Load);
    sim.calls().into_keys().filter(|call| is_of_records(call) && changes(call)).collect()
}

/// V1 of `docs/trees.md`: the record is written, flushed and fenced before anything leads to it. Each call of that is left out,
/// and the explorer notices.
fn each_call_is_missed<S: Tried<Key = u64>>(subject: &S) {
    let before: Vec<MapOp> = (1..=4).map(|i| MapOp::Put(10 * i, i)).collect();
    let ops = [MapOp::Put(25, 9), MapOp::Put(20, 10), MapOp::Put(45, 11)];
    let calls = calls_of_a_write(subject, &before, ops[0]);
    let has = |what| calls.iter().any(|call| call.what == what);
    assert!(has(Use::Fence) && has(Use::Flush) && has(Use::Store), "{calls:?}");
    for call in calls {
        let mut explorer = Explorer::new(subject, Model::WEAKEST_ADR, LIMIT, ONE_CRASH, 1);
        explorer.plant(Some(Mutant::Drop(call)));
        let found = match explorer.start(&before) {
            Ok(start) => ops.iter().any(|op| explorer.explore(&start, &[*op], 0).is_err()),
            Err(_) => true,
        };
        assert!(found, "nobody misses the {:?} at {}", call.what, call.site);
    }
}

#[test]
fn each_call_that_makes_a_record_durable_is_missed() {
    let keys = || (1..=24).map(|i| 5 * i).collect();
    each_call_is_missed(&Fair::about(keys()));
    each_call_is_missed(&Nb::about(keys()));
}
