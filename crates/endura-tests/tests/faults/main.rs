//! What goes wrong outside of the trees: bad files, full disks, sessions that do not end.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod copies;
mod create;
mod damage_met;
mod durable;
mod full;
mod generation_turn;
mod identity;
#[path = "../support/killed_file.rs"]
mod killed_file;
mod limit;
mod mounts;
mod names;
mod not_closed;
mod open;
mod overlay;
mod power_loss;
mod process;
mod random;
mod readers;
mod restore;
mod sequences;
