//! What the tests of the command share: a place for files, and ways to run it.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// A folder for the files of one test.
pub(crate) struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a temporary folder") }
    }

    pub(crate) fn in_memory() -> Self {
        let memory = Path::new("/dev/shm");
        if !memory.is_dir() {
            return Self::new();
        }
        Self { dir: tempfile::tempdir_in(memory).expect("a temporary folder") }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn pool(&self) -> String {
        self.path("pool").display().to_string()
    }
}

pub(crate) fn endura(arguments: &[&str]) -> Output {
    endura_with(arguments, b"")
}

pub(crate) fn endura_with(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_endura"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    // A command that does not read its input may be gone before it is written.
    let _ = stdin.write_all(input);
    drop(stdin);
    child.wait_with_output().expect("the command ends")
}

pub(crate) fn code(output: &Output) -> i32 {
    output.status.code().expect("no signal")
}

pub(crate) fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

/// Runs a command that must work, and gives its standard output.
#[track_caller]
pub(crate) fn works(arguments: &[&str]) -> String {
    let output = endura(arguments);
    assert_eq!(code(&output), 0, "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout).to_string()
}

/// Runs a command that must end with `expected`, and gives its standard error.
#[track_caller]
pub(crate) fn ends_with(expected: i32, arguments: &[&str]) -> String {
    let output = endura(arguments);
    assert_eq!(code(&output), expected, "{arguments:?}: {}", text(&output.stderr));
    assert!(expected != 1 || output.stdout.is_empty() || arguments.contains(&"--json"));
    text(&output.stderr).to_string()
}

pub(crate) fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}
