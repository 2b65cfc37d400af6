//! FAST & FAIR of byte strings: nodes of four entries, with words of one byte, so that words often cannot divide a leaf, and
//! with words of seven; and with words of one byte and the two bytes that a reference has.
//!
//! ```text
//! ENDURA_SIM_SECONDS=3600 cargo test --release -p endura-sim --test campaign -- --ignored --nocapture fair_bytes
//! ```

use endura_engine::tree::fast_fair_bytes::Tree;
use endura_engine::tree::key_word::{One, OneAndTwo, Seven};
use endura_engine::tree::{ByteChange, ByteIndex};
use endura_sim::aftermath::Aftermath;
use endura_sim::choose::Chooser;
use endura_sim::event::{Action, Event};
use endura_sim::explore::{Explorer, visible};
use endura_sim::model::Model;
use endura_sim::sim::{Sim, act_as};
use endura_sim::subject::Subject;
use endura_sim::subjects::{FairBytes, LIMIT, MapOp};
use endura_variants::sessions;
use std::collections::BTreeSet;

use crate::exhaustive::{KILLS, LONG, ONE_CRASH, Plan, TWO_CRASHES, add_starts, add_walks};
use crate::fast_fair::{FEW, MANY};
use crate::jobs::{self, Job, SMALL_GUARD};
use crate::killed::{assert_clean, killed};
use crate::random::{self, explore, without_end};

type Ties = FairBytes<24, 24, One>;
type Continued = FairBytes<24, 24, OneAndTwo>;
type Words = FairBytes<24, 24, Seven>;

const SHORTEST: Plan = Plan { longest: 1, twice: 1 };

/// What a crash can cut through.
const STEPS: [&str; 21] = [
    "fast_delete.commit",
    "fast_delete.shift",
    "fast_insert.commit",
    "fast_insert.shift",
    "lock.taken",
    "merge.M1",
    "merge.M2",
    "post.P1",
    "post.P2",
    "post.prefix",
    "read.inner",
    "replace.R1",
    "replace.R2",
    "replace.R2.durable",
    "root.grow",
    "settle.R3",
    "settle.R4",
    "split.S2",
    "split.S3.high",
    "split.S3.sib",
    "split.S3.tag",
];

#[test]
fn every_crash_of_every_short_history_of_byte_strings() {
    let mut jobs = Vec::new();
    // Walks last: if the time is up, they go on until each step was crossed.
    FEW.into_iter().for_each(|starts| add_starts::<Ties>(&mut jobs, starts, 4, SHORTEST));
    add_walks::<Words>(&mut jobs, 12, 0, ONE_CRASH);
    add_walks::<Ties>(&mut jobs, 20, 0, ONE_CRASH);
    add_walks::<Continued>(&mut jobs, 8, 0, ONE_CRASH);
    jobs::run(jobs, SMALL_GUARD, &STEPS).assert_clean(&STEPS);
}

#[test]
#[ignore = "takes the time it is given: ENDURA_SIM_SECONDS"]
fn every_crash_of_every_history_of_three_operations_on_fair_bytes() {
    let mut jobs: Vec<Job> = Vec::new();
    add_walks::<Ties>(&mut jobs, 12, 6, TWO_CRASHES);
    add_walks::<Words>(&mut jobs, 12, 6, TWO_CRASHES);
    add_walks::<Continued>(&mut jobs, 12, 6, TWO_CRASHES);
    for starts in MANY {
        add_starts::<Ties>(&mut jobs, starts, 5, LONG);
        add_starts::<Words>(&mut jobs, starts, 5, LONG);
    }
    assert_clean(&jobs::run(jobs, jobs::budget(), &[]));
}

