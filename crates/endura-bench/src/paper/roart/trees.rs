//! ROART with all techniques and without some, and all operations on it.

use endura::{Kind, MediaChoice};
use endura_engine::tree::roart::Techniques;

use crate::Result;
use crate::experiment::{OperationMix, Subject, Work, adr};
use crate::paper::bed::{bytes, curve, loaded, mops, time, work};
use crate::paper::scale::PaperScale;
use crate::results::Plot;
use crate::results::plotting::{groups, rates};
use crate::store::Shape;

/// Keys of 4 to 128 random bytes, values of 8.
pub(super) const KEYS: Shape = Shape::ROART;

pub(super) const OPERATIONS: [(&str, OperationMix); 5] = [
    ("lookup", OperationMix::GET),
    ("insert", OperationMix::INSERT),
    ("update", OperationMix::UPDATE),
    ("scan 100", OperationMix::scan(100)),
    ("remove", OperationMix::REMOVE),
];

/// All techniques, as users have it.
pub(super) fn full(scale: &PaperScale, shape: Shape) -> Result<Subject> {
    loaded(Subject::pool(&scale.dir, Kind::Roart, MediaChoice::Adr, shape)?, scale)
}

/// These techniques, on a medium of its own: what differs is the techniques alone.
pub(super) fn roart<T: Techniques>(scale: &PaperScale, shape: Shape) -> Result<Subject> {
    loaded(Subject::roart::<_, T>(adr(&scale.dir, bytes(scale, shape))?, shape)?, scale)
}

/// Million operations per second of each operation.
pub(super) fn bars(subjects: Vec<Subject>, scale: &PaperScale, threads: usize) -> Result<Plot> {
    let mut all = Vec::new();
    for subject in subjects {
        all.push(curve(&subject, OPERATIONS.iter().enumerate(), |(x, &(_, mix))| {
            let operations = scale.operations_on_loaded() / if mix.scan > 0 { 20 } else { 1 };
            let plan = Work { operations, threads, ..work(scale) };
            Ok((x as f64, mops(time(&subject, mix, plan, scale)?)))
        })?);
    }
    Ok(rates(&crate::figures::threads(threads), groups(OPERATIONS.map(|o| o.0)), all))
}
