//! One error type for the whole library.

mod advice;
mod checkpoint;
#[allow(clippy::module_inception, reason = "the type that the module is named after")]
mod error;
mod limit;
mod span;
mod text;

pub(crate) use advice::A_FOLDER;
pub use checkpoint::{CheckpointProblem, FoundCheckpoint};
pub use error::{BoxError, Error, Result};
pub use limit::SpaceLimit;
pub use span::since;
