//! The blocks of shell commands in README and guide do what they say.

#![allow(clippy::expect_used, reason = "a test fails by a panic")]

mod support;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use support::{Place, code, program, text};

const PAGES: [(&str, &str); 2] = [
    ("README.md", include_str!("../../../README.md")),
    ("docs/guide.md", include_str!("../../../docs/guide.md")),
];
const CI: &str = include_str!("../../../.ci/run");

/// What a step of `.ci/run` does in place of this test, for it takes long or builds: the command, and a part of that
/// step.
const STEPS: [(&str, &str); 4] = [
    ("cargo run --release -- demo", "cargo run --release --locked -- demo"),
    ("cargo test", "cargo test --locked\n"),
    ("cargo install --path crates/endura-cli", "cargo package"),
    ("endura torture --rounds 100", "-- torture --rounds 20\n"),
];

/// The commands of all blocks of a page, without their comments.
fn commands(page: &str) -> Vec<String> {
    let blocks = page.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let lines = blocks.flat_map(str::lines).map(|line| line.split("  #").next().unwrap_or(line));
    lines.map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
}

fn executable(path: &Path, script: &str) {
    std::fs::write(path, script).expect("a file");
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).expect("its mode");
}

#[test]
fn blocks_of_commands_work_one_after_the_other() {
    let place = Place::new();
    std::fs::create_dir(place.path("bin")).expect("a folder");
    executable(
        &place.path("bin/endura"),
        &format!("#!/bin/sh\nexec '{}' \"$@\"\n", program().display()),
    );
    // What LMDB's own program prints of an environment with one entry.
    executable(
        &place.path("bin/mdb_dump"),
        "#!/bin/sh\nprintf 'VERSION=3\\nformat=print\\ntype=btree\\nHEADER=END\\n k\\n v\\nDATA=END\\n'\n",
    );
    let path = format!("{}:{}", place.path("bin").display(), std::env::var("PATH").expect("PATH"));
    let mut run = 0;
    for (page, text_of_page) in PAGES {
        for line in commands(text_of_page) {
            if let Some((_, step)) = STEPS.iter().find(|(command, _)| *command == line) {
                assert!(CI.contains(step), "{page}: `{line}` is no step of .ci/run any more");
                continue;
            }
            let mut shell = Command::new("sh");
            let output = shell.args(["-ec", &line]).current_dir(place.path("")).env("PATH", &path);
            let output = output.output().expect("a shell");
            assert_eq!(code(&output), 0, "{page}: `{line}`: {}", text(&output.stderr));
            run += 1;
        }
    }
    assert!(run >= 5, "{run} commands only");
}
