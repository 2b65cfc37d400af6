//! What the quick campaign runs: short, and through every step of every protocol of a tree.

use endura_sim::subjects::MapOp;

/// What is durable beforehand, and what is crashed.
pub(crate) struct Plan {
    pub(crate) before: Vec<MapOp>,
    pub(crate) ops: Vec<MapOp>,
}

fn puts(keys: impl IntoIterator<Item = u64>) -> Vec<MapOp> {
    keys.into_iter().map(|key| MapOp::Put(10 * key, key)).collect()
}

fn removes(keys: impl IntoIterator<Item = u64>) -> Vec<MapOp> {
    keys.into_iter().map(|key| MapOp::Remove(10 * key)).collect()
}

/// One leaf of up to `cap` entries: inserts with and without shifts, updates, removes, splits.
pub(crate) fn of_a_leaf(cap: u64) -> Vec<Plan> {
    let mut plans = Vec::new();
    for count in [1, cap - 1, cap] {
        let before = puts((1..=count).map(|key| 2 * key));
        for key in [1, 2, cap, cap + 1, 2 * count, 2 * count + 1] {
            plans.push(Plan { before: before.clone(), ops: puts([key]) });
            plans.push(Plan { before: before.clone(), ops: removes([key]) });
        }
    }
    plans
}

/// Posts into inner nodes that split, and new roots; merges of all levels, and roots that go.
pub(crate) fn of_a_tree(cap: u64) -> Vec<Plan> {
    let many = 2 * cap * cap;
    let grown = puts((1..=many).map(|key| 2 * key));
    let mut plans: Vec<Plan> = [1, cap, many, 2 * many - 1, 2 * many + 1]
        .into_iter()
        .map(|key| Plan { before: grown.clone(), ops: puts([key]) })
        .collect();
    for gone in [cap - 1, cap, 2 * cap, many - cap, many - 2, many - 1] {
        let before = [grown.clone(), removes((1..=gone).map(|key| 2 * key))].concat();
        plans.push(Plan { before: before.clone(), ops: removes([2 * (gone + 1)]) });
        plans.push(Plan { before, ops: puts([1, 3]) });
    }
    plans
}

/// Grows and shrinks a tree until chunks of nodes that went are used again.
pub(crate) fn churn() -> Plan {
    let round = || [puts(1..=14), removes((2..=14).rev())].concat();
    Plan { before: Vec::new(), ops: (0..14).flat_map(|_| round()).collect() }
}

/// One operation that a kill ends, and what the next process does before it looks at anything.
pub(crate) fn of_kills() -> Vec<(Plan, Vec<MapOp>)> {
    let mut plans = Vec::new();
    for count in [3, 6, 7] {
        let before = puts(1..=count);
        let ops = [puts([count]), puts([1]), removes([1]), removes([2]), puts([count + 1])];
        for op in ops {
            for next in [removes([20]), puts([1]), puts([count]), removes([count])] {
                plans.push((Plan { before: before.clone(), ops: op.clone() }, next));
            }
        }
    }
    plans
}

/// The same, where the leak recovery of the next process does not find what was merged away. At the other
/// end of the tree it lets the leak recovery end, and then uses again what that has freed.
pub(crate) fn of_collected_kills() -> Vec<(Plan, Vec<MapOp>)> {
    let mut plans = Vec::new();
    for (count, gone) in [(6, 3), (12, 2), (12, 4), (12, 6), (12, 9), (18, 9)] {
        let before = [puts(1..=count), removes(1..=gone)].concat();
        let updates = (0..16).map(|value| MapOp::Put(10 * count, value));
        let next = updates.chain(puts(count + 1..=count + 8)).collect();
        plans.push((Plan { before, ops: removes([gone + 1]) }, next));
    }
    plans
}
