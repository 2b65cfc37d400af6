//! The engine as all maps use it: progress, hostile files, space, what maps of a pool promise beside each other, and
//! what a pool costs the machine. Bounded in time: a hang is a failure.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod batches;
mod damage;
mod ends;
#[path = "../../../endura-tests/tests/support/killed_file.rs"]
mod killed_file;
mod lifetime;
mod nesting;
mod progress;
mod space;
mod steps;
mod support;
