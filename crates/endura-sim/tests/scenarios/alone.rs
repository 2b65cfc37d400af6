//! One thread, and the power fails.

use endura_engine::tree::TreeCheck;
use endura_sim::aftermath::Aftermath;
use endura_sim::choose::Chooser;
use endura_sim::explore::Explorer;
use endura_sim::run::points;
use endura_sim::sim::Sim;
use endura_sim::subject::Subject;
use endura_sim::subjects::{FastFair, LIMIT, MapOp};
use endura_sim::tally::{Effort, Tally};

use MapOp::{Put, Remove};

use super::{MODELS, ONE_CRASH, TWO_CRASHES, around, crash, tens};

/// F2. An insert into the first slot moves all others. A crash at each of its stores must not hide any of
/// them, and the remove of another key, which comes across the copies, must not bring one back.
#[test]
fn f2_an_insert_before_all_others_then_a_remove() {
    fn run<const W: usize>() {
        for n in 1..(W as u64 - 8) / 2 {
            for other in 1..=n {
                for model in MODELS {
                    crash::<W>(model, TWO_CRASHES, &tens(n), &[Put(5, 9)], &[Remove(10 * other)]);
                }
            }
        }
    }
    run::<16>();
    run::<24>();
}

/// F3. The published delete flushes the wrong line of two. Whatever is removed, no other key vanishes, and
/// once it was acknowledged it stays removed, also for whoever enters it again.
#[test]
fn f3_a_remove_takes_out_nothing_else() {
    fn run<const W: usize>() {
        for n in 1..=(W as u64 - 8) / 2 {
            for gone in [1, n.div_ceil(2), n] {
                for model in MODELS {
                    let ops = [Remove(10 * gone)];
                    crash::<W>(model, TWO_CRASHES, &tens(n), &ops, &[Put(10 * gone, 77)]);
                    crash::<W>(model, ONE_CRASH, &tens(n), &ops, &[Remove(10 * n)]);
                }
            }
        }
    }
    run::<16>();
    run::<24>();
}

/// Opens everything that a crash anywhere in `ops` can leave, goes on with `then`, and looks at the tree.
fn after_crashes<const W: usize>(
    before: &[MapOp],
    ops: &[MapOp],
    then: &[MapOp],
    look: impl Fn(TreeCheck),
) -> usize {
    let subject = FastFair::<W, W>::about(around(24));
    let mut images = 0;
    for model in MODELS {
        let explorer = Explorer::new(&subject, model, LIMIT, ONE_CRASH, 1);
        let start = explorer.start(before).unwrap_or_else(|failure| panic!("{failure}"));
        let trace = explorer.trace(&start, ops).unwrap();
        let is_volatile = |at, line: &[u64; 8]| subject.is_volatile(at, line);
        for point in points(model, &trace, 0..usize::MAX, Some(&is_volatile), |_| vec![()]) {
            for image in point.aftermath.eager(64) {
                let aftermath = Aftermath::certain(image);
                let sim = Sim::after(model, LIMIT, &aftermath, Chooser::first());
                let open = subject.open(sim, 3).unwrap();
                then.iter().for_each(|op| _ = subject.apply(&open, op).unwrap());
                look(open.tree.check(&mut |_, _| ()).unwrap());
                images += 1;
            }
        }
    }
    images
}

/// F6. A crash anywhere in a split, its header among that; then keys go in on both sides, and the right half
/// splits again. No separator stays missing (else the tree would become a list), and no key stands twice.
#[test]
fn f6_a_split_that_was_cut_off_is_completed_by_those_who_come_after() {
    let then: Vec<MapOp> =
        [5, 15, 45, 41, 42, 43, 44, 55, 51, 52, 25, 35, 12, 13].map(|key| Put(key, 7)).to_vec();
    let entered = |inserted: u64| {
        move |check: TreeCheck| {
            assert_eq!(check.repairs.missing_separators, 0, "{check:?}");
            assert!(check.height <= 5 && check.entries >= inserted, "{check:?}");
        }
    };
    for key in [5, 15, 25, 45] {
        assert!(after_crashes::<14>(&tens(3), &[Put(key, 9)], &then, entered(3 + 13)) > 20);
        assert!(after_crashes::<16>(&tens(4), &[Put(key, 9)], &then, entered(4 + 13)) > 20);
        for model in MODELS {
            for first in &then {
                crash::<14>(model, ONE_CRASH, &tens(3), &[Put(key, 9)], &[*first, Put(44, 8)]);
            }
        }
    }
}

