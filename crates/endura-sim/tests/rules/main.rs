//! Each rule of the protocol of several changes at once, left out: schedules of threads with crashes, crashes of one
//! thread, or models of the words in DRAM notice it.
//!
//! The medium plants faults at its own calls. A rule about words in DRAM, or about the order of two steps, is left out by
//! a change of the source: `table.rs` has them. All are built into one copy of the workspace, below `target/rules`, in
//! which a variable of the environment chooses one. `cargo test` looks whether the table fits the source. This builds
//! the copy, and runs everything:
//!
//! `cargo test -p endura-sim --test rules -- --ignored --nocapture`
//!
//! `ENDURA_RULE` has a part of the name of a rule, if only some are wanted.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod copy;
mod table;

use std::collections::BTreeMap;
use std::time::Instant;

use copy::Copied;
use table::{By, FAULTS};

#[test]
fn each_rule_is_in_the_source_once() {
    for fault in FAULTS {
        let source = copy::engine_source(fault.file);
        let found = source.matches(fault.text).count();
        assert_eq!(found, 1, "{} in {}: {:?}", fault.rule, fault.file, fault.text);
        let named = [
            "PLANTED",
            "LOADED_TWICE",
            "is_late",
            "counts_late",
            "early",
            "looked",
            "take_marks_off",
            "}) };",
        ];
        assert!(named.iter().any(|name| fault.new.contains(name)), "{}", fault.rule);
    }
}

/// The rules, each with what notices that it is left out.
fn rules() -> BTreeMap<&'static str, By> {
    let wanted = std::env::var("ENDURA_RULE").unwrap_or_default();
    let rules = FAULTS.iter().map(|fault| (fault.rule, fault.by));
    rules.filter(|(rule, _)| rule.contains(&wanted)).collect()
}

#[test]
#[ignore = "it builds a copy of the workspace: cargo test -p endura-sim --test rules -- --ignored --nocapture"]
fn each_rule_that_is_left_out_is_noticed() {
    let rules = rules();
    let mut copied = Copied::with(FAULTS);
    let mut tests: Vec<By> = rules.values().copied().collect();
    tests.sort_unstable();
    tests.dedup();
    tests.iter().for_each(|&test| {
        copied.build(test);
        let begun = Instant::now();
        let outcome = copied.run(test, None);
        println!("{test:?}, with all rules: {:.1?}", begun.elapsed());
        assert!(outcome.is_ok(), "{test:?} fails with all rules: {outcome:?}");
    });
    let mut missed = Vec::new();
    for (rule, by) in &rules {
        let begun = Instant::now();
        match copied.run(*by, Some(rule)) {
            Ok(()) => {
                println!("| {rule} | MISSED by {by:?} | {:.1?} |", begun.elapsed());
                missed.push(rule);
            }
            Err(finding) => {
                println!("| {rule} | {by:?} | {:.1?} | {finding} |", begun.elapsed());
            }
        }
    }
    println!("{} rules, {} of them missed", rules.len(), missed.len());
    assert!(missed.is_empty(), "{missed:?}");
}
