//! Two threads on tiny trees, in the states in which one of them could notice what the other one left
//! out.

use endura_sim::schedule::{Cut, Task, Way};
use endura_sim::subjects::MapOp;

use Task::{End, Get, GetMany, Put, Remove, Replace, Scan, Scribble};

/// Who meets whom, and where.
#[derive(Clone)]
pub(crate) struct Duel {
    /// What the first thread does, for a failure.
    pub(crate) name: &'static str,
    pub(crate) before: Vec<MapOp>,
    pub(crate) cut: Option<Cut>,
    /// The one that is stopped somewhere.
    pub(crate) stops: Vec<Task>,
    /// The one that comes by.
    pub(crate) comes: Vec<Task>,
}

pub(crate) fn puts(keys: &[u64]) -> Vec<MapOp> {
    keys.iter().map(|&key| MapOp::Put(key, key)).collect()
}

pub(crate) fn and_removes(keys: &[u64], gone: &[u64]) -> Vec<MapOp> {
    let mut ops = puts(keys);
    ops.extend(gone.iter().map(|&key| MapOp::Remove(key)));
    ops
}

pub(crate) fn up_to(last: u64) -> Vec<u64> {
    (1..=last).map(|i| 10 * i).collect()
}

/// Each of `comes` against `stops`.
fn against(name: &'static str, before: &[MapOp], stops: &[Task], comes: &[&[Task]]) -> Vec<Duel> {
    let duel = |comes: &&[Task]| Duel {
        name,
        before: before.to_vec(),
        cut: None,
        stops: stops.to_vec(),
        comes: comes.to_vec(),
    };
    comes.iter().map(duel).collect()
}

const UP: Task = Scan(Way::Up, 0);
const DOWN: Task = Scan(Way::Down, u64::MAX);

/// In one leaf of three entries at most.
fn in_a_leaf() -> Vec<Duel> {
    let full = puts(&[10, 20, 30]);
    let mut all = Vec::new();
    let mut add = |name, before: &[MapOp], stops: &[Task], comes: &[&[Task]]| {
        all.extend(against(name, before, stops, comes));
    };
    add("update", &full, &[Put(20, 1)], &[&[Get(20)], &[UP], &[DOWN], &[Replace(20, 2)]]);
    add("updates", &full, &[Put(20, 1), Put(30, 3)], &[&[Get(20)], &[UP], &[Put(20, 2)]]);
    add("insert", &puts(&[10, 30]), &[Put(20, 1)], &[&[Get(30)], &[Get(20)], &[UP], &[DOWN]]);
    add("insert first", &puts(&[20, 30]), &[Put(10, 1)], &[&[Get(30)], &[Get(10)], &[UP], &[DOWN]]);
    add("remove", &full, &[Remove(10)], &[&[Get(30)], &[Get(10)], &[UP], &[DOWN], &[Put(5, 2)]]);
    add(
        "insert, remove",
        &puts(&[20, 30]),
        &[Put(10, 1), Remove(20)],
        &[&[Get(30)], &[Get(20)], &[Get(10)], &[UP]],
    );
    add(
        "remove, insert",
        &full,
        &[Remove(10), Put(15, 1)],
        &[&[Get(30)], &[Get(20)], &[Get(15)], &[UP], &[Put(20, 2)]],
    );
    add("update, remove", &full, &[Put(30, 1), Remove(10)], &[&[Get(30)], &[Get(20)], &[UP]]);
    all
}

/// Where leaves split, and separators are posted.
fn in_splits() -> Vec<Duel> {
    let full = puts(&[10, 20, 30]);
    let mut all = Vec::new();
    let mut add = |name, before: &[MapOp], stops: &[Task], comes: &[&[Task]]| {
        all.extend(against(name, before, stops, comes));
    };
    let readers: &[&[Task]] =
        &[&[Get(30)], &[Get(40)], &[UP], &[DOWN], &[Replace(30, 2)], &[GetMany([10, 30, 40])]];
    add("split", &full, &[Put(40, 1)], readers);
    add("split, insert left", &full, &[Put(5, 1)], &[&[Get(30)], &[Get(20)], &[UP], &[Put(20, 2)]]);
    add(
        "split, insert between",
        &full,
        &[Put(15, 1)],
        &[&[Get(30)], &[Get(15)], &[Replace(30, 2)]],
    );
    add(
        "splits",
        &full,
        &[Put(40, 1), Put(50, 1), Put(60, 1)],
        &[&[Get(30)], &[Get(60)], &[Replace(40, 2)], &[UP]],
    );
    add(
        "splits of one leaf",
        &full,
        &[Put(40, 1), Put(5, 1), Put(6, 1), Put(7, 1)],
        &[&[Get(40)], &[Get(30)], &[Put(41, 2)]],
    );
    add("splits, both", &full, &[Put(40, 1)], &[&[Put(15, 2)], &[Put(50, 2)], &[Remove(30)]]);
    let high = puts(&up_to(9));
    add("splits above", &high, &[Put(100, 1)], &[&[Get(90)], &[Put(95, 2)], &[Put(5, 2)], &[UP]]);
    let higher = puts(&up_to(12));
    for last in [100, 110, 130] {
        let tasks = [Put(last, 1), Put(last + 1, 1), Put(last + 2, 1)];
        add("new root", &higher, &tasks, &[&[Get(90)], &[Put(95, 2)], &[UP], &[Remove(10)]]);
    }
    add(
        "split, and a merge of what split",
        &full,
        &[Remove(40), Remove(30)],
        &[&[Put(40, 2)], &[Put(15, 2)], &[Put(35, 2)]],
    );
    all
}

