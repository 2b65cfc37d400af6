//! The files that the library makes and keeps open: no file that is not its own is written, followed or removed.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod descriptors;
mod forged;
mod modes;
mod neighbours;
#[path = "../faults/process.rs"]
mod process;
