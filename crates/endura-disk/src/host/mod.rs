//! The machine, its power, and what was promised.

mod args;
mod machine;
mod plan;
mod promise;
mod report;
mod rounds;

pub(crate) use args::CutArgs;
pub(crate) use rounds::run;
