//! `endura bench checkpoints`: what checkpoints cost on the disk in question.

mod args;
mod run;
mod tables;

pub(crate) use args::Args;
pub(crate) use run::run;
