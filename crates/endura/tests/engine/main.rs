//! What all maps of a pool promise beside each other, and what a pool costs the machine.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod damage_is_told;
mod disk_writes;
