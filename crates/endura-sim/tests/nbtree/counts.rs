//! N22. Lines of the pool that an operation stores to, counted in the trace of a simulated medium.

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

fn tree(model: Model) -> (Sim, OpenNbTree<128, 64>) {
    let sim = Sim::new(model, 4 * LIMIT);
    let open = Slots63::about(Vec::new()).create(sim.clone()).unwrap();
    (sim, open)
}

/// The paper's Table 1.
#[test]
fn n22_an_operation_without_a_structural_change_writes_one_line() {
    let (sim, tree) = tree(Model::WEAKEST_ADR);
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

/// Structural changes included: what a uniform load costs in the mean.
#[test]
fn n22_a_uniform_load_writes_little_more_than_a_line_an_insert() {
    const KEYS: u64 = 20_000;
    let (sim, tree) = tree(Model::WEAKEST_ADR);
    let mut sum = [0; 3];
    for n in 1..=KEYS {
        let key = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let (lines, flushes, fences) = counted(&sim, &tree, MapOp::Put(key, n));
        [lines, flushes, fences].iter().zip(&mut sum).for_each(|(one, sum)| *sum += one);
    }
    let [lines, flushes, fences] = sum.map(|sum| sum as f64 / KEYS as f64);
    println!("{lines} lines, {flushes} flushes, {fences} fences an insert");
    assert!(lines <= 2.7 && flushes <= 2.2 && fences <= 1.2, "{lines}, {flushes}, {fences}");
    assert!(lines > 1.5 && flushes > 1.3, "there were changes");
}
