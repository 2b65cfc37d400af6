//! The engine as all maps use it: progress, hostile files, space, what maps of a pool promise beside each other, and
//! what a pool costs the machine. Bounded in time: a hang is a failure.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod arithmetic;
mod closing;
mod closures;
mod collections;
mod counts;
mod damage_is_told;
mod deep;
mod disk_writes;
mod drops;
mod ends;
mod events;
mod forked;
mod handshake;
mod hostile;
mod idle;
#[path = "../support/killed_file.rs"]
mod killed_file;
mod kills;
mod lens;
mod listeners;
mod memory;
mod nested;
mod numbers;
mod one_moment;
mod patched;
mod patience;
mod pins;
mod pools;
mod pops;
mod read_only;
mod recursive;
mod refill;
mod renames;
mod rivals;
mod stalls;
mod unknown_nodes;
mod unwinding;
mod watched;
mod words;
