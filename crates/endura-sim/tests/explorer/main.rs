//! The explorer itself: that it misses nothing, and tells what it finds shortly.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod eager;
mod hygiene;
mod readers;
mod shrink;
