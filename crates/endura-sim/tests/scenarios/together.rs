//! Several threads, and the power fails.

use endura_sim::model::Model;
use endura_sim::schedule::{Campaign, Figures, Plan, Strategy, Task, Way};
use endura_sim::subjects::{FastFair, LIMIT, MapOp};

use MapOp::Put;

use super::{around, tens};

/// Thread 0 stops at `step` each time that it comes there, and before each of its moves if `step` is empty;
/// the others run to their end; the schedule is crashed everywhere.
fn stopped(before: &[MapOp], threads: &[Vec<Task>], step: &'static str, most: usize) -> Figures {
    let mut sum = Figures::default();
    for model in [Model::WEAKEST_ADR, Model::EADR] {
        let subject = FastFair::<14, 14>::about(around(12));
        let mut campaign = Campaign::new(subject, model, LIMIT, usize::MAX);
        for nth in 1..=most {
            let strategy = Strategy::StopAt { thread: 0, step, nth };
            let (before, threads) = (before.to_vec(), threads.to_vec());
            let plan = Plan { before, threads, strategy, seed: 1 };
            let ran = campaign.plan(&plan).unwrap_or_else(|unsound| panic!("{unsound}"));
            // It ended before it came there so often.
            if ran.switches.is_empty() || (nth > 1 && ran.switches[0].0 + 2 >= ran.moves) {
                break;
            }
        }
        sum.add(&campaign.figures);
    }
    sum
}

/// A leaf of 10 and one of 30, under one parent.
fn sparse() -> Vec<MapOp> {
    tens(4).into_iter().chain([20, 40].map(MapOp::Remove)).collect()
}

/// F12. A writer stands in the middle of a shift, a split, a merge. Readers of every key of that node and its
/// neighbours end, and are right; what they were told outlives a crash right then.
#[test]
fn f12_readers_beside_a_writer_that_stands_still() {
    let read = |keys: std::ops::RangeInclusive<u64>| -> Vec<Task> {
        let tens: Vec<Task> = keys.map(|key| Task::Get(5 * key)).collect();
        tens.into_iter().chain([Task::Scan(Way::Up, 0), Task::Scan(Way::Down, u64::MAX)]).collect()
    };
    let cases: [(&str, Vec<MapOp>, Task); 9] = [
        ("fast_insert.shift", tens(2), Task::Put(5, 1_001)),
        ("fast_insert.commit", tens(2), Task::Put(5, 1_001)),
        ("fast_delete.shift", tens(3), Task::Remove(10)),
        ("fast_delete.commit", tens(3), Task::Remove(10)),
        ("split.S3.sib", tens(3), Task::Put(25, 1_001)),
        ("split.S3.high", tens(3), Task::Put(25, 1_001)),
        ("merge.M3", sparse(), Task::Remove(30)),
        ("merge.M4.sib", sparse(), Task::Remove(30)),
        ("merge.M4.high", sparse(), Task::Remove(30)),
    ];
    for (step, before, act) in cases {
        let figures = stopped(&before, &[vec![act], read(1..=9)], step, 3);
        let met = figures.tally.steps.get(step).copied().unwrap_or(0);
        assert!(met > 0 && figures.tally.images > 20, "{step}: {figures:?}");
    }
}

/// F13. A remove is visible and not durable. Whoever is told that the key is not there, is told so for good.
#[test]
fn f13_an_absent_key_stays_absent() {
    for before in [tens(1), tens(3), tens(4)] {
        for reader in [Task::Get(10), Task::GetMany([5, 10, 20]), Task::Scan(Way::Up, 0)] {
            let threads = [vec![Task::Remove(10)], vec![reader, Task::Get(10)]];
            let figures = stopped(&before, &threads, "", 120);
            assert!(figures.schedules > 40, "{figures:?}");
        }
    }
}

/// F15. A merge stands still after each of its steps, while others read in N, write to N by its stale parent,
/// split L, post N's separator, or merge L's left neighbour.
#[test]
fn f15_others_meet_a_merge_at_each_of_its_steps() {
    let before: Vec<MapOp> =
        tens(9).into_iter().chain([20, 40, 50, 70, 80].map(MapOp::Remove)).collect();
    let others: [Vec<Task>; 5] = [
        vec![Task::Get(30), Task::Get(35), Task::Get(60), Task::Scan(Way::Up, 0)],
        vec![Task::Put(31, 1_001), Task::Put(35, 1_002), Task::Get(31)],
        vec![Task::Put(11, 1_001), Task::Put(12, 1_002), Task::Put(13, 1_003)],
        vec![
            Task::Put(32, 1_001),
            Task::Put(33, 1_002),
            Task::Put(34, 1_003),
            Task::Put(36, 1_004),
        ],
        vec![Task::Remove(10), Task::Put(10, 1_001)],
    ];
    let steps = [
        "merge.M1",
        "merge.M2",
        "merge.M3",
        "merge.M4.sib",
        "merge.M4.high",
        "merge.M4.tag",
        "merge.M5",
    ];
    for step in steps {
        let mut met = 0;
        for other in &others {
            let figures = stopped(&before, &[vec![Task::Remove(30)], other.clone()], step, 2);
            met += figures.tally.steps.get(step).copied().unwrap_or(0);
        }
        assert!(met >= 10, "{step} {met}");
    }
}

/// F17. The root shrinks in one thread, or grows, while others fill the tree.
#[test]
fn f17_the_root_comes_and_goes_beside_inserts() {
    let fill: Vec<Task> = (1..=4).map(|i| Task::Put(100 + i, i)).collect();
    let drain: Vec<Task> = (3..=8).rev().map(|i| Task::Remove(10 * i)).collect();
    let grow: Vec<Task> = (9..=11).map(|i| Task::Put(10 * i, i)).collect();
    let shrinking = stopped(&tens(8), &[drain, fill.clone()], "root.shrink", 2);
    assert!(shrinking.tally.steps.contains_key("root.shrink"), "{shrinking:?}");
    for n in [4, 5, 6, 7] {
        let before: Vec<MapOp> = (1..=n).map(|i| Put(10 * i, i)).collect();
        stopped(&before, &[grow.clone(), fill.clone()], "root.grow", 2);
    }
    let growing = stopped(&tens(5), &[grow, fill], "root.grow", 2);
    assert!(growing.tally.steps.contains_key("root.grow"), "{growing:?}");
}

/// A writer stands still before each of its moves, while another thread reads or writes and the power fails;
/// the tree is one whose leaf, and then whose root, splits or is merged away. What the other was told holds.
#[test]
fn another_thread_comes_by_at_every_move() {
    let others: [Vec<Task>; 4] = [
        vec![Task::Get(10), Task::Get(20), Task::Get(30), Task::Get(40)],
        vec![Task::GetMany([10, 25, 40]), Task::Scan(Way::Up, 0), Task::Scan(Way::Down, u64::MAX)],
        vec![Task::Put(11, 1_001), Task::Remove(40), Task::Put(31, 1_002)],
        vec![Task::Replace(20, 1_001), Task::Replace(40, 1_002), Task::Remove(10)],
    ];
    let acts = [Task::Put(5, 901), Task::Put(25, 902), Task::Put(45, 903), Task::Remove(20)];
    let mut schedules = 0;
    for act in acts {
        for other in &others {
            schedules += stopped(&tens(4), &[vec![act], other.clone()], "", 400).schedules;
        }
    }
    for other in &others {
        schedules +=
            stopped(&sparse(), &[vec![Task::Remove(30)], other.clone()], "", 400).schedules;
    }
    assert!(schedules > 2_000, "{schedules}");
}
