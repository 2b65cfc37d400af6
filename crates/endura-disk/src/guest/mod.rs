//! What runs in the machine: writers whose traces tell which moment a pool is of.

mod args;
mod history;
mod load;
mod maps;
mod moment;
mod session;
mod writers;

pub(crate) use args::LoadArgs;
pub(crate) use load::run;
