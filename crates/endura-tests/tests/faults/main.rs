//! What goes wrong outside of the trees: bad files, full disks, sessions that do not end.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod begins;
mod closes;
mod contained;
mod copies;
mod create;
mod cuts;
mod damage_met;
mod down;
mod durable;
mod full;
mod generation_turn;
mod holds;
mod identity;
mod idle;
mod intervals;
#[path = "../support/killed_file.rs"]
mod killed_file;
mod limit;
mod live_images;
mod load;
mod mounts;
mod names;
mod not_closed;
mod open;
mod overlay;
mod places;
mod plain_copies;
mod power_loss;
mod process;
mod random;
mod readers;
mod refused;
mod released;
mod replays;
mod restore;
mod schedules;
mod sequences;
mod stays;
mod storable;
