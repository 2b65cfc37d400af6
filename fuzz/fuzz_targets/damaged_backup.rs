//! Damages the file of checkpoints of a pool as the fuzzer says, then makes backups: each is what a checkpoint or the pool was, or it is
//! refused and leaves nothing.
#![no_main]
#![allow(clippy::unwrap_used, reason = "what is prepared is sound")]

#[path = "../../crates/endura-tests/tests/damage/checkpoints/mod.rs"]
#[allow(dead_code, reason = "the other targets have the other functions")]
mod checkpoints;
#[path = "../../crates/endura-tests/tests/damage/choices.rs"]
#[allow(dead_code, reason = "other damage chooses among more")]
mod choices;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checkpoints::backup::damaged_backup(bytes));
