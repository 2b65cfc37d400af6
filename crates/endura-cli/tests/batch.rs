//! `endura batch` and `endura import --whole`: all lines or none.

#![allow(clippy::expect_used, reason = "a test fails by a panic")]

mod support;

use support::{Place, code, ends_with, endura_with, json, text, works};

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
