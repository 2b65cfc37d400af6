//! N22. Lines of the pool that an operation stores to, counted in the trace of a simulated medium. (What is flushed
//! counts `endura`'s own test, also where blocks change.)

use std::collections::BTreeSet;

use endura_sim::event::Action;
use endura_sim::model::Model;
use endura_sim::sim::Sim;
use endura_sim::subject::Subject;
use endura_sim::subjects::{LIMIT, MapOp, NbTree, OpenNbTree};

/// The blocks that a pool uses.
type Slots63 = NbTree<128, 64>;

/// Lines stored to, flushes and fences of one operation.
fn counted(sim: &Sim, tree: &OpenNbTree<128, 64>, op: MapOp) -> (u64, u64, u64) {
    sim.take_trace();
    Slots63::about(Vec::new()).apply(tree, &op).unwrap();
    let (mut lines, mut flushes, mut fences) = (BTreeSet::new(), 0, 0);
    for event in &sim.take_trace().events {
        match event.action {
            Action::Store { at, .. } | Action::Exchange { at, .. } => _ = lines.insert(at / 64),
            Action::Flush { .. } => flushes += 1,
            Action::Fence => fences += 1,
            _ => {}
        }
    }
    (lines.len() as u64, flushes, fences)
}

/// The paper's Table 1.
#[test]
fn n22_an_operation_without_a_structural_change_writes_one_line() {
    let sim = Sim::new(Model::WEAKEST_ADR, 4 * LIMIT);
    let tree = Slots63::about(Vec::new()).create(sim.clone()).unwrap();
    // The first operation on a partition walks along its chain, and makes that durable.
    counted(&sim, &tree, MapOp::Put(60, 1));
    for key in 1..60 {
        assert_eq!(counted(&sim, &tree, MapOp::Put(key, 1)), (1, 1, 1), "insert {key}");
    }
    for key in 1..60 {
        assert_eq!(counted(&sim, &tree, MapOp::Put(key, 2)), (1, 1, 1), "update {key}");
    }
    for key in 10..60 {
        assert_eq!(counted(&sim, &tree, MapOp::Remove(key)), (1, 1, 1), "remove {key}");
    }
}
