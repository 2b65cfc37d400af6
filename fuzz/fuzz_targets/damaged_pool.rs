//! Changes words of a sound pool as the fuzzer says, then calls every operation.
#![no_main]
#![allow(clippy::unwrap_used, reason = "what is prepared is sound")]

#[path = "../../crates/endura-tests/tests/support/cases.rs"]
#[allow(dead_code, reason = "the tests count, too")]
mod cases;
#[path = "../../crates/endura-tests/tests/damage/choices.rs"]
#[allow(dead_code, reason = "other damage chooses among more")]
mod choices;
#[path = "../../crates/endura-tests/tests/damage/every_operation.rs"]
#[allow(dead_code, reason = "the tests also damage files of one kind")]
mod every_operation;
#[path = "../../crates/endura-tests/tests/support/killed_file.rs"]
mod killed_file;
#[path = "../../crates/endura-tests/tests/damage/maps.rs"]
mod maps;
#[path = "../../crates/endura-tests/tests/damage/tiny_records.rs"]
mod tiny_records;

use std::sync::LazyLock;

use every_operation::{Files, TinyFastFair, TinyNbTree, on_heap};
use tiny_records::{TinyFairRecords, TinyFairStrings, TinyNbRecords, TinyNbStrings, TinyRoart};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    static MAPS: LazyLock<Files> = LazyLock::new(maps::files);
    // The same bytes for all: what is common to them is found in a part of the time.
    on_heap::<TinyFastFair>(bytes);
    on_heap::<TinyNbTree>(bytes);
    on_heap::<TinyFairStrings>(bytes);
    on_heap::<TinyNbStrings>(bytes);
    on_heap::<TinyRoart>(bytes);
    on_heap::<TinyFairRecords>(bytes);
    on_heap::<TinyNbRecords>(bytes);
    MAPS.on_file(bytes);
    MAPS.on_killed_file(bytes);
});