/// F7. The entries that a split moved stand in the old node as well, beyond its fence. They get new values
/// in the new one; then a crash, and an insert into the old node, which must not bring the old ones back.
#[test]
fn f7_truncated_entries_stay_dead() {
    for model in MODELS {
        let ops = [Put(25, 9), Put(20, 101), Put(30, 102), Put(40, 103)];
        for first in [Put(5, 7), Put(12, 7), Put(15, 7), Remove(10)] {
            crash::<14>(model, ONE_CRASH, &tens(3), &ops, &[first, Put(6, 7), Put(7, 7)]);
            crash::<16>(model, ONE_CRASH, &tens(4), &ops, &[first, Put(6, 7), Put(7, 7)]);
        }
    }
}

/// A leaf of 10 with a right neighbour that a remove of `30` empties, under one parent.
fn sparse() -> Vec<MapOp> {
    tens(4).into_iter().chain([Remove(20), Remove(40)]).collect()
}

/// F15, after a crash. A merge is cut off after each of its steps, M1 to M5; then a writer comes to where
/// the absorbed node was, or is.
#[test]
fn f15_a_merge_that_was_cut_off_meets_writers() {
    let mut sum = Tally::default();
    for model in MODELS {
        for first in [Put(30, 7), Put(35, 7), Put(45, 7), Put(15, 7), Remove(10), Put(20, 7)] {
            sum.add(&crash::<14>(model, TWO_CRASHES, &sparse(), &[Remove(30)], &[first]));
            let more: Vec<MapOp> = tens(9).into_iter().chain([50, 70, 80].map(Remove)).collect();
            sum.add(&crash::<14>(model, TWO_CRASHES, &more, &[Remove(60), Remove(40)], &[first]));
        }
    }
    for step in ["M1", "M2", "M3", "M4.sib", "M4.high", "M4.tag", "M5"] {
        let crashes = sum.crossed.get(format!("merge.{step}").as_str());
        assert!(crashes.is_some_and(|&n| n > 10), "{step}: {crashes:?}");
    }
}

/// F16. What a split left beyond the fence of L was removed from N; when L absorbs N, and its fence goes
/// back to where it was, those entries must not come alive.
#[test]
fn f16_a_merge_brings_nothing_back_that_was_removed_from_the_absorbed_node() {
    for model in MODELS {
        let ops = [Put(40, 4), Remove(30), Remove(40)];
        let tally = crash::<14>(model, ONE_CRASH, &tens(3), &ops, &[Put(15, 7), Put(45, 7)]);
        assert!(tally.steps.contains_key("merge.M5"), "{:?}", tally.steps);
        let ops = [Put(50, 5), Remove(50), Remove(40), Remove(30)];
        let tally = crash::<16>(model, ONE_CRASH, &tens(4), &ops, &[Put(35, 7)]);
        assert!(tally.steps.contains_key("merge.M5"), "{:?}", tally.steps);
    }
}

/// F17, after a crash. The root is written and its word is not; the root has lost its word and is still
/// there. The next writers grow or shrink the tree themselves.
#[test]
fn f17_a_crash_between_a_root_and_the_word_that_names_it() {
    let mut sum = Tally::default();
    let full = tens(4);
    let tall = tens(10);
    let shrinking: Vec<MapOp> = (1..=10).rev().map(|i| Remove(10 * i)).collect();
    for model in MODELS {
        let growing: Vec<MapOp> = (5..=9).map(|i| Put(10 * i, i)).collect();
        for first in [Put(95, 7), Put(15, 7), Remove(40)] {
            sum.add(&crash::<14>(model, TWO_CRASHES, &full, &growing, &[first]));
            sum.add(&crash::<14>(model, ONE_CRASH, &tall, &shrinking, &[first, Put(96, 7)]));
        }
    }
    for step in ["root.grow", "root.shrink"] {
        assert!(sum.crossed.get(step).is_some_and(|&n| n > 10), "{step}: {:?}", sum.crossed);
    }
}

/// F20. The machine comes down four times, each time while locks are held, and nobody repairs anything in
/// between but what the one operation of each session needs. No lock of an earlier session binds anybody.
/// (That the count of sessions may start over has its own test: `endura/tests/faults/generation_turn.rs`.)
#[test]
fn f20_locks_that_are_held_at_four_crashes_bind_nobody() {
    const FOUR: Effort =
        Effort { depth: 4, deep_points: 3, exhaustive: 3, samples: 0, deep_ops: 1, ..ONE_CRASH };
    for model in MODELS {
        for first in [Put(25, 7), Put(45, 7), Remove(20), Put(35, 7)] {
            let tally = crash::<14>(model, FOUR, &tens(3), &[Put(15, 9)], &[first]);
            assert!(tally.deep_images > 100, "{tally:?}");
        }
    }
}
