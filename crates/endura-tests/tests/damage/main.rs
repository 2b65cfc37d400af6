//! Damaged pools: whatever a word of a pool is changed to, every operation answers or fails. It
//! does not panic, it does not hang, and it does not touch what lies outside the pool.
//!
//! `ENDURA_FUZZ_SECONDS` sets how long each test runs (2 or 4 if unset; 60 before a release), and
//! `ENDURA_FUZZ_SEED` where it starts. A failure prints the bytes that lead to it; put them into
//! `KNOWN`, and the first test replays them.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

#[path = "../support/cases.rs"]
#[allow(dead_code, reason = "the tests of maps count, too")]
mod cases;
mod checkpoints;
mod choices;
mod every_operation;
#[path = "../support/killed_file.rs"]
mod killed_file;
mod maps;
mod tiny_records;

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use checkpoints::backup::damaged_backup;
use checkpoints::superblock::damaged_superblock;
use checkpoints::torn::damaged_checkpoint;
use endura::Kind;
use endura_variants::random::mix;
use every_operation::{Files, TinyFastFair, TinyNbTree, on_heap};
use tiny_records::{TinyFairRecords, TinyFairStrings, TinyNbRecords, TinyNbStrings, TinyRoart};

/// Bytes that once led to a panic or a hang, in hexadecimal.
const KNOWN: [&str; 5] = [
    "610c86c0634de3b787021296180ef32f7b18fee3f4aa06d21a583ae42d8e869ffe27de4b42191934fcd91d8e7c69569e77d713908de89505693c557ab931cf2912298ba2df0d2b53113ac084ca703de1aa4dafa3a9d687e1ce81babb804c1115",
    "d9eef0c3e5b043274e5f7a1796f6df3b509caf49d2fd4c5c97bf5d1f9776cc21cda664470d732cb8022a732a89fb43ec214779de3a262fd3b21cc0ca345f6366f8ef2226baa59f22c11dc20a0a5885dc9bd1c1800c79aa0b26a0d67f18cd6949",
    "5b0f63e7b19493997fdde31cdd4c38400671b7d176a370b2bf30658ad08811a77c5374084992ddabde4907140e76db2a99f10ee9d0dc3ad52fef21ec1a7ee39e4892197ba1ad253cda092268c830195b3a495c50b25d8aa22aee2f3241d84282",
    "d327d8ee6d5f69aeabbb6a8dd8651e69cc92b624390eab763f9fec68e0ec73fc78da8c98c2cc365ed14956f30194379225c552771e92490af4f3b05dd8da43d64b3530e519813e8261e6892ab2fd2e48d6e612d5098407eaa6fd14e79bf1f54f",
    "8081109de94eaa8443451fc6562bb8e6d12a948a20b2e65b3662e6fa2d2afbfa84f29077c36ed7af34c2d4229b978c0aa66b92a2212edd6c93c196c252c94c60d80080e3304f21580f431762527f9f0ac8f46f88b72afefd229d5758633f873b",
];

/// The same of pools with checkpoints.
const KNOWN_OF_CHECKPOINTS: [&str; 2] = [
    // The last sequence number of a superblock: none follows for the close.
    "05fdd901d72086e35a5ff8debf9ce0abac6b8e657920327c0d72311ef286e35a5ff8debf9ce0abac6b657920327c0d7231e4",
    // A file of checkpoints that is cut while the pool is open.
    "db71082ea307e0000000016a3e6e7674c51682453072649efc60d2571a0e0d4b55cd157172649efc",
];

/// Fewer inputs say nothing, however slow the machine is.
const FEWEST: u64 = 20;

/// Longer than any one input takes on a loaded machine.
const HANGS: Duration = Duration::from_secs(60);

/// Panics of any thread since the start; the library's own threads have nobody who joins them.
static PANICS: AtomicU64 = AtomicU64::new(0);

fn count_panics() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let print = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            PANICS.fetch_add(1, Ordering::Relaxed);
            print(info);
        }));
    });
}

fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().expect("a number"))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// So many bytes that look random.
fn random(seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(state) as u8
    };
    (0..96).map(|_| next()).collect()
}

/// The input that is being tried, and since when.
struct Trial<'t> {
    now: &'t Mutex<(Instant, Vec<u8>)>,
    run: &'t dyn Fn(&[u8]),
}

impl Trial<'_> {
    fn of(&self, bytes: Vec<u8>) {
        let panics = PANICS.load(Ordering::Relaxed);
        *self.now.lock().unwrap() = (Instant::now(), bytes.clone());
        let outcome = panic::catch_unwind(AssertUnwindSafe(|| (self.run)(&bytes)));
        let panicked = outcome.is_err() || PANICS.load(Ordering::Relaxed) != panics;
        assert!(!panicked, "a panic on the bytes {}", hex(&bytes));
    }
}

