//! Two threads where it is known what must meet: thread 0 stops after its first move, its second, and so
//! on, or at its end, and thread 1 runs to its own.

use endura_sim::schedule::{Cut, Place, Plan, Strategy, Task};
use endura_sim::sim::Stale;
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
    /// How many moves further thread 1 may be, one after the other.
    pub(crate) further: u64,
    /// Moments at which each schedule is crashed.
    pub(crate) crashes: usize,
}

impl Sweep {
    pub(crate) fn plan(&self, moves: u64, further: u64) -> Plan {
        let stops = Place { step: Place::START, nth: 1, moves };
        let comes = Place { moves: further, ..self.comes };
        Plan {
            before: self.duel.before.clone(),
            threads: vec![self.duel.stops.clone(), self.duel.comes.clone()],
            strategy: Strategy::Meet { comes, stops },
            seed: 1,
        }
    }
}

/// Thread 1 begins when thread 0 has stopped.
const AFTER: Place = Place { step: Place::START, nth: 1, moves: 0 };
/// Or it is about to post a separator.
const POSTS: Place = Place { step: "post.P1", ..AFTER };
/// Or it is on its way to a leaf.
const READS: Place = Place { step: "read.inner", ..AFTER };

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
    let mut add = |duel, sees, comes, moves, further, crashes| {
        all.push(Sweep { duel, sees, comes, moves, further, crashes });
    };
    // Thread 1 is about to post a separator of the node that thread 0 takes out.
    let drain = [Remove(40), Remove(35), Remove(30), Scribble, Scribble, Scribble, Get(30)];
    let cut = Some((MapOp::Put(40, 1), "split.S3.durable"));
    let leaving = duel("a separator of a node that leaves", &full, cut, [&drain, &[Put(35, 2)]]);
    add(leaving, Sees::AtOnce, POSTS, 600, 1, 0);
    // A reader sees what is under way without seeing that it is.
    let late = Sees::Late(Stale::Misled);
    let update = duel("update", &full, None, [&[Put(20, 1)], &[Get(20)]]);
    add(update, late, READS, 50, 30, 4);
    let remove = duel("remove", &full, None, [&[Remove(30)], &[Get(30)]]);
    add(remove, late, READS, 50, 30, 4);
    // What thread 0 takes out is used again by thread 1, which goes on as the same worker of the pool.
    for gone in 4..12 {
        let before = and_removes(&up_to(12), &up_to(gone));
        let last = [Remove(10 * gone + 10)];
        let comes = [Scribble, Scribble, Put(10 * 12, 2)];
        let reused = duel("drained, and reused", &before, None, [&last, &comes]);
        add(reused, Sees::AtOnce, AFTER, 1, 1, usize::MAX);
    }
    for step in ["split.S3.sib", "split.S3.high"] {
        let cut = Some((MapOp::Put(40, 1), step));
        let (repairs, comes) = ([Remove(17)], [Scribble, Put(20, 2)]);
        let reused = duel("taken back, and reused", &full, cut, [&repairs, &comes]);
        add(reused, Sees::AtOnce, AFTER, 1, 1, usize::MAX);
    }
    all
}

/// Beyond the last of its moves: thread 0 runs to its end.
pub(crate) const TO_THE_END: u64 = 1 << 40;
