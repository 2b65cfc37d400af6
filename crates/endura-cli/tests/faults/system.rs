//! What the system may not give: `/proc`, and files of any size.

use std::fs;
use std::process::{Command, Output};

use crate::support::{Place, code, ends_with, in_namespace, program, text, works};

fn limited(script: &str, arguments: &[&str]) -> Output {
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).arg(program()).args(arguments);
    shell.output().expect("a shell")
}

/// What `sh` would call "File size limit exceeded" is an error that names the limit, and leaves nothing behind.
#[test]
fn a_limit_on_the_size_of_files() {
    let place = Place::new();
    let (pool, out, folder) = (&*place.pool(), &*place.text("out"), &*place.text("folder"));
    let lines: String = (0..2000).map(|i| format!("{i}\t{i}\n")).collect();
    fs::write(place.path("in"), &lines).expect("a file");
    works(&["import", pool, &place.text("in")]);
    let before = fs::read(pool).expect("the pool");
    for arguments in [
        &["put", pool, "1", "2"][..],
        &["del", pool, "1"],
        &["export", pool, out],
        &["export", pool, "--all", folder],
        &["import", pool, &place.text("in")],
        &["import", &place.text("new"), &place.text("in")],
        &["put", &place.text("new"), "1", "2"],
    ] {
        let output = limited("ulimit -f 2; exec \"$0\" \"$@\"", arguments);
        let said = text(&output.stderr);
        assert_eq!(code(&output), 3, "{arguments:?}: {output:?}");
        assert!(said.contains("ulimit -f"), "{arguments:?}: {said}");
        assert_eq!(place.names(), ["in", "pool"], "{arguments:?}");
        assert!(fs::read(pool).expect("the pool") == before, "{arguments:?}");
    }
    assert!(works(&["count", pool]).contains("2,000"), "all are there");
}

/// A container or a `chroot` without `/proc`.
#[test]
fn no_proc() {
    let place = Place::new();
    let (pool, out) = (&*place.pool(), &*place.text("out"));
    works(&["put", pool, "1", "2"]);
    fs::create_dir(place.path("torture")).expect("a folder");
    let program = program();
    let program = program.to_string_lossy();
    let script = format!(
        "mount -t tmpfs none /proc; '{program}' put '{pool}' 2 3; '{program}' put '{out}.new' 1 1; \
         '{program}' export '{pool}' '{out}'; '{program}' check '{pool}'; \
         '{program}' torture --rounds 1 --dir '{}' || true",
        place.text("torture")
    );
    let Some(output) = in_namespace(&script) else { return };
    let said = text(&output.stderr);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(fs::read(out).expect("the export"), b"1\t2\n2\t3\n");
    assert_eq!(place.names(), ["out", "out.new", "pool", "torture"]);
    // A program that starts itself again cannot; that is no path of the user's.
    assert!(said.contains("/proc") && !said.contains("check the path"), "{said}");
    let complaint = ends_with(3, &["get", &place.text("nothing"), "1"]);
    assert!(complaint.contains("check the path"), "{complaint}");
}

/// The disk of the checkpoints is full: each command does its work, and says in one line what is missing.
#[test]
fn no_room_for_a_checkpoint() {
    let place = Place::new();
    let lines: String = (0..100_000).map(|i| format!("{i}\t{i}\n")).collect();
    fs::write(place.path("in"), &lines).expect("a file");
    let script = format!(
        "cd '{}'; mkdir disk; mount -t tmpfs -o size=1m none disk; checkpoints='--checkpoint-file disk/c'; \
         \"$ENDURA\" put pool 1 1 $checkpoints --checkpoint-every 1000; \
         for call in 'import pool in' 'put pool 1 2' 'del pool 2'; do \
         \"$ENDURA\" $call $checkpoints; echo end >&2; done",
        place.text("")
    );
    let Some(output) = in_namespace(&script) else { return };
    let said = text(&output.stderr);
    assert!(output.status.success(), "{output:?}");
    let told: Vec<_> = said.split("end\n").collect();
    assert_eq!(told.len(), 4, "{said}");
    for call in &told[..3] {
        let lines: Vec<_> = call.lines().collect();
        let is_told = lines.len() == 1
            && lines[0].contains("done and closed, but no new checkpoint could be made");
        assert!(is_told && lines[0].starts_with("endura: pool: "), "{said}");
    }
    assert!(works(&["get", &place.pool(), "1"]).contains('2'));
}
