//! The module in a real server: `redis-server` must be installed (Debian: `apt-get install redis-server`).
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]
#![allow(missing_docs, reason = "tests")]

mod acl;
mod aof;
mod arguments;
mod cluster;
mod commands;
mod copies;
mod dialogues;
mod files;
mod forks;
mod fuzz;
mod keys;
mod kills;
mod migrations;
mod operators;
mod overwritten;
mod ranges;
mod refusals;
mod removals;
mod replicas;
mod resyncs;
mod slots;
mod states;
mod steps;
mod support;
mod wholes;
