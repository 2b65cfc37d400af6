//! ROART from outside: against a model, at the edges, under threads that stop at every step, across
//! crashes, and without memory.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

#[path = "../support/children.rs"]
mod children;
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
#[path = "../support/sessions.rs"]
mod sessions;
mod shapes;
mod soak;
#[allow(dead_code, reason = "the tests of the other trees use the rest")]
#[path = "../support/stage.rs"]
mod stage;
mod streams;
mod world;