const SHAPES: &[random::Shape] = &[
    ("ties, 4 in a node", explore::<Ties>, 14),
    ("ties, 6 in a node", explore::<FairBytes<28, 28, One>>, 20),
    ("words, 4 in a node", explore::<Words>, 14),
    ("ties and continuations, 4 in a node", explore::<Continued>, 14),
    ("ties, 4 in inner nodes, 7 below", explore::<FairBytes<24, 30, One>>, 23),
];

#[test]
fn crashes_of_random_histories_of_byte_strings() {
    jobs::run(random::jobs(SHAPES, 1..5), SMALL_GUARD, &STEPS).assert_clean(&STEPS);
}

#[test]
#[ignore = "takes the time it is given: ENDURA_SIM_SECONDS"]
fn crashes_of_random_histories_of_fair_bytes_without_end() {
    without_end(SHAPES, &STEPS);
}

#[test]
fn a_process_with_byte_strings_is_killed_and_then_the_power_fails() {
    let report = jobs::run(killed::<Ties>(false), SMALL_GUARD, &[]);
    assert_clean(&report);
    assert!(report.sum(None).images > 1_000);
}

/// A process is killed when it has replaced an inner node that is not the first one of its level, and this is not durable. The
/// next process leads the parent and the left sibling past the signpost.
#[test]
fn a_signpost_is_durable_before_anything_is_led_past_it() {
    let model = Model::WEAKEST_ADR;
    let before: Vec<MapOp> = (1..=32).map(|i| MapOp::Put(10 * i, i)).collect();
    let (op, next) = (MapOp::Put(330, 9), MapOp::Put(325, 77));
    let subject = Ties::about(
        (1..=33).map(|i| 10 * i).chain([325]).collect::<BTreeSet<_>>().into_iter().collect(),
    );
    let mut explorer = Explorer::new(&subject, model, LIMIT, KILLS, 1);
    let start = explorer.start(&before).unwrap();
    let mut trace = explorer.trace(&start, &[op]).unwrap();
    let replaces = |event: &Event| event.action == Action::Step("replace.R2");
    let killed = trace.events.iter().rposition(replaces).unwrap();
    trace.events.truncate(killed);
    let sim = Sim::after(model, LIMIT, &visible(&trace, killed), Chooser::first());
    // Its fences do not wait for the flushes of the one before.
    act_as(3);
    let open = subject.open(sim.clone(), 3).unwrap();
    subject.apply(&open, &next).unwrap();
    act_as(0);
    trace.events.extend(sim.take_trace().events);
    assert!(trace.events[killed..].iter().any(|e| e.action == Action::Step("settle.R4")));
    let mut expected = vec![start.model.clone()];
    for op in [op, next] {
        let mut after = expected.last().unwrap().clone();
        subject.specify(&mut after, &op);
        expected.push(after);
    }
    let crashed = explorer.crash_session(3, &trace, killed, |_| expected.clone());
    crashed.unwrap_or_else(|(finding, crashes)| panic!("{finding}: {crashes:?}"));
}

/// What a session does with a key.
type Act<'k> = (&'k str, ByteChange<'static>);

fn put(key: &str) -> Act<'_> {
    (key, ByteChange::Put(b"value".into()))
}

