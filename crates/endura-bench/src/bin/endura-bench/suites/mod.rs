//! Suites: workloads on many stores, which make a [`Results`](endura_bench::results::Results) each.

pub(crate) mod after_kill;
pub(crate) mod mixes;
pub(crate) mod pibench;
pub(crate) mod sweep;
pub(crate) mod tpcc;
pub(crate) mod ycsb;

mod run;

pub(crate) use run::{show, with_progress};