/// Lets `inputs` try inputs; ends the process if one of them hangs.
fn watched(run: &dyn Fn(&[u8]), inputs: impl FnOnce(&Trial<'_>)) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    count_panics();
    let now = Mutex::new((Instant::now(), Vec::new()));
    let (ended, watch) = std::sync::mpsc::channel::<()>();
    thread::scope(|scope| {
        let now = &now;
        scope.spawn(move || {
            while watch.recv_timeout(Duration::from_secs(1)) == Err(RecvTimeoutError::Timeout) {
                let (since, bytes) = &*now.lock().unwrap();
                if since.elapsed() > HANGS {
                    eprintln!("a hang on the bytes {}", hex(bytes));
                    std::process::abort();
                }
            }
        });
        let _ended = ended;
        inputs(&Trial { now, run });
    });
}

fn fuzz(run: &dyn Fn(&[u8])) {
    fuzz_for(4, run);
}

/// For so many seconds, if nothing else is said.
fn fuzz_for(seconds: u64, run: &dyn Fn(&[u8])) {
    let first = setting("ENDURA_FUZZ_SEED", 1) << 32;
    let mut seed = first;
    watched(run, |trial| {
        let end = Instant::now() + Duration::from_secs(setting("ENDURA_FUZZ_SECONDS", seconds));
        while Instant::now() < end || seed < first + FEWEST {
            trial.of(random(seed));
            seed += 1;
        }
    });
    println!("{} damaged pools", seed - first);
}

fn bytes_of(text: &str) -> Vec<u8> {
    let pairs = (0..text.len()).step_by(2).map(|i| &text[i..i + 2]);
    pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}

#[test]
fn what_was_found_once_stays_fixed() {
    let replay = |run: &dyn Fn(&[u8])| {
        watched(run, |trial| KNOWN.iter().for_each(|text| trial.of(bytes_of(text))));
    };
    for run in [damaged_checkpoint, damaged_superblock, damaged_backup] {
        watched(&run, |trial| {
            KNOWN_OF_CHECKPOINTS.iter().for_each(|text| trial.of(bytes_of(text)));
        });
    }
    replay(&on_heap::<TinyFastFair>);
    replay(&on_heap::<TinyNbTree>);
    replay(&on_heap::<TinyFairStrings>);
    replay(&on_heap::<TinyNbStrings>);
    replay(&on_heap::<TinyRoart>);
    replay(&on_heap::<TinyFairRecords>);
    replay(&on_heap::<TinyNbRecords>);
    let kinds = [Kind::FastFair, Kind::NbTree].map(Files::of);
    for files in kinds.into_iter().chain([maps::files()]) {
        replay(&|bytes| files.on_file(bytes));
    }
}

#[test]
fn a_torn_pool_beside_a_damaged_checkpoint_is_one_or_is_refused() {
    fuzz_for(2, &damaged_checkpoint);
}

#[test]
fn a_pool_with_a_damaged_superblock_is_what_it_was_or_is_refused() {
    fuzz_for(2, &damaged_superblock);
}

#[test]
fn a_backup_from_a_damaged_checkpoint_is_one_or_is_refused() {
    fuzz_for(2, &damaged_backup);
}

#[test]
fn a_damaged_pool_on_the_heap_answers_or_fails() {
    fuzz(&on_heap::<TinyFastFair>);
}

#[test]
fn a_damaged_pool_file_answers_or_fails() {
    let files = Files::of(Kind::FastFair);
    fuzz(&|bytes| files.on_file(bytes));
}

#[test]
fn a_damaged_nbtree_on_the_heap_answers_or_fails() {
    fuzz(&on_heap::<TinyNbTree>);
}

#[test]
fn a_damaged_nbtree_file_answers_or_fails() {
    let files = Files::of(Kind::NbTree);
    fuzz(&|bytes| files.on_file(bytes));
}

#[test]
fn damaged_strings_on_the_heap_answer_or_fail() {
    fuzz(&on_heap::<TinyFairStrings>);
}

#[test]
fn damaged_strings_of_an_nbtree_on_the_heap_answer_or_fail() {
    fuzz(&on_heap::<TinyNbStrings>);
}

#[test]
fn a_damaged_roart_tree_on_the_heap_answers_or_fails() {
    fuzz(&on_heap::<TinyRoart>);
}

#[test]
fn damaged_integers_with_records_on_the_heap_answer_or_fail() {
    fuzz_for(2, &on_heap::<TinyFairRecords>);
    fuzz_for(2, &on_heap::<TinyNbRecords>);
}

#[test]
fn damaged_maps_of_all_types_answer_or_fail() {
    let files = maps::files();
    fuzz(&|bytes| files.on_file(bytes));
}

/// A store to a file that is mapped to be read only ends the process.
#[test]
fn a_damaged_file_of_a_killed_process_is_only_read() {
    let kinds = [Kind::FastFair, Kind::NbTree].map(Files::of);
    let files: Vec<Files> = kinds.into_iter().chain([maps::files()]).collect();
    let turn = std::cell::Cell::new(0);
    fuzz(&|bytes| {
        turn.set(turn.get() + 1);
        files[turn.get() % files.len()].on_killed_file(bytes);
    });
}
