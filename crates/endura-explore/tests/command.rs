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
fn it_finds_what_is_left_out_and_nothing_else() {
    let sound = explore(&["--seconds", "2", "--seed", "1", "--model", "eadr", "--json"]);
    assert_eq!(sound.status.code(), Some(0), "{sound:?}");
    let sound = json(&sound);
    assert_eq!(sound["found"], Value::Null);
    assert!(sound["images"].as_u64().is_some_and(|images| images > 0), "{sound}");

    let calls = explore(&["--without", "nowhere"]);
    assert_eq!(calls.status.code(), Some(2));
    let calls = String::from_utf8(calls.stderr).expect("text");
    let flush = calls.lines().find(|line| line.contains("split.rs") && line.ends_with("Flush"));
    let place = flush.and_then(|line| line.split_whitespace().nth(1)).expect("a flush in a split");
    let flawed = explore(&["--seconds", "60", "--seed", "1", "--without", place, "--json"]);
    assert_eq!(flawed.status.code(), Some(1));
    let found = &json(&flawed)["found"];
    let failure = found["failure"].as_str().expect("a failure");
    assert!(failure.contains(&format!("planted  without Flush at {place}")), "{failure}");
    assert!(found["again"].as_str().is_some_and(|again| again.contains(place)), "{found}");
}
