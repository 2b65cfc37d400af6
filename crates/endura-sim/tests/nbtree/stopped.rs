//! Scenarios in which one thread stands still at a step, the others run to their end, and the power
//! fails at every moment: N17, the traces that the published tree loses (`nbsmo2`, `nbsmo3`), and those
//! that our own plan lost (V1 to V7). All must pass; and with the flush taken away that each of them is
//! about, it must not.

use endura_sim::model::Model;
use endura_sim::mutant::{Call, Mutant, Use};
use endura_sim::mutate::Place;
use endura_sim::schedule::{Campaign, Figures, Plan, Strategy, Task, Unsound, Way};
use endura_sim::subjects::{LIMIT, MapOp, NumberTree, Numbers};

use crate::{Slots3, Slots7, keys};

/// Threads, of which number 0 stops at each of `steps` in turn.
struct Scenario {
    name: &'static str,
    before: Vec<MapOp>,
    threads: Vec<Vec<Task>>,
    steps: Vec<&'static str>,
}

/// What a hunt was about, and the calls that it came across.
type Outcome = Result<(Figures, Vec<Call>), Box<Unsound>>;

impl Scenario {
    /// Runs it at the first two visits of each step, crashed everywhere, on the weakest hardware.
    fn run<T: NumberTree>(&self, subject: Numbers<T>, mutant: Option<Mutant>) -> Outcome {
        let mut campaign = Campaign::new(subject, Model::WEAKEST_ADR, LIMIT, usize::MAX);
        campaign.plant(mutant);
        campaign.count_calls();
        for &step in &self.steps {
            for nth in 1..=2 {
                let strategy = Strategy::StopAt { thread: 0, step, nth };
                let (before, threads) = (self.before.clone(), self.threads.clone());
                campaign.plan(&Plan { before, threads, strategy, seed: 1 })?;
            }
            let met = campaign.figures.tally.steps.contains_key(step);
            assert!(mutant.is_some() || met, "{}: {step} is never reached", self.name);
        }
        Ok((campaign.figures.clone(), campaign.calls().made.keys().copied().collect()))
    }

    /// Passes as it is, and fails without the flushes that `function` of `file` makes in the lines with `text`.
    fn needs(&self, function: &'static str, text: &'static str) {
        self.needs_of(Slots3::about(keys()), function, text);
    }

    fn needs_of<T: NumberTree>(
        &self,
        subject: Numbers<T>,
        function: &'static str,
        text: &'static str,
    ) {
        let ran = self.run(subject.clone(), None);
        let (figures, calls) = ran.unwrap_or_else(|found| panic!("{}: {found}", self.name));
        assert!(figures.tally.images > 4, "{}: {figures:?}", self.name);
        let is_there = Place { folder: "nbtree", function, text }.finder();
        let is_it = |call: &&Call| call.what == Use::Flush && is_there(call);
        let call = calls.iter().find(is_it).unwrap_or_else(|| panic!("{}: {text}", self.name));
        let found = self.run(subject, Some(Mutant::Drop(*call)));
        assert!(found.is_err(), "{}: nothing is found without `{text}`", self.name);
    }

    fn passes(&self) {
        let ran = self.run(Slots3::about(keys()), None);
        let (figures, _) = ran.unwrap_or_else(|found| panic!("{}: {found}", self.name));
        assert!(figures.tally.images > 4, "{}: {figures:?}", self.name);
    }
}

fn put(keys: impl IntoIterator<Item = u64>) -> Vec<MapOp> {
    keys.into_iter().map(|key| MapOp::Put(key, key)).collect()
}

const CHANGE: [&str; 8] = [
    "change.S0",
    "change.S1",
    "change.S3",
    "change.S4",
    "settle.S5",
    "settle.S6",
    "settle.S7",
    "settle.S8",
];

