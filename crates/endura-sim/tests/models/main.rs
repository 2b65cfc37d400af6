//! Models of commits of several changes at once: all executions, with a crash in each state, and each rule left out.
//!
//! The code is explored elsewhere: by schedules of its threads (`tests/batches`), and under loom. A model is what the code was
//! written from. It is small enough for *all* executions, and says which rule is needed for what.
//!
//! `cargo test -p endura-sim --test models -- --nocapture` prints the states, and what is found without each rule.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod checker;
mod commits;
mod ends;
mod flights;
mod views;
