//! The commands that kill their children: short versions of the demo and of torture.

#![allow(clippy::expect_used, reason = "a test fails by a panic")]

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn endura(dir: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_endura"));
    command.args(arguments).arg("--dir").arg(dir).output().expect("the command runs")
}

fn code_and_texts(output: &Output) -> (Option<i32>, &str, &str) {
    let text = |bytes| std::str::from_utf8(bytes).expect("text");
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn is_empty(dir: &Path) -> bool {
    dir.read_dir().expect("a folder").next().is_none()
}

#[test]
fn the_demo_loses_nothing_and_leaves_nothing() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let output = endura(dir.path(), &["demo", "--keys", "50000"]);
    let (code, out, err) = code_and_texts(&output);
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(out.contains("Nothing was lost: all of 50,000 keys are there."), "{out}");
    for index in ["FastFair", "NbTree", "Roart"] {
        assert!(out.contains(index), "{index} is not shown: {out}");
    }
    assert!(!out.contains('\x1b') && err.is_empty(), "colours where nobody looks: {err}");
    assert!(out.lines().all(|line| line.chars().count() <= 80 || line.contains("/demo.endura")));
    assert!(is_empty(dir.path()));
}

#[test]
fn the_demo_of_a_power_loss_keeps_the_checkpoint() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    for kind in [&[][..], &["--kind", "roart"]] {
        let output =
            endura(dir.path(), &[&["demo", "--power-loss", "--keys", "20000"], kind].concat());
        let (code, out, err) = code_and_texts(&output);
        assert_eq!(code, Some(0), "{out}{err}");
        assert!(out.contains("10,000 of 10,000 keys found"), "{out}");
        assert!(out.contains("Kept: the checkpoint. Lost: the "), "{out}");
        assert!(
            out.lines().all(|line| line.chars().count() <= 84 || line.contains("/demo.endura"))
        );
        assert!(is_empty(dir.path()) && err.is_empty(), "{err}");
    }
}

#[test]
fn a_short_torture_loses_nothing() {
    short_torture("fast-fair", 1000, &[]);
}

#[test]
fn a_short_torture_with_checkpoints_loses_nothing() {
    short_torture("nbtree", 1000, &["--checkpoint-every", "0.005"]);
}

#[test]
fn a_short_torture_of_byte_strings_loses_nothing() {
    // Fewer: a thread's first operations take pages for each size of record.
    short_torture("roart", 50, &[]);
    short_torture("fast-fair", 50, &["--strings"]);
    short_torture("nbtree", 50, &["--strings"]);
}

fn short_torture(kind: &str, least: u64, more: &[&str]) {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let rounds = ["torture", "--rounds", "12", "--max-ms", "25", "--json", "--kind", kind];
    let output = endura(dir.path(), &[&rounds, more].concat());
    let (code, out, err) = code_and_texts(&output);
    assert_eq!(code, Some(0), "{out}{err}");
    let report: Value = serde_json::from_str(out).expect("JSON");
    assert_eq!(report["rounds"].as_u64(), Some(12));
    for count in ["lost", "resurrected", "wrong", "other"] {
        assert_eq!(report[count].as_u64(), Some(0), "{report}");
    }
    assert!(report["acknowledged"].as_u64() > Some(least), "{report}");
    assert!(report["in_flight"].as_u64() > Some(0), "no kill came inside an operation: {report}");
    assert!(is_empty(dir.path()));
}

#[test]
fn torture_makes_its_own_pool_and_leaves_it_if_told_where() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let pool = dir.path().join("pool");
    let run = |rounds: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_endura"));
        command.arg("torture").arg(&pool).args(["--rounds", rounds, "--seed", "5"]);
        command.args(["--threads", "2", "--max-ms", "15"]).output().expect("the command runs")
    };
    let output = run("3");
    let (code, out, err) = code_and_texts(&output);
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(out.contains("Nothing was lost."), "{out}");
    assert!(pool.is_file());
    // It may have checkpoints.
    let names = dir.path().read_dir().expect("a folder").map(|entry| entry.expect("a file").path());
    let is_of_pool = |path: &std::path::PathBuf| path.file_stem() == pool.file_name();
    assert!(names.into_iter().all(|path| is_of_pool(&path)), "more than the pool is left");
    let output = run("1");
    let (code, _, err) = code_and_texts(&output);
    assert_eq!(code, Some(3), "{err}");
    assert!(err.contains("give another path"), "{err}");
}
