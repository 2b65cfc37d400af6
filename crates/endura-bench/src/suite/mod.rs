//! Workloads on many stores: rounds in which the stores take turns.
//!
//! In each round, for each number of threads, every store is made anew, loaded, taken through all
//! stages, verified, closed and opened again; the next store has its turn then, or after each stage
//! ([`Turns`]). The order of the stores shifts by one from round to round. A stage runs a tenth of its
//! operations unmeasured first.

mod collect;
mod record;
mod run;
mod settings;
mod stage;
mod tpcc;
mod turn;

pub use run::run;
pub use settings::{Settings, Turns};
pub use stage::{Stage, Suite};
pub use tpcc::tpcc;
pub use turn::Progress;
