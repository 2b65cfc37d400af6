//! Calls of the functions as C makes them: what they do, and what becomes of wrong ones.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod bytes;
mod changes;
mod every;
mod misuse;
mod model;
mod numbers;
mod order;
mod pools;
mod processes;
mod random;
mod support;
mod threads;
