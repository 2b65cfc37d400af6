//! FAST&FAIR from outside: against a model, under threads that stop at named steps, across
//! crashes, and without memory.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod crashes;
mod edges;
mod footprint;
mod full;
mod killed;
mod model;
mod races;
mod soak;
mod steps;
#[path = "../support/mod.rs"]
mod support;
