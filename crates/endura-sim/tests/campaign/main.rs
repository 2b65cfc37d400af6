//! Campaigns: every crash of every short history, and of many long ones.
//!
//! Two of the tests are part of every run of the tests. The others take the time they are given:
//!
//! ```text
//! ENDURA_SIM_SECONDS=3600 cargo test --release -p endura-sim --test campaign -- --ignored --nocapture
//! ```

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod exhaustive;
mod fair_bytes;
mod fast_fair;
mod jobs;
mod killed;
mod kinds;
mod marked;
mod nb_bytes;
mod nbtree;
mod pool;
mod radix;
mod random;
mod records;
mod report;
