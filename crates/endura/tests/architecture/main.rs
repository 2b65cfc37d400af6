//! The shape of the code, checked by reading it.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod circles;
mod drawing;
mod errors;
mod examples;
mod figures;
mod house;
mod names;
mod pages;
mod rules;
mod surface;
