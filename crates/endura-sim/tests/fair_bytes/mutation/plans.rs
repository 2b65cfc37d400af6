//! What one thread does, and where it is crashed, or killed.

use std::ops::Range;

use endura_sim::explore::Next;
use endura_sim::subjects::MapOp;

use MapOp::{PopFirst, PopLast, Put, Remove};

pub(crate) fn puts(keys: impl IntoIterator<Item = u64>) -> Vec<MapOp> {
    keys.into_iter().map(|key| Put(10 * key, key)).collect()
}

pub(crate) fn removes(keys: impl IntoIterator<Item = u64>) -> Vec<MapOp> {
    keys.into_iter().map(|key| Remove(10 * key)).collect()
}

/// What is left of `count` entries when some are gone.
pub(crate) fn left(count: u64, gone: Range<u64>) -> Vec<MapOp> {
    [puts(1..=count), removes(gone)].concat()
}

/// What is durable beforehand, and what is crashed.
pub(crate) fn plans() -> Vec<(Vec<MapOp>, Vec<MapOp>)> {
    vec![
        // One leaf: shifts, updates, removes.
        (vec![], vec![Put(10, 1), Put(10, 2), Put(5, 3), Remove(10)]),
        (puts([1, 3]), vec![Put(20, 8), Remove(10), Put(10, 9), Remove(30)]),
        (puts([1, 2, 3]), vec![Remove(20), Put(15, 8), Remove(30), Put(40, 9)]),
        (puts(1..=6), vec![Put(5, 8), Remove(10), Remove(20)]),
        (puts(1..=6), vec![Remove(10), Put(25, 8), Remove(60), Put(61, 7)]),
        // Splits: at the end, at the start, in the middle, left and right.
        (puts(1..=4), puts([5])),
        (puts(2..=5), puts([1])),
        (puts([1, 2, 4, 5]), puts([3])),
        (puts([1, 3, 4, 5]), puts([2])),
        (puts([1, 2, 3, 5]), puts([4])),
        (puts([1, 2, 3, 5, 6, 7, 8]), vec![Put(45, 8)]),
        (puts([1, 3, 4, 5, 6, 7, 8]), vec![Put(15, 8)]),
        // Parents that split, and roots that come.
        (puts(1..=14), puts([15, 16])),
        (puts((9..=24).rev()), puts([8, 7, 6])),
        (puts((1..=24).step_by(2)), puts([2, 4, 6, 8, 10])),
        // Merges to both sides, and roots that go.
        (left(6, 2..5), removes([6, 1])),
        (left(12, 2..5), removes([5, 1, 6])),
        (left(12, 6..10), removes([10, 5, 11])),
        (left(20, 4..18), removes([18, 3, 2])),
        (left(20, 1..16), removes([16, 17, 18, 19])),
        (puts(1..=20), [removes(6..=15), puts(6..=15)].concat()),
        (puts(1..=9), vec![PopFirst, PopLast, PopFirst, PopLast]),
        // Chunks that are used again.
        (vec![], [puts(1..=10), removes(1..=10), puts(1..=10), removes((1..=10).rev())].concat()),
    ]
}

/// An operation that a kill ends, and what the next process does.
pub(crate) fn kills() -> Vec<(Vec<MapOp>, MapOp, Next<MapOp>)> {
    let mut all = Vec::new();
    for (before, op) in [
        (puts([1, 2]), Put(5, 9)),
        (puts([1, 2, 3]), Remove(10)),
        (puts([1, 2, 3]), Put(30, 9)),
        (puts(1..=6), Put(15, 9)),
        (puts(1..=6), Remove(20)),
        (puts(1..=4), Put(25, 9)),
        (puts(1..=4), Put(50, 9)),
        (puts(1..=4), Put(5, 9)),
        (puts([1, 2, 3, 5, 6, 7, 8]), Put(45, 9)),
        (puts(1..=14), Put(150, 9)),
        (left(6, 2..5), Remove(60)),
        (left(6, 2..5), Remove(10)),
        (left(12, 6..9), Remove(50)),
        (left(12, 2..5), Remove(10)),
        (left(20, 4..18), Remove(180)),
        (left(20, 1..16), Remove(160)),
        (puts(1..=32), Put(330, 9)),
    ] {
        let key = op.about().copied().unwrap_or(10);
        let write = |ops: Vec<MapOp>| Next { looks: false, ops };
        for next in [
            Next { looks: true, ops: Vec::new() },
            write(vec![Put(key, 77)]),
            write(vec![Remove(key)]),
            write(vec![Put(key + 1, 77), Put(key - 1, 78), Remove(20)]),
            write(vec![PopFirst, PopLast]),
        ] {
            all.push((before.clone(), op, next));
        }
    }
    all
}
