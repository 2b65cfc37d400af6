//! The module in a real server: `redis-server` must be installed (Debian: `apt-get install redis-server`).
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]
#![allow(missing_docs, reason = "tests")]

mod acl;
mod aof;
mod arguments;
mod cluster;
mod commands;
mod dialogues;
mod files;
mod forks;
mod fuzz;
mod keys;
mod kills;
mod overwritten;
mod refusals;
mod removals;
mod replicas;
mod resyncs;
mod states;
mod steps;
mod support;
mod wholes;
