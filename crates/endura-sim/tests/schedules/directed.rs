//! The traces V8, V9 and V10 of the plan of the tree: schedules on which an earlier version of the
//! protocol lost data. Each is gone through at every place where the one thread can stop, is clean on
//! the tree as it stands, and fails once the step that was added for it is left out.

use endura_sim::model::Model;
use endura_sim::mutant::{Call, Mutant, Use};
use endura_sim::mutate::Place;
use endura_sim::schedule::{Family, Plan, Strategy, Task, Unsound};
use endura_sim::subjects::MapOp;

use super::cap3;

/// The first call of this kind on a line of the tree, among those of many runs.
fn call(function: &'static str, text: &'static str, what: Use) -> Call {
    let mut campaign = cap3(Model::WEAKEST_ADR, 0);
    campaign.count_calls();
    campaign.family(Family::Mixed, 0..200).unwrap();
    campaign.family(Family::MergeReader, 0..600).unwrap();
    let calls = campaign.calls();
    let is_there = Place { folder: "fast_fair", function, text }.finder();
    let is_it = |call: &&Call| call.what == what && is_there(call);
    *calls.made.keys().find(is_it).unwrap_or_else(|| panic!("no {what:?} in {function}: {text}"))
}

/// A full leaf.
fn full() -> Vec<MapOp> {
    [10, 20, 30].map(|key| MapOp::Put(key, key)).to_vec()
}

/// Runs the threads with each of the strategies; gives the first that goes wrong, and which it was.
fn sweep(
    before: &[MapOp],
    threads: &[Vec<Task>],
    strategies: impl Iterator<Item = Strategy>,
    mutant: Option<Mutant>,
) -> Result<usize, (usize, Box<Unsound>)> {
    let mut campaign = cap3(Model::WEAKEST_ADR, usize::MAX);
    campaign.plant(mutant);
    let mut count = 0;
    for strategy in strategies {
        count += 1;
        let (before, threads) = (before.to_vec(), threads.to_vec());
        let plan = Plan { before, threads, strategy, seed: 1 };
        campaign.plan(&plan).map_err(|unsound| (count, unsound))?;
    }
    Ok(count)
}

/// Thread 0 stops before its first move, its second, and so on, until the others have ended.
fn stops() -> impl Iterator<Item = Strategy> {
    (1..200).map(|nth| Strategy::StopAt { thread: 0, step: "", nth })
}

fn clean(before: &[MapOp], threads: &[Vec<Task>], strategies: impl Iterator<Item = Strategy>) {
    if let Err((_, unsound)) = sweep(before, threads, strategies, None) {
        panic!("{unsound}");
    }
}

/// Says how many schedules it took to find the mutant.
fn found(
    before: &[MapOp],
    threads: &[Vec<Task>],
    strategies: impl Iterator<Item = Strategy>,
    mutant: Mutant,
    within: usize,
) -> Box<Unsound> {
    match sweep(before, threads, strategies, Some(mutant)) {
        Ok(count) => panic!("{mutant} was not found in {count} schedules"),
        Err((count, unsound)) => {
            assert!(count <= within, "{mutant} was found after {count} schedules\n{unsound}");
            unsound
        }
    }
}

/// V8. T0 splits L; `L.high` is visible and not durable. T1 goes right, changes an entry of N and
/// returns. Crash: L owns the range again, with the old value. So N stays locked until the header of L
/// is durable.
#[test]
fn v8_a_writer_does_not_get_into_a_node_before_the_link_to_it_is_durable() {
    let threads = [vec![Task::Put(15, 1_001)], vec![Task::Replace(30, 1_002)]];
    clean(&full(), &threads, stops());
    let mutant = Mutant::Drop(call("fair_split", "media.drain();", Use::Drain));
    let unsound = found(&full(), &threads, stops(), mutant, 200);
    assert!(!unsound.crashes.is_empty(), "{unsound}");
}

/// V9. The same with a reader, whom no lock keeps out: it finds in N what T0 is about to acknowledge.
/// Crash: N is gone. So a reader makes a link durable that it went by while it was being written.
#[test]
fn v9_a_reader_makes_the_link_durable_that_its_answer_rests_on() {
    let threads = [vec![Task::Put(40, 1_001)], vec![Task::Get(40)]];
    clean(&full(), &threads, stops());
    let mutant = Mutant::Drop(call("right_of", "node.help_flush_header();", Use::Flush));
    let unsound = found(&full(), &threads, stops(), mutant, 200);
    assert!(!unsound.crashes.is_empty(), "{unsound}");
}

/// V10. T1 reads `L.high`; T0 takes the right neighbour over (`high`, then `sib`); T1 reads the new
/// `sib` under the same lock word, and lands right of its key. So `high` is read again behind `sib`.
#[test]
fn v10_a_move_to_the_right_reads_the_fence_again_behind_the_link() {
    // Leaves of 10 and 20, of 40, and the one of the upper half, under one parent.
    let before: Vec<MapOp> =
        (1..=5).map(|i| MapOp::Put(10 * i, i)).chain([30, 50].map(MapOp::Remove)).collect();
    let threads = [vec![Task::Remove(40)], vec![Task::Get(40)]];
    let strategies =
        || (1..120).map(|moves| Strategy::Within { step: "merge.M4.sib", nth: 1, moves });
    clean(&before, &threads, strategies());
    let mutant = Mutant::Stale(call("right_of", "if node.high() != high", Use::Load));
    let unsound = found(&before, &threads, strategies(), mutant, 120);
    assert!(unsound.crashes.is_empty(), "{unsound}");
}

/// A crash must not leave a separator of a node to which no durable link leads: T0 stops in the split of
/// an inner node, and T1 comes by.
#[test]
fn a_separator_is_not_posted_over_a_link_that_can_be_lost() {
    for count in 4..40 {
        let before: Vec<MapOp> = (0..count).map(|i| MapOp::Put(10 * i, i)).collect();
        let again = (0..count).map(|i| Task::Replace(10 * i, 1_000 + i)).collect();
        let threads = [vec![Task::Put(10 * count, 1_001)], again];
        // The second split of one operation is that of an inner node.
        let stop = Strategy::StopAt { thread: 0, step: "split.S3.tag", nth: 2 };
        clean(&before, &threads, std::iter::once(stop));
    }
}

/// Under eADR: a thread takes a page, another one links a chunk in it and acknowledges before the first
/// one drains its store buffer. What hands the chunk over is a lock in DRAM, of which the medium knows
/// nothing. So whoever takes a page drains before anybody can have a chunk of it.
#[test]
fn a_chunk_that_was_handed_over_lies_in_a_page_that_stays() {
    let before: Vec<MapOp> = (1..=4).map(|i| MapOp::Put(10 * i, i)).collect();
    let threads =
        vec![vec![Task::Put(100, 1_001)], vec![Task::Put(80, 1_002)], vec![Task::Scribble]];
    let mut campaign = cap3(Model::EADR, 8);
    for seed in 0..1_500 {
        let strategy = Strategy::Random { steps: 512, moves: 0 };
        let (before, threads) = (before.clone(), threads.clone());
        let plan = Plan { before, threads, strategy, seed };
        campaign.plan(&plan).unwrap_or_else(|unsound| panic!("{unsound}"));
    }
}
