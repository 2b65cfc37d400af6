//! The program finds what is left out of an index, and nothing else.

#![allow(clippy::expect_used, reason = "a test fails by a panic")]

use std::process::{Command, Output};

use serde_json::Value;

fn explore(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_endura-explore")).args(arguments).output().expect("it runs")
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn it_finds_nothing_where_nothing_is_left_out() {
    let sound = explore(&["--seconds", "2", "--seed", "1", "--model", "eadr", "--json"]);
    assert_eq!(sound.status.code(), Some(0), "{sound:?}");
    let sound = json(&sound);
    assert_eq!(sound["found"], Value::Null);
    assert!(sound["images"].as_u64().is_some_and(|images| images > 0), "{sound}");

    for index in [
        "nbtree",
        "fast-fair-strings",
        "nbtree-strings",
        "roart",
        "fast-fair-records",
        "nbtree-records",
    ] {
        let sound = explore(&[index, "--seconds", "1", "--seed", "1", "--json"]);
        assert_eq!(sound.status.code(), Some(0), "{sound:?}");
        assert!(json(&sound)["images"].as_u64().is_some_and(|images| images > 0), "{sound:?}");
    }
}

#[test]
fn it_finds_a_flush_that_is_left_out() {
    finds_a_flush_left_out_of("fast-fair", "fast_fair/write/split.rs");
    finds_a_flush_left_out_of("fast-fair-strings", "fast_fair_bytes/write/replace.rs");
    finds_a_flush_left_out_of("nbtree-strings", "nbtree/write/insert.rs");
    finds_a_flush_left_out_of("roart", "records/record.rs");
    finds_a_flush_left_out_of("fast-fair-records", "records/record.rs");
}

fn finds_a_flush_left_out_of(index: &str, file: &str) {
    let calls = explore(&[index, "--without", "nowhere"]);
    assert_eq!(calls.status.code(), Some(2));
    let calls = String::from_utf8(calls.stderr).expect("text");
    let flush = calls.lines().find(|line| line.contains(file) && line.ends_with("Flush"));
    let place = flush.and_then(|line| line.split_whitespace().nth(1));
    let place = place.unwrap_or_else(|| panic!("no flush in {file}: {calls}"));
    let flawed = explore(&[index, "--seconds", "60", "--seed", "1", "--without", place, "--json"]);
    assert_eq!(flawed.status.code(), Some(1));
    let found = &json(&flawed)["found"];
    let failure = found["failure"].as_str().expect("a failure");
    assert!(failure.contains(&format!("planted  without Flush at {place}")), "{failure}");
    assert!(found["again"].as_str().is_some_and(|again| again.contains(place)), "{found}");
}
