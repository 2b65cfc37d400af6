//! Two threads where it is known what must meet: thread 0 stops after its first move, its second, and so
//! on, thread 1 runs to its end, and the crash may come at any moment.

use endura_sim::schedule::{Cut, Place, Plan, Strategy, Task};
use endura_sim::subjects::MapOp;

use Task::{Get, Put, Remove, Scribble};

use crate::duels::{Duel, and_removes, puts, up_to};
use crate::parts::Sees;

/// Thread 0 stops at each of so many moves.
pub(crate) struct Sweep {
    pub(crate) duel: Duel,
    pub(crate) sees: Sees,
    /// How far thread 1 is before thread 0 begins.
    comes: Place,
    /// After so many moves thread 0 has ended.
    pub(crate) moves: u64,
    /// With a way of seeing that leaves something to chance: how often.
    pub(crate) seeds: u64,
}

impl Sweep {
    pub(crate) fn plan(&self, moves: u64, seed: u64) -> Plan {
        let stops = Place { step: Place::START, nth: 1, moves };
        Plan {
            before: self.duel.before.clone(),
            threads: vec![self.duel.stops.clone(), self.duel.comes.clone()],
            strategy: Strategy::Meet { comes: self.comes, stops },
            seed,
        }
    }
}

/// Thread 1 begins when thread 0 has stopped.
const AFTER: Place = Place { step: Place::START, nth: 1, moves: 0 };
/// Or it is about to post a separator.
const POSTS: Place = Place { step: "post.P1", nth: 1, moves: 0 };

fn duel(
    name: &'static str,
    before: &[MapOp],
    cut: Option<(MapOp, &'static str)>,
    [stops, comes]: [&[Task]; 2],
) -> Duel {
    let cut = cut.map(|(op, step)| Cut { op, step, nth: 1 });
    Duel { name, before: before.to_vec(), cut, stops: stops.to_vec(), comes: comes.to_vec() }
}

/// All of them.
pub(crate) fn sweeps() -> Vec<Sweep> {
    let full = puts(&[10, 20, 30]);
    let mut all = Vec::new();
    let mut add = |duel, sees, comes, moves, seeds| {
        all.push(Sweep { duel, sees, comes, moves, seeds });
    };
    // Thread 1 is about to post a separator of the node that thread 0 takes out.
    let drain = [Remove(40), Remove(35), Remove(30), Scribble, Scribble, Scribble, Get(30)];
    let cut = Some((MapOp::Put(40, 1), "split.S3.durable"));
    let leaving = duel("a separator of a node that leaves", &full, cut, [&drain, &[Put(35, 2)]]);
    add(leaving, Sees::AtOnce, POSTS, 600, 1);
    // A reader sees what is under way without seeing that it is.
    let late = Sees::Late(endura_sim::sim::Stale::OneIn(3));
    let update = duel("update", &full, None, [&[Put(20, 1)], &[Get(20)]]);
    add(update, late, AFTER, 40, 40);
    let remove = duel("remove", &full, None, [&[Remove(30)], &[Get(30)]]);
    add(remove, late, AFTER, 40, 40);
    // What thread 0 takes out, thread 1 uses again.
    for gone in 4..12 {
        let (before, last) = (and_removes(&up_to(12), &up_to(gone)), [Remove(10 * gone + 10)]);
        let reused = duel("drained, and reused", &before, None, [&last, &[Scribble; 6]]);
        add(reused, Sees::AtOnce, AFTER, 4, 1);
    }
    for step in ["split.S3.sib", "split.S3.high"] {
        let cut = Some((MapOp::Put(40, 1), step));
        let reused = duel("taken back, and reused", &full, cut, [&[Remove(17)], &[Scribble; 6]]);
        add(reused, Sees::AtOnce, AFTER, 4, 1);
    }
    all
}

/// Beyond the last of its moves: thread 0 runs to its end.
pub(crate) const TO_THE_END: u64 = 1 << 40;
