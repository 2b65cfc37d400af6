//! FAST & FAIR of byte strings, with tiny nodes: calls that matter. (Crashes of short histories are a matter of `campaign`,
//! threads one of `schedules`.)
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod mutation;
