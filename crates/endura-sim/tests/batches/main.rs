//! Threads that change several keys at once, write single ones, and read, in two maps of each pair of kinds: all schedules have
//! readers, and are crashed. A pool is one object for the check ([`endura_linear::PoolOp`]).
//!
//! `cargo test` runs a quick part. Without end, or for `ENDURA_SIM_SECONDS`:
//! `cargo test --release -p endura-sim --test batches -- --ignored --nocapture`.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod directed;
mod pairs;
mod progress;
