//! `endura bench` and `endura explore` become other programs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use crate::support::{Place, code, text};

/// A copy of the command that lies alone in `dir`, with `path` as PATH.
fn alone(dir: &Path, path: &Path, arguments: &[&str]) -> Output {
    let copy = dir.join("endura");
    if !copy.exists() {
        // By a process of its own: a file that another test's child has inherited, open for writing, is busy.
        let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_endura")).arg(&copy).status();
        assert!(copied.expect("cp").success());
    }
    Command::new(copy).args(arguments).env("PATH", path).output().expect("the command runs")
}

fn program(path: &Path, says: &str) {
    let text = format!("#!/bin/sh\necho {says} \"$@\"\nexit 7\n");
    let script = "printf '%s' \"$1\" > \"$0\"; chmod 755 \"$0\"";
    let written = Command::new("sh").args(["-c", script]).arg(path).arg(text).status();
    assert!(written.expect("a shell").success());
}

#[test]
fn programs_of_the_lab_are_found_beside_the_command_and_in_path() {
    let place = Place::new();
    let (dir, path) = (place.path("bin"), place.path("path"));
    for folder in [&dir, &path] {
        fs::create_dir(folder).expect("a folder");
    }
    let output = alone(&dir, &path, &["bench", "ycsb", "--json"]);
    assert_eq!(code(&output), 3);
    assert!(text(&output.stderr).contains("cargo build --release -p endura-bench\n"), "{output:?}");
    let output = alone(&dir, &path, &["explore"]);
    assert_eq!(code(&output), 3);
    assert!(
        text(&output.stderr).contains("cargo build --release -p endura-explore\n"),
        "{output:?}"
    );

    program(&path.join("endura-bench"), "in PATH");
    let output = alone(&dir, &path, &["bench", "--help", "--", "-n"]);
    assert_eq!((code(&output), text(&output.stdout)), (7, "in PATH --help -- -n\n"));
    program(&dir.join("endura-bench"), "beside");
    let output = alone(&dir, &path, &["bench"]);
    assert_eq!((code(&output), text(&output.stdout)), (7, "beside\n"));
    fs::set_permissions(dir.join("endura-bench"), fs::Permissions::from_mode(0o644))
        .expect("a mode");
    let output = alone(&dir, &path, &["bench"]);
    assert_eq!(code(&output), 3, "a program that cannot be run is no reason to take another");
}
