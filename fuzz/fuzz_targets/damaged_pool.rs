//! Changes words of a sound pool as the fuzzer says, then calls every operation.
#![no_main]

#[path = "../../crates/endura/tests/damage/every_operation.rs"]
#[allow(dead_code, reason = "the tests also damage files")]
mod every_operation;

use every_operation::{TinyFastFair, TinyNbTree, on_heap};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // The same bytes for both kinds: what is common to them is found in half the time.
    on_heap::<TinyFastFair>(bytes);
    on_heap::<TinyNbTree>(bytes);
});
