//! `endura batch` and `endura import --whole`: all lines or none.

#![allow(clippy::expect_used, reason = "a test fails by a panic")]

mod support;

use support::{Place, code, command, ends_with, endura_with, json, program, text, works};

/// A pool with the maps `people` and `by name`.
fn with_people() -> Place {
    let place = Place::new();
    let pool = &*place.pool();
    works(&["put", pool, "7", "Eve", "--map", "people", "--keys", "u64"]);
    works(&["put", pool, "Eve", "7", "--map", "by name", "--values", "u64"]);
    place
}

#[test]
fn lines_are_one_unit() {
    let place = with_people();
    let pool = &*place.pool();
    let lines = b"# The name changes.\n\nexpect people 7 Eve\nput people 7 Ada Lovelace\n\
        delete\tby name\tEve\nput\tby name\tAda\\tLovelace\t7\r\nexpect people 8\n";
    let output = endura_with(&["batch", pool], lines);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "2 put, 1 deleted, 2 conditions met\n");
    assert_eq!(works(&["get", pool, "7", "--map", "people"]), "Ada Lovelace\n");
    assert_eq!(works(&["scan", pool, "--map", "by name"]), "Ada\\tLovelace\t7\n");
}

#[test]
fn a_condition_that_is_not_met_is_named() {
    let place = with_people();
    let pool = &*place.pool();
    let lines = b"put people 8 Max\nexpect people 7 Eve\nexpect people 7 Ada\nexpect people 7\n";
    let output = endura_with(&["batch", pool], lines);
    assert_eq!(code(&output), 1, "{}", text(&output.stderr));
    let said = "line 3 is not met, nothing was changed: expect people 7 Ada\n";
    assert_eq!(text(&output.stdout), said);
    let output = endura_with(&["batch", pool, "--json"], lines);
    let told = json(text(&output.stdout));
    assert_eq!((told["committed"].as_bool(), told["line"].as_u64()), (Some(false), Some(3)));
    ends_with(1, &["get", pool, "8", "--map", "people"]);
    let output = endura_with(&["batch", pool, "--json"], b"put people 8 Max\n");
    let told = json(text(&output.stdout));
    assert_eq!((told["committed"].as_bool(), told["put"].as_u64()), (Some(true), Some(1)));
}

#[test]
fn a_wrong_line_changes_nothing() {
    let place = with_people();
    let pool = &*place.pool();
    for (lines, what) in [
        (&b"put people 8 Max\nput people nine x\n"[..], "line 2"),
        (b"put people 8 Max\nput people 9\n", "line 2"),
        (b"put people 8 Max\ndelete people 9 x\n", "line 2"),
        (b"put people 8 Max\nremove people 9\n", "`put MAP KEY VALUE`"),
        (b"put people 8 Max\nput persons 9 x\n", "no map `persons`"),
        (b"put people 8 Max\nput\n", "line 2"),
        (b"8 Max Muster\n", "`put MAP KEY VALUE`"),
        (
            [&b"put people 8 Max\nput by\\x20name "[..], &[b'k'; 70_000], b" 7\n"]
                .concat()
                .as_slice(),
            "line 2: a key of 70000",
        ),
    ] {
        let output = endura_with(&["batch", pool], lines);
        let said = text(&output.stderr);
        assert_eq!(code(&output), 3, "{said}");
        assert!(said.contains(what) && said.contains("nothing was changed"), "{said}");
        ends_with(1, &["get", pool, "8", "--map", "people"]);
    }
    let none = endura_with(&["batch", pool], b"");
    assert_eq!((code(&none), text(&none.stdout)), (0, "0 put, 0 deleted, 0 conditions met\n"));
    ends_with(3, &["batch", &place.text("none"), &place.text("file")]);
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_first_line() {
    let place = with_people();
    let pool = &*place.pool();
    let output = endura_with(&["batch", pool], b"\xef\xbb\xbfput people 8 Max\n");
    assert_eq!(text(&output.stdout), "1 put, 0 deleted, 0 conditions met\n");
}

/// The error names its kind for programs, also if a line is the reason.
#[test]
fn the_error_of_a_line_has_its_code() {
    let place = with_people();
    let pool = &*place.pool();
    let output = endura_with(&["batch", pool, "--json"], b"put persons 9 x\n");
    assert_eq!(json(text(&output.stderr))["error"]["code"], "no_such_map");
}

/// What has no end is not read into memory.
#[test]
fn no_more_is_read_than_a_batch_can_have() {
    let place = with_people();
    let pool = &*place.pool();
    let endless = |command: &[&str], line: &str| {
        let script = "ulimit -v 1000000; yes \"$0\" | \"$@\"";
        let mut bash = std::process::Command::new("bash");
        bash.args(["-c", script, line]).arg(program()).args(command);
        let output = bash.output().expect("bash");
        assert_eq!(code(&output), 3, "{}", text(&output.stderr));
        text(&output.stderr).to_owned()
    };
    let said = endless(&["batch", pool], "put people 8 x");
    let lines = "standard input, line 1048577: a batch has at most 1048576 lines";
    assert!(said.contains(lines) && said.contains("nothing was changed"), "{said}");
    let said = endless(&["batch", pool, "/dev/zero"], "");
    assert!(said.contains("/dev/zero, line 1: the line is longer than any key"), "{said}");
    let said = endless(&["import", pool, "--whole", "--map", "new"], "8\tx");
    let entries = "line 1048577: --whole takes at most 1048576 entries";
    assert!(said.contains(entries) && said.contains("nothing was imported"), "{said}");
}

#[test]
fn a_result_that_cannot_be_printed_is_told() {
    let place = with_people();
    let pool = &*place.pool();
    let lines = place.text("lines");
    std::fs::write(&lines, "put people 8 Max\n").expect("a file");
    for (to, code) in [("/dev/full", 3), ("/dev/null", 0)] {
        let out = std::fs::OpenOptions::new().write(true).open(to).expect("a device");
        let output = command(&["batch", pool, &lines]).stdout(out).output().expect("endura");
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert_eq!(
            said.contains("the batch is committed: all its changes are in the pool"),
            code == 3
        );
        assert_eq!(works(&["get", pool, "8", "--map", "people"]), "Max\n");
    }
}

#[test]
fn an_import_is_whole_or_nothing() {
    let place = Place::new();
    let pool = &*place.pool();
    let import = |more: &[&str], lines: &[u8]| {
        let all =
            [&["import", pool, "-", "--whole", "--keys", "u64", "--values", "u64"], more].concat();
        endura_with(&all, lines)
    };
    let output = import(&[], b"1\t10\n2\t20\n1\t30\n");
    assert_eq!(
        text(&output.stdout),
        "3 entries: 2 added, 1 replaced\n",
        "{}",
        text(&output.stderr)
    );
    assert_eq!(works(&["scan", pool]), "1\t30\n2\t20\n");
    let output = import(&["--keep"], b"2\t5\n3\t6\n");
    assert_eq!(text(&output.stdout), "2 entries: 1 added, 1 kept as they were\n");
    let output = import(&[], b"4\t10\n5\tx\n");
    assert_eq!(code(&output), 3);
    assert!(text(&output.stderr).contains("nothing was imported"), "{}", text(&output.stderr));
    assert_eq!(works(&["scan", pool]), "1\t30\n2\t20\n3\t6\n");
    // A map that was new is not there afterwards.
    let output = import(&["--map", "new"], b"4\t10\n5\tx\n");
    assert_eq!(code(&output), 3);
    assert!(ends_with(3, &["get", pool, "4", "--map", "new"]).contains("no map `new`"));
}
