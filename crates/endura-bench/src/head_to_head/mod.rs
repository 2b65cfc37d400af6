//! endura beside one peer: rounds, in which they take turns operation by operation.

mod config;
mod operation;
mod outcome;
mod run;
mod summary;

pub use config::Config;
pub use operation::{Operation, Sizes};
pub use outcome::{ENDURA, Outcome, Sample, StoreSpace};
pub use run::run;
pub use summary::{Figure, figures};
pub(crate) use summary::{ratio, select};
