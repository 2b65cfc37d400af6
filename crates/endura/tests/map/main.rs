//! `Map<K, V>`: every method, every type, every kind.
#![allow(clippy::unwrap_used, reason = "a test that fails ends")]

mod cases;
mod killed;
mod model;
mod types;
