//! Campaigns: every crash of every short history, and of many long ones.
//!
//! Two of the tests are part of every run of the tests. The others take the time they are given:
//!
//! ```text
//! ENDURA_SIM_SECONDS=3600 cargo test --release -p endura-sim --test campaign -- --ignored --nocapture
//! ```

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod exhaustive;
mod jobs;
mod killed;
mod killed_pool;
mod nbtree;
mod pool;
mod radix;
mod radix_random;
mod random;
mod report;

/// Every step that the tree announces (`docs/trees.md`).
const STEPS: [&str; 27] = [
    "fast_delete.commit",
    "fast_delete.shift",
    "fast_insert.commit",
    "fast_insert.shift",
    "lock.taken",
    "merge.M1",
    "merge.M2",
    "merge.M3",
    "merge.M4.high",
    "merge.M4.sib",
    "merge.M4.tag",
    "merge.M5",
    "post.P1",
    "post.P2",
    "read.inner",
    "read.leaf",
    "repair.duplicate",
    "repair.merging",
    "repair.splitting",
    "root.grow",
    "root.shrink",
    "split.S2",
    "split.S3.durable",
    "split.S3.high",
    "split.S3.sib",
    "split.S3.tag",
    "split.S4",
];
