//! Changes words of a sound pool as the fuzzer says, then calls every operation.
#![no_main]

#[path = "../../crates/endura/tests/damage/every_operation.rs"]
#[allow(dead_code, reason = "the tests also damage files")]
mod every_operation;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| every_operation::on_heap(bytes));