/// N17. A writer stands between its store and its flush; whoever reads the value, or its absence, is told
/// so for good.
#[test]
fn n17_what_a_reader_was_told_outlives_a_crash() {
    let readers = vec![Task::Get(10), Task::Get(20), Task::GetMany([10, 20, 30])];
    let acts = [
        ("an update", Task::Replace(10, 901), "alter.durable"),
        ("a remove", Task::Remove(10), "alter.durable"),
        ("an insert", Task::Put(20, 902), "insert.durable"),
    ];
    for (name, act, step) in acts {
        let threads = vec![vec![act], readers.clone()];
        let scenario = Scenario { name, before: put([10, 30]), threads, steps: vec![step] };
        scenario.needs("settle_answer", "help_flush_slot");
    }
    for way in [Way::Up, Way::Down] {
        let from = if way == Way::Up { 0 } else { u64::MAX };
        let threads = vec![vec![Task::Remove(10)], vec![Task::Scan(way, from)]];
        let (name, steps) = ("a remove and a scan", vec!["alter.durable"]);
        let scenario = Scenario { name, before: put([10, 30]), threads, steps };
        scenario.needs("scan_leaf", "help_flush");
    }
}

/// N17, the second half. What the writer has not flushed is copied by a change, and read from the copy, in
/// which no writer is in flight.
#[test]
fn n17_what_was_copied_before_it_was_flushed_is_durable() {
    let others = vec![Task::Put(40, 904), Task::Get(10), Task::Put(50, 905), Task::Get(10)];
    let threads = vec![vec![Task::Replace(10, 901)], others];
    let (name, steps) = ("a change around an update", vec!["alter.durable"]);
    Scenario { name, before: put([10, 20, 30]), threads, steps }.passes();
}

/// `nbsmo2`: an update during the copy, and one that stores the earlier value again. The published sync phase
/// takes the second for not copied yet, and puts the first in its place.
#[test]
fn nbsmo2_an_update_to_an_earlier_value_is_not_lost() {
    let before = vec![MapOp::Put(10, 0), MapOp::Put(20, 0), MapOp::Put(30, 0)];
    let updates = vec![
        Task::Replace(10, 1),
        Task::Get(10),
        Task::Replace(10, 0),
        Task::Get(10),
        Task::Get(20),
    ];
    let others = vec![Task::Replace(10, 0), Task::Get(10)];
    for threads in [
        vec![vec![Task::Put(40, 0)], updates.clone()],
        vec![vec![Task::Put(40, 0)], updates, others],
    ] {
        let (name, before) = ("nbsmo2", before.clone());
        Scenario { name, before, threads, steps: CHANGE.to_vec() }.passes();
    }
}

/// `nbsmo3`: a reader stands between its two looks; the published one repairs the copy from what it saw, and
/// undoes an update that has returned.
#[test]
fn nbsmo3_a_reader_that_slept_undoes_no_update() {
    let before = vec![MapOp::Put(10, 0), MapOp::Put(20, 0), MapOp::Put(30, 0)];
    let writes = vec![
        Task::Replace(10, 1),
        Task::Put(40, 0),
        Task::Get(10),
        Task::Put(50, 0),
        Task::Get(10),
    ];
    let threads = vec![vec![Task::Get(10), Task::Get(10)], writes];
    Scenario { name: "nbsmo3", before, threads, steps: vec!["read.leaf"] }.passes();
}

/// V1: what is acknowledged behind a change that is not linked. V2: a change that stands before the block before
/// it is adjusted, while that one is replaced and merged.
#[test]
fn v1_v2_neighbours_change_around_a_change_that_stands() {
    let before = put([10, 20, 30, 40, 50, 60]);
    let around: [Vec<Task>; 3] = [
        vec![
            Task::Put(70, 7),
            Task::Put(80, 8),
            Task::Put(90, 9),
            Task::Get(80),
            Task::Put(100, 1),
        ],
        vec![Task::Replace(10, 7), Task::Remove(20), Task::Remove(30), Task::Put(20, 8)],
        vec![Task::Remove(60), Task::Remove(50), Task::Remove(40), Task::Put(50, 8), Task::Get(50)],
    ];
    for others in around {
        let threads = vec![vec![Task::Put(70, 3), Task::Put(80, 3), Task::Put(90, 3)], others];
        Scenario { name: "V1, V2", before: before.clone(), threads, steps: CHANGE.to_vec() }
            .passes();
    }
}

/// V1, planted: a change that is not made durable before others build on it.
#[test]
fn v1_a_change_is_durable_before_its_copy_is_written_to() {
    let threads = vec![vec![Task::Put(40, 3)], vec![Task::Put(50, 5), Task::Replace(10, 4)]];
    let steps = vec!["settle.S5", "settle.S6"];
    let scenario = Scenario { name: "V1", before: put([10, 20, 30]), threads, steps };
    scenario.needs("link", "flush_next");
}

