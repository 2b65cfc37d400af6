//! `Map<K, V>`: every method, every type, every kind.
#![allow(clippy::unwrap_used, reason = "a test that fails ends")]

mod ahead;
mod bulk;
#[path = "../support/cases.rs"]
mod cases;
mod codecs;
mod dynamic;
mod dynamic_model;
mod killed;
mod model;
#[allow(dead_code, unused, clippy::all, reason = "compiled as a user would write it, and not run")]
#[path = "../../../endura/tests/ui/pass.rs"]
mod must_compile;
mod operations;
mod places;
mod readers;
mod skips;
mod sources;
mod threads;
mod types;
