//! Waits of one thread for another: that each lets the other one run, and what they cost where many threads want
//! one node.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod crowd;
mod real_time;