/// A session on what the last one has left. Returns what it leaves, and how many signposts are in the tree after each change.
/// It ends at `step`, if there is one.
fn session(
    left: &Aftermath,
    number: u64,
    acts: &[Act<'_>],
    step: Option<&str>,
) -> (Aftermath, Vec<u64>) {
    let sim = Sim::after(Model::PAGE_CACHE, LIMIT, left, Chooser::first());
    let space = sessions::begin(sim.clone(), number, false).unwrap();
    let tree = Tree::<_, 24, 24, One>::open(&space, "t").unwrap();
    let mut signposts = Vec::new();
    for (key, change) in acts {
        tree.apply(key.as_bytes(), |_| change.clone()).unwrap();
        signposts.push(tree.check(&mut |_, _| {}).unwrap().repairs.unsettled_siblings);
    }
    let trace = sim.trace();
    let is_end = |action| matches!(action, Action::Step(name) if Some(name) == step);
    let end = trace.events.iter().position(|event| is_end(event.action));
    assert_eq!(end.is_some(), step.is_some());
    (visible(&trace, end.unwrap_or(trace.events.len())), signposts)
}

/// A pool with an empty directory.
fn formatted() -> Aftermath {
    let sim = Sim::new(Model::PAGE_CACHE, LIMIT);
    endura_engine::space::Space::format(&sim).unwrap();
    Aftermath::certain(sim.image())
}

/// Two sessions end right after they have replaced a leaf, the second one that by which the first one has replaced another.
/// A signpost that another signpost leads to can only be settled after that one.
#[test]
fn signposts_in_a_row_are_settled_by_the_next_writer() {
    let mut left = formatted();
    // A full leaf, whose words do not tell its keys apart under any prefix that it gets.
    for (number, key) in (1..).zip(["aab1", "aab2", "aab3", "aab4"]) {
        left = session(&left, number, &[put(key)], None).0;
    }
    left = session(&left, 5, &[put("aac")], Some("replace.R2.durable")).0;
    left = session(&left, 6, &[put("aab0")], Some("replace.R2.durable")).0;
    let sim = Sim::after(Model::PAGE_CACHE, LIMIT, &left, Chooser::first());
    let space = sessions::begin(sim, 7, false).unwrap();
    let tree = Tree::<_, 24, 24, One>::open(&space, "t").unwrap();
    assert_eq!(tree.check(&mut |_, _| {}).unwrap().repairs.unsettled_siblings, 2);
    assert_eq!(session(&left, 7, &[put("aab00")], None).1, [0]);
}

/// A tree in which a session has ended between R3 and R4. The parent leads past the signpost, so that no search comes through
/// it, and the left sibling leads to it. Returns the keys as well.
fn ended_between_r3_and_r4() -> (Aftermath, Vec<String>) {
    let mut keys: Vec<String> = (0..8).map(|i| format!("aa{i}")).collect();
    // Their leaf is not the first one of its level.
    keys.extend((1..=4).map(|i| format!("ab0000{i}")));
    let acts: Vec<_> = keys.iter().map(|key| put(key)).collect();
    let left = session(&formatted(), 1, &acts, None).0;
    let key = "ab00000";
    assert_eq!(session(&left, 2, &[put(key)], Some("settle.R4")).1, [0]);
    keys.push(key.into());
    (session(&left, 2, &[put(key)], Some("settle.R3")).0, keys)
}

/// The node by which the signpost was replaced is replaced again and again: this settles the signpost first.
#[test]
fn a_signpost_that_the_left_sibling_alone_leads_to_is_settled_before_those_behind_it() {
    let (mut left, _) = ended_between_r3_and_r4();
    let mut most = 0;
    for number in 3..11 {
        // All of them come into the first of the nodes, which has the lower fence of the signpost.
        let letter = char::from(b'z' - number as u8);
        let keys: Vec<String> = (0..4).map(|i| format!("ab00000{letter}{i}")).collect();
        let acts: Vec<_> = keys.iter().map(|key| put(key)).collect();
        let (next, signposts) = session(&left, number, &acts, None);
        println!("{number}: {signposts:?}");
        (left, most) = (next, most.max(signposts.into_iter().max().unwrap()));
    }
    assert_eq!(most, 1);
}

/// The left sibling and the node by which the signpost was replaced become one.
#[test]
fn a_signpost_that_the_left_sibling_alone_leads_to_stops_no_merge() {
    let (left, keys) = ended_between_r3_and_r4();
    let acts: Vec<_> = keys.iter().map(|key| (&key[..], ByteChange::Remove)).collect();
    let (_, signposts) = session(&left, 3, &acts, None);
    assert_eq!((signposts.first(), signposts.last()), (Some(&1), Some(&0)), "{signposts:?}");
}
