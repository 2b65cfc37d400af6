//! Threads that go on where a process was killed in the middle of something. They use the tree without its
//! leak recovery, so that nothing is made durable but by whoever relies on it; or they collect, and then use
//! what was freed in another partition, so that nothing is made durable but by the walks.

use endura_sim::mutate::{AfterKill, Harness};
use endura_sim::schedule::Task;
use endura_sim::subject::Finding;
use endura_sim::subjects::{LIMIT, MapOp};

use super::parts::{puts, removes, subject, wide};

/// A key of another partition.
fn far(key: u64) -> u64 {
    1 << 61 | key
}

/// All of them, the one with blocks of two lines first.
pub(crate) fn kills() -> Vec<AfterKill> {
    let alone = |before, (key, value), step, tasks| AfterKill {
        before,
        op: MapOp::Put(key, value),
        step,
        nth: 1,
        refused: 0,
        threads: vec![tasks],
        moves: 0..1,
    };
    let collect_and_use = || {
        let uses = (1..=12).map(|key| Task::Put(far(key), key));
        [Task::Collect; 3].into_iter().chain(uses).collect()
    };
    // What is written over belongs to no partition: the first use of any makes all heads durable.
    let collect_and_scribble = || [[Task::Collect; 3], [Task::Scribble; 3]].concat();
    let full = || puts([1, 2, 3]);
    let splits = || vec![Task::Put(15, 1), Task::Put(16, 1)];
    vec![
        // A reader is told what is not durable. (In the second line: the walk makes the first one durable.)
        alone(puts(1..=4), (40, 7), "alter.durable", vec![Task::Get(40)]),
        // The head of the chain leads past a block, which is in use if the power fails.
        alone(full(), (40, 4), "settle.S7", collect_and_scribble()),
        // So does the block before.
        alone(puts(1..=7), (80, 8), "settle.S7", collect_and_use()),
        // A chunk was taken out of the reserve.
        AfterKill {
            refused: 1,
            ..alone([full(), removes([2, 3])].concat(), (40, 4), "change.S0", collect_and_use())
        },
        // The block behind the head is replaced, so that two signposts follow each other.
        alone(full(), (40, 4), "settle.S7", splits()),
        // The same by another thread than the one that walked along the chain.
        AfterKill {
            threads: vec![vec![Task::Put(17, 1)], splits()],
            moves: 0..4,
            ..alone(full(), (40, 4), "settle.S7", Vec::new())
        },
    ]
}

/// Runs one of them.
pub(crate) fn run(number: usize, harness: &mut Harness) -> Result<(), Finding> {
    let kill = &kills()[number];
    match number {
        0 => harness.after_kill(wide(), LIMIT, kill),
        _ => harness.after_kill(subject(), LIMIT, kill),
    }
}
