//! The command used as somebody would who wants to break it: nothing is destroyed, nothing is left half
//! done, and whatever is refused is refused in words that help.

#![allow(clippy::expect_used, reason = "a test fails by a panic")]

mod hand_over;
#[path = "../support/mod.rs"]
mod support;
