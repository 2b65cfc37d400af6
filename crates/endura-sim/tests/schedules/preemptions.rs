//! Two operations on a tiny tree: every schedule with at most two preemptions, each crashed wherever
//! that may leave something new.

use endura_sim::model::Model;
use endura_sim::schedule::{Plan, Strategy, Task, Way};
use endura_sim::subjects::MapOp;

use super::cap3;

/// All schedules of two operations with at most `most` preemptions. How many there were.
fn all(before: &[MapOp], tasks: [Task; 2], most: usize) -> u64 {
    let mut campaign = cap3(Model::WEAKEST_ADR, 2);
    for first in 0..2 {
        let threads = vec![vec![tasks[first]], vec![tasks[1 - first]]];
        let mut todo = vec![Vec::new()];
        while let Some(list) = todo.pop() {
            let strategy = Strategy::Preempt(list.clone());
            let plan =
                Plan { before: before.to_vec(), threads: threads.clone(), strategy, seed: 1 };
            let ran = campaign.plan(&plan).unwrap_or_else(|unsound| panic!("{unsound}"));
            if list.len() < most {
                let from = list.last().map_or(1, |&(at, _)| at + 1);
                todo.extend((from..=ran.moves).map(|at| [&list[..], &[(at, 0)]].concat()));
            }
        }
    }
    campaign.figures.schedules
}

fn made_of(keys: &[u64]) -> Vec<MapOp> {
    keys.iter().map(|&key| MapOp::Put(key, key)).collect()
}

#[test]
fn two_inserts_of_one_key() {
    assert!(all(&made_of(&[20]), [Task::Put(10, 1), Task::Put(10, 2)], 2) > 1_000);
}

#[test]
fn an_insert_and_a_remove_beside_it() {
    assert!(all(&made_of(&[10, 30]), [Task::Put(20, 1), Task::Remove(10)], 2) > 1_000);
}

#[test]
fn a_split_and_a_reader() {
    assert!(all(&made_of(&[10, 20, 30]), [Task::Put(40, 1), Task::Get(30)], 2) > 1_000);
}

#[test]
fn a_split_and_an_update() {
    assert!(all(&made_of(&[10, 20, 30]), [Task::Put(15, 1), Task::Replace(30, 2)], 2) > 1_000);
}

/// The leaf of the scan's seat is taken over by its left neighbour, which has entries of both before the other is marked
/// as gone: until then nothing but that mark says so.
#[test]
fn a_scan_and_a_merge_of_the_leaf_of_its_seat() {
    // Leaves of 20, of 40, and the one of the upper half, under one parent. Leaves this small merge when one is empty.
    let before: Vec<MapOp> =
        (1..=5).map(|i| MapOp::Put(10 * i, i)).chain([10, 30, 50].map(MapOp::Remove)).collect();
    for scan in [Task::Scan(Way::Down, u64::MAX), Task::Scan(Way::Up, 0)] {
        assert!(all(&before, [scan, Task::Remove(20)], 2) > 1_000);
    }
}
