//! NBTree from outside: against a model, under threads that stop at named steps, across crashes, and
//! without memory.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod counts;
mod crashes;
mod edges;
mod footprint;
mod full;
mod killed;
mod model;
mod pools;
mod races;
mod restarts;
mod soak;
mod stall;
mod steps;
#[path = "../support/mod.rs"]
mod support;
