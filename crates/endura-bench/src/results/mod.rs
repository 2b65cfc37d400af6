//! What every measurement leaves behind: one serialisable type for suites, papers, counts and floors,
//! which tables, the report and the comparison of two runs all read.
//!
//! A [`Results`] is what one command measured; a [`Measurement`] is one quantity of one store in one
//! setting, round by round.

pub(crate) mod plotting;

mod compare;
mod file;
mod machine;
mod measurement;
mod plot;
mod relative;
mod store_info;

pub use compare::{Change, Compared, Comparison, compare};
pub use file::{FORMAT, Results};
pub use machine::Machine;
pub use measurement::{
    Better, CPU_TIME, EXACT_UNIT, Measurement, MeasurementKey, Parameter, Quantity,
};
pub use measurement::{TAIL, WALL_TIME};
pub use plot::{Across, Plot, Point, Series};
pub(crate) use relative::{pairs, rounds, times_as_good};
pub use relative::{relative, speedups};
pub use store_info::{Promise, Role, StoreInfo};
