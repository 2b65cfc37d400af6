//! Workloads that are run one after the other.

use crate::results::Parameter;
use crate::store::Shape;
use crate::workload::Workload;
use crate::workload::plain::{Operation, Sizes};

/// Keys that are looked for after the last stage, and as many that must be gone.
pub(super) const VERIFIED: u64 = 100_000;

/// Workloads that are run one after the other on the same entries.
#[derive(Debug, Clone)]
pub struct Suite {
    /// The name in tables.
    pub name: String,
    /// Keys that are loaded.
    pub keys: u64,
    /// How long keys and values are.
    pub shape: Shape,
    /// What is run, in this order.
    pub stages: Vec<Stage>,
    /// What this suite is a point of.
    pub parameter: Option<Parameter>,
}

impl Suite {
    /// The plain operations, in their order: each finds what the ones before it left.
    pub fn plain(name: &str, sizes: Sizes, shape: Shape, operations: &[Operation]) -> Self {
        let of = |o: &Operation| *o != Operation::Load && operations.contains(o);
        let stage = |o: Operation| Stage::new(o.workload(), sizes.of(o));
        let stages = Operation::ALL.into_iter().filter(of).map(stage).collect();
        Self { name: name.into(), keys: sizes.keys, shape, stages, parameter: None }
    }
}

/// One workload of a suite.
#[derive(Debug, Clone)]
pub struct Stage {
    /// What is run.
    pub workload: Workload,
    /// How many operations, all threads together.
    pub operations: u64,
    /// What this stage is a point of, if not its suite.
    pub parameter: Option<Parameter>,
}

impl Stage {
    /// So many operations of a workload, not part of a sweep.
    pub fn new(workload: Workload, operations: u64) -> Self {
        Self { workload, operations, parameter: None }
    }
}
