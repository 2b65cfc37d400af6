//! What comes after a kill: threads that use the tree and not its leak recovery, or the leak recovery alone.

use endura_sim::mutate::AfterKill;
use endura_sim::schedule::Task;
use endura_sim::subjects::MapOp;

use MapOp::{Put, Remove};
use Task::{Collect, Count, Get, Scribble};

use super::duels::{DOWN, FIRST, LAST, UP};
use super::parts::Of;
use super::plans::puts;

/// All of them.
pub(crate) fn kills() -> Vec<(Of, AfterKill)> {
    let mut all = Vec::new();
    let mut add = |of, before: &[MapOp], (op, step), tasks: &[Task]| {
        let (before, threads, nth) = (before.to_vec(), vec![tasks.to_vec()], 1);
        all.push((of, AfterKill { before, op, step, nth, refused: 0, threads, moves: 0..1 }));
    };
    // A reader is told what is not durable: an entry, that one is gone, what lies behind a link.
    for of in [Of::Ties, Of::Wide] {
        for read in [Get(20), UP, DOWN] {
            add(of, &puts([1, 3]), (Put(20, 9), "fast_insert.commit"), &[read]);
        }
        add(of, &puts([2, 3]), (Put(10, 9), "fast_insert.commit"), &[FIRST]);
        add(of, &puts([1, 2]), (Put(30, 9), "fast_insert.commit"), &[LAST]);
        for read in [Get(10), UP, FIRST] {
            add(of, &puts(1..=3), (Remove(10), "fast_delete.commit"), &[read]);
        }
    }
    for read in [Get(50), UP, DOWN, LAST] {
        add(Of::Words, &puts(1..=4), (Put(50, 9), "split.S3.tag"), &[read]);
    }
    for read in [Get(65), UP, DOWN] {
        add(Of::Ties, &puts(1..=8), (Put(65, 9), "replace.R2"), &[read]);
    }
    // A thread that counts locks the leaf, after which a reader finds it quiet. (In the second line: a count that stores
    // nothing else makes nothing durable.)
    add(Of::Wide, &puts(1..=6), (Put(61, 9), "fast_insert.commit"), &[Count, Get(61)]);
    add(Of::Wide, &puts(1..=6), (Remove(60), "fast_delete.commit"), &[Count, Get(60)]);
    // It takes a split back, and the new leaf is used again.
    let count_and_scribble = [[Count].as_slice(), &[Scribble; 3]].concat();
    add(Of::Words, &puts(1..=4), (Put(50, 9), "split.S3.sib"), &count_and_scribble);
    add(Of::Words, &puts(1..=4), (Put(25, 9), "split.S3.sib"), &count_and_scribble);
    // Nothing leads to a signpost any more, which is collected, and used again.
    let collect_and_scribble = [[Collect; 3], [Scribble; 3]].concat();
    add(Of::Ties, &puts(1..=8), (Put(65, 9), "settle.R4"), &collect_and_scribble);
    add(Of::Ties, &puts(1..=8), (Put(65, 9), "settle.R3"), &collect_and_scribble);
    // The same of an inner node, of which no walk over records makes anything durable.
    let uses = (331..=347).map(|key| Task::Put(key, key));
    let collect_and_use: Vec<Task> = [Collect; 3].into_iter().chain(uses).collect();
    add(Of::Ties, &puts(1..=32), (Put(330, 9), "settle.R4"), &collect_and_use);
    if let Some((_, last)) = all.last_mut() {
        // A leaf comes first.
        last.nth = 2;
    }
    all
}
