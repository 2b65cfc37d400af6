//! What the tests of the command share: a place for files, and ways to run it.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

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

    /// The same as an argument.
    pub(crate) fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    /// The names of all that lies in it, but for checkpoints beside their pools.
    pub(crate) fn names(&self) -> Vec<String> {
        let all = self.all_names();
        let is_beside = |name: &String| {
            name.strip_suffix(".checkpoint").is_some_and(|pool| all.iter().any(|name| name == pool))
        };
        all.iter().filter(|name| !is_beside(name)).cloned().collect()
    }

    /// Removes a pool, if it is there, so that it can be made again.
    pub(crate) fn remove_pool(&self, name: &str) {
        for name in [name.into(), format!("{name}.checkpoint")] {
            let _ = std::fs::remove_file(self.path(&name));
        }
    }

    /// The names of all that lies in it.
    pub(crate) fn all_names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.dir.path()).expect("the folder");
        let name = |entry: std::io::Result<std::fs::DirEntry>| {
            entry.expect("an entry").file_name().to_string_lossy().into_owned()
        };
        let mut names: Vec<_> = entries.map(name).collect();
        names.sort();
        names
    }

    pub(crate) fn pool(&self) -> String {
        self.path("pool").display().to_string()
    }
}

/// The command, or another build of it that `ENDURA_COMMAND` names: to see a test fail on it.
pub(crate) fn program() -> OsString {
    std::env::var_os("ENDURA_COMMAND").unwrap_or_else(|| env!("CARGO_BIN_EXE_endura").into())
}

pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(program());
    command.args(arguments);
    command
}

/// The command as a shell would start it in the foreground, whatever signals this test was told to ignore.
pub(crate) fn in_foreground(arguments: &[&str]) -> Command {
    let mut command = Command::new("env");
    command.arg("--default-signal=INT,TERM,HUP").arg(program()).args(arguments);
    command
}

/// Waits for a child that must end soon: a command that hangs is killed, and the test fails.
#[track_caller]
pub(crate) fn ended(mut child: Child) -> ExitStatus {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(30) {
        if let Some(status) = child.try_wait().expect("a child") {
            return status;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let _ = child.kill();
    panic!("the command hangs");
}

/// Says why a test could not do what it is for. In CI (`CI=true`) that is a failure: what passes there has run.
pub(crate) fn left_out(why: &str) {
    eprintln!("left out: {why}");
    assert!(std::env::var("CI").as_deref() != Ok("true"), "CI lacks what this test needs: {why}");
}

/// Runs a script as root in a mount namespace of its own; `None`, with a word, where that is not allowed.
pub(crate) fn in_namespace(script: &str) -> Option<Output> {
    let mut unshare = Command::new("unshare");
    unshare.args(["--mount", "sh", "-ec", script]).stdin(Stdio::null());
    let output = unshare.env("ENDURA", program()).output().ok();
    let output = output.filter(|output| !text(&output.stderr).contains("unshare"));
    if output.is_none() {
        left_out("only root may mount a file system");
    }
    output
}

pub(crate) fn endura(arguments: &[&str]) -> Output {
    endura_with(arguments, b"")
}

pub(crate) fn endura_with(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = command(arguments)
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

/// Runs a command on a terminal of so many columns, and fails if one of its lines is longer, or of those with a
/// percentage if `only_bars`. Gives what it wrote, without what moves the cursor; `None`, with a word, where there is no
/// `script`.
#[track_caller]
pub(crate) fn lines_fit(arguments: &[&str], columns: usize, only_bars: bool) -> Option<String> {
    let words: String = arguments.iter().map(|word| format!(" '{word}'")).collect();
    let shell = format!("stty cols {columns} rows 24; exec '{}'{words}", program().display());
    let mut script = Command::new("script");
    script.args(["-qefc", &shell, "/dev/null"]).stdin(Stdio::null());
    script.env("SHELL", "/bin/sh").env("TERM", "xterm").env_remove("COLUMNS");
    let Ok(output) = script.output() else {
        left_out("`script` of util-linux makes the terminal");
        return None;
    };
    let written = without_escapes(&String::from_utf8_lossy(&output.stdout));
    assert_eq!(code(&output), 0, "{arguments:?}: {written}");
    for line in written.split(['\n', '\r']).filter(|line| !only_bars || line.contains(" %")) {
        // The last state of a bar that stays is filled up with spaces: what follows begins on the next line.
        let (bar, text) =
            line.split_at(line.char_indices().nth(columns).map_or(line.len(), |at| at.0));
        let is_filled = only_bars && bar.ends_with(' ') && !text.contains(" %");
        assert!(text.is_empty() || is_filled, "{arguments:?} at {columns} columns: {line}");
    }
    Some(written)
}

/// `text` without the sequences that move the cursor or choose a colour.
fn without_escapes(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| ('@'..='~').contains(&c)).map_or(part.len(), |at| at + 1);
        plain.push_str(&part[end..]);
    }
    plain
}