/// Where leaves merge, and roots go.
fn in_merges() -> Vec<Duel> {
    // Leaves of 10 and 20, of 40, and the one of the upper half, under one parent.
    let three = and_removes(&up_to(5), &[30, 50]);
    let mut all = Vec::new();
    let mut add = |name, before: &[MapOp], stops: &[Task], comes: &[&[Task]]| {
        all.extend(against(name, before, stops, comes));
    };
    let readers: &[&[Task]] =
        &[&[Get(40)], &[Get(20)], &[UP], &[DOWN], &[Put(40, 2)], &[Put(35, 2)], &[Put(15, 2)]];
    add("merge", &three, &[Remove(40)], readers);
    let rest: &[&[Task]] =
        &[&[Get(40)], &[Replace(40, 2)], &[UP], &[DOWN], &[Put(10, 2)], &[Put(50, 2)]];
    add("merge of what is left", &three, &[Remove(10), Remove(20)], rest);
    add("merge, update", &three, &[Remove(10), Remove(20), Put(40, 1)], rest);
    let grown = puts(&up_to(12));
    let drain: Vec<Task> = up_to(12).into_iter().map(Remove).collect();
    let back: Vec<Task> = drain.iter().rev().copied().collect();
    let others: &[&[Task]] = &[&[Get(60)], &[Put(65, 2)], &[UP], &[Scribble, Scribble, Scribble]];
    add("drain", &grown, &drain, others);
    add("drain from the end", &grown, &back, others);
    for gone in 4..12 {
        let before = and_removes(&up_to(12), &up_to(gone));
        let stops = [Remove(10 * gone + 10), Scribble, Scribble, Scribble, Get(120)];
        add("drained, and reused", &before, &stops, &[&[Get(60)]]);
    }
    all
}

/// After a session that ended in the middle of something.
fn after_cuts() -> Vec<Duel> {
    let mut all = Vec::new();
    let full = puts(&[10, 20, 30]);
    let three = and_removes(&up_to(5), &[30, 50]);
    let cuts: [(&[MapOp], MapOp, &'static str); 7] = [
        (&full, MapOp::Put(40, 1), "split.S3.sib"),
        (&full, MapOp::Put(40, 1), "split.S3.high"),
        (&full, MapOp::Put(15, 1), "split.S3.high"),
        (&three, MapOp::Remove(40), "merge.M4.sib"),
        (&three, MapOp::Remove(40), "merge.M4.high"),
        (&full, MapOp::Remove(10), "fast_delete.commit"),
        (&full[1..], MapOp::Put(10, 1), "fast_insert.shift"),
    ];
    let stops: [&[Task]; 3] = [
        &[Remove(17), Scribble, Scribble, Scribble],
        &[Put(20, 3)],
        &[Remove(17), Remove(45), Put(25, 3), Scribble, Scribble],
    ];
    let comes: [&[Task]; 4] = [&[Get(30)], &[Put(35, 2)], &[UP], &[Scribble, Scribble]];
    for (before, op, step) in cuts {
        for stops in stops {
            for comes in comes {
                let cut = Some(Cut { op, step, nth: 1 });
                let (before, stops, comes) = (before.to_vec(), stops.to_vec(), comes.to_vec());
                all.push(Duel { name: "after a cut", before, cut, stops, comes });
            }
        }
    }
    all
}

/// Who asks for the first or the last entry.
fn at_the_ends() -> Vec<Duel> {
    let full = puts(&[10, 20, 30]);
    let (first, last): (&[Task], &[Task]) = (&[End(Way::Up)], &[End(Way::Down)]);
    let mut all = Vec::new();
    let mut add = |name, before: &[MapOp], stops: &[Task], comes: &[&[Task]]| {
        all.extend(against(name, before, stops, comes));
    };
    add("first, update", &full, &[Put(10, 1)], &[first]);
    add("first, insert", &puts(&[20, 30]), &[Put(10, 1)], &[first]);
    add("first, remove", &full, &[Remove(10)], &[first]);
    add("last, split", &full, &[Put(40, 1)], &[last]);
    all
}

/// All of them.
pub(crate) fn duels() -> Vec<Duel> {
    [in_a_leaf(), in_splits(), in_merges(), after_cuts(), at_the_ends()].concat()
}
