//! Damages the file of checkpoints beside a torn pool as the fuzzer says, then opens the pool: it is what a checkpoint was, or it is
//! refused and has not changed.
#![no_main]
#![allow(clippy::unwrap_used, reason = "what is prepared is sound")]

#[path = "../../crates/endura-tests/tests/damage/checkpoints/mod.rs"]
#[allow(dead_code, reason = "the other targets have the other functions")]
mod checkpoints;
#[path = "../../crates/endura-tests/tests/damage/choices.rs"]
#[allow(dead_code, reason = "other damage chooses among more")]
mod choices;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checkpoints::torn::damaged_checkpoint(bytes));
