//! A call that is left out, to see whether the exploration notices.

use std::collections::BTreeMap;
use std::fmt::Write;

use endura_engine::tree::key_word::One;
use endura_sim::model::Model;
use endura_sim::mutant::{Call, Mutant, Use};
use endura_sim::sim::Sim;
use endura_sim::subject::Subject;
use endura_sim::subjects::{
    FairBytes, FairRecords, FastFair, LIMIT, MapOp, NbBytes, NbRecords, NbTree, RoartBytes,
};
use endura_sim::workload::Workload;
use endura_variants::roart::Tiny;

use crate::args::Index;
use endura_console::outcome::{Failure, Result};
use endura_console::text::grouped;

/// Operations in which every call should come up.
const OPS: usize = 2_000;

/// The program of an index without the call at `place`.
pub(crate) fn without(index: Index, place: &str) -> Result<Mutant> {
    let keys = Workload::new(0, 20, 0).keys;
    let calls = match index {
        Index::FastFair => calls(&FastFair::<14, 20>::about(keys))?,
        Index::NbTree => calls(&NbTree::<8, 4>::about(keys))?,
        Index::FastFairStrings => calls(&FairBytes::<24, 24, One>::about(keys))?,
        Index::NbTreeStrings => calls(&NbBytes::<16, 4, One>::about(keys))?,
        Index::Roart => calls(&RoartBytes::<Tiny>::about(keys))?,
        Index::FastFairRecords => calls(&FairRecords::<14, 14>::about(keys))?,
        Index::NbTreeRecords => calls(&NbRecords::<8, 4>::about(keys))?,
    };
    let changes = |call: &Call| call.what != Use::Load;
    if let Some(&call) = calls.keys().find(|call| changes(call) && call.site.to_string() == place) {
        return Ok(Mutant::Drop(call));
    }
    let mut text = format!("nothing is called at {place}; what is, and how often:\n");
    for (call, count) in calls.iter().filter(|(call, _)| changes(call)) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {:10} {}  {:?}", grouped(*count), call.site, call.what);
    }
    Err(Failure::Usage(text.trim_end().to_owned()))
}

/// The calls that a long history makes.
fn calls<S: Subject<Op = MapOp>>(subject: &S) -> Result<BTreeMap<Call, u64>> {
    let sim = Sim::new(Model::WEAKEST_ADR, LIMIT);
    sim.count_calls();
    let open = subject.create(sim.clone()).map_err(Failure::Message)?;
    for op in Workload::new(0, 20, OPS).ops {
        subject.apply(&open, &op).map_err(Failure::Message)?;
    }
    Ok(sim.calls())
}
