//! ROART from outside: against a model, at the edges, under threads that stop at every step, across
//! crashes, and without memory.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod counts;
mod crashes;
mod damage;
mod edges;
mod full;
mod killed;
mod model;
mod policies;
mod races;
mod ranges;
mod readers;
mod shapes;
mod soak;
mod streams;
mod world;