/// V3, V4: inner nodes split and join, and the root grows, around a change or a merge that stands.
#[test]
fn v3_v4_inner_nodes_change_around_a_merge_that_stands() {
    let before = put(keys());
    let others = [
        vec![Task::Put(15, 1), Task::Put(25, 1), Task::Put(35, 1), Task::Put(45, 1), Task::Get(30)],
        vec![
            Task::Remove(70),
            Task::Remove(80),
            Task::Remove(90),
            Task::Remove(100),
            Task::Get(60),
        ],
    ];
    let first = vec![Task::Remove(40), Task::Remove(50), Task::Remove(30), Task::Remove(60)];
    for others in others {
        let steps =
            vec!["merge.M1", "merge.M2", "reroute.cell", "change.S4", "settle.S5", "settle.S6"];
        let threads = vec![first.clone(), others];
        Scenario { name: "V3, V4", before: before.clone(), threads, steps }.passes();
    }
}

/// V5: an insert that stands is completed by another and removed.
#[test]
fn v5_an_insert_that_is_helped_and_removed_happens_once() {
    let others = vec![Task::PutNew(20, 2), Task::Remove(20), Task::Get(20)];
    let threads = vec![vec![Task::Put(20, 1)], others];
    let steps = vec!["insert.I3", "insert.I4", "insert.I5", "insert.durable"];
    Scenario { name: "V5", before: put([10]), threads, steps }.passes();
}

/// V6: a remove that is seen and not durable, and an insert of the same key: after a crash there is one entry.
/// (In blocks of two lines, the first of which is full of keys that are at home there: within one line the second
/// would follow the first.)
#[test]
fn v6_a_removed_entry_does_not_come_back_beside_the_new_one() {
    let threads = vec![vec![Task::Remove(10)], vec![Task::Put(10, 7)]];
    let (before, steps) = (put([10, 20, 60, 30]), vec!["alter.durable"]);
    let scenario = Scenario { name: "V6", before, threads, steps };
    scenario.passes();
    scenario.needs_of(Slots7::about(keys()), "commit", "help_flush_slot");
}

/// V7: a remove that is seen and not durable, and another remove, which answers that nothing is there.
#[test]
fn v7_a_writer_that_says_absent_has_made_it_so() {
    for answer in [Task::Remove(10), Task::Replace(10, 5)] {
        let threads = vec![vec![Task::Remove(10)], vec![answer]];
        let steps = vec!["alter.durable"];
        let scenario = Scenario { name: "V7", before: put([10, 20]), threads, steps };
        scenario.needs("settle_answer", "help_flush_slot");
    }
}

/// N9. An insert stands before its slot is written, or marked, while its block is replaced and memory is
/// taken, written over and given back: what it writes when it goes on is in nobody else's memory. (A
/// chunk that is handed out is poisoned; the trees and the free chunks are gone through at the end.)
#[test]
fn n9_memory_that_a_stopped_insert_writes_to_is_not_used_again() {
    let churn = (0..10).flat_map(|round| {
        let puts = [41, 42, 43, 44, 45, 46].map(|key| Task::Put(key, round));
        let removes = [41, 42, 43, 44, 45, 46].map(Task::Remove);
        puts.into_iter().chain(removes).chain([Task::Scribble, Task::Scribble])
    });
    let threads = vec![vec![Task::Put(40, 3), Task::Get(40)], churn.collect()];
    let subject = Slots3::about((10..=60).collect());
    let campaign = Campaign::new(subject, Model::WEAKEST_ADR, LIMIT, 6);
    let mut campaign = campaign.with_fresh_starts();
    for step in ["insert.I2", "insert.I3", "insert.I4", "insert.I5", "change.S1", "change.S3"] {
        for before in [put([10, 20]), put([10, 20, 30])] {
            let strategy = Strategy::StopAt { thread: 0, step, nth: 1 };
            let plan = Plan { before, threads: threads.clone(), strategy, seed: 1 };
            campaign.plan(&plan).unwrap_or_else(|found| panic!("N9: {found}"));
        }
        assert!(campaign.figures.tally.steps.contains_key(step), "{step}");
    }
}
