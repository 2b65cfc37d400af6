//! Batches, transactions, and reads of one moment, through the public interface.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod contended;
mod copies;
mod crowded;
mod histories;
mod killed;
mod limits;
mod maps;
mod model;
mod nested;
#[path = "../faults/process.rs"]
mod process;
mod typed;
mod views;
