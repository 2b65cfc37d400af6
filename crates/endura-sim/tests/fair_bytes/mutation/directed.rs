//! Threads of which it is known what must meet.

use endura_sim::schedule::{Cut, Place, Strategy, Task};
use endura_sim::subjects::MapOp;

use Task::{Put, Remove, Scribble};

use super::parts::Of;
use super::plans::{left, puts};

/// A schedule that is crashed everywhere.
pub(crate) struct Directed {
    pub(crate) of: Of,
    pub(crate) before: Vec<MapOp>,
    pub(crate) cut: Option<Cut>,
    pub(crate) threads: Vec<Vec<Task>>,
    pub(crate) strategy: Strategy,
}

fn at(step: &'static str) -> Place {
    Place { step, nth: 1, moves: 0 }
}

/// All of them.
pub(crate) fn all() -> Vec<Directed> {
    let mut all = Vec::new();
    // What one thread has put in the place of a node is replaced by another one, which stands before that is durable. Then
    // the first one goes on: it leads what is above past both, or posts a separator.
    let rows: [(_, &[u64], u64, &[u64]); 6] = [
        ("settle.R3", &[80, 81, 64, 76, 77, 78, 74], 89, &[79, 72, 82, 116, 81, 70]),
        ("settle.R3", &[143, 150, 170, 131, 137, 148], 175, &[145, 139, 146, 135, 137, 168, 129]),
        ("settle.R3", &[227, 250, 213, 234, 211, 207], 253, &[216, 210, 199, 211, 200, 215, 203]),
        (
            "post.P1",
            &[142, 189, 172, 137, 147, 149, 141, 139, 143, 173],
            128,
            &[134, 171, 150, 138, 157, 136, 133],
        ),
        ("post.P1", &[202, 230, 195, 198, 252, 238], 192, &[201, 208, 192, 215, 205, 210, 212]),
        ("post.P1", &[80, 73, 68, 72, 105, 96, 84], 66, &[66, 77, 118, 74, 73, 66, 68]),
    ];
    for (step, before, first, then) in rows {
        let puts = |keys: &[u64]| keys.iter().map(|&key| Put(key, 900 + key)).collect();
        all.push(Directed {
            of: Of::Ties,
            before: before.iter().map(|&key| MapOp::Put(key, key)).collect(),
            cut: None,
            threads: vec![puts(&[first]), puts(then)],
            strategy: Strategy::Relay(vec![(0, at(step)), (1, at("replace.R2"))]),
        });
    }
    // A thread is about to post the separator of a leaf that another one takes out.
    for (op, drained) in [(MapOp::Put(50, 1), [50, 51]), (MapOp::Put(50, 1), [51, 50])] {
        all.push(Directed {
            of: Of::Words,
            before: puts(1..=4),
            cut: Some(Cut { op, step: "split.S3.durable", nth: 1 }),
            threads: vec![drained.map(Remove).to_vec(), vec![Put(51, 902)]],
            strategy: Strategy::Meet { comes: at("post.P1"), stops: at("merge.M2") },
        });
    }
    // A node that one thread took out is used again by another one, which goes on as the same worker of the pool: no fence of
    // its own is one of the first thread.
    all.extend([Of::Ties, Of::Words].map(|of| Directed {
        of,
        before: left(13, 6..12),
        cut: None,
        threads: vec![vec![Remove(120)], vec![Scribble; 3]],
        strategy: Strategy::Preempt(Vec::new()),
    }));
    all
}
