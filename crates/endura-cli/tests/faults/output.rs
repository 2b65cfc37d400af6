//! Standard output and standard error that take nothing: a full disk, a reader that has left.

use std::process::{Command, Output, Stdio};

use crate::support::{Place, code, endura, endura_with, json, program, text, works};

/// Runs the command in a shell, its input from a file and its output as `redirection` says.
fn shell(redirection: &str, arguments: &[&str]) -> Output {
    let script = format!("\"$0\" \"$@\" {redirection}");
    let mut sh = Command::new("sh");
    sh.args(["-c", &script]).arg(program()).args(arguments);
    sh.stdin(Stdio::null()).output().expect("a shell")
}

#[test]
fn a_word_that_cannot_be_said_changes_no_exit_code() {
    let place = Place::new();
    let pool = &*place.pool();
    works(&["put", pool, "1", "2"]);
    let (bad, marked) = (place.text("bad"), place.text("marked"));
    std::fs::write(&bad, "1\t2\nx\ty\n").expect("a file");
    std::fs::write(&marked, "\u{feff}1\t2\n").expect("a file");
    let opened = endura::Pool::options().open_existing(pool).expect("the pool");
    let packed = opened.map::<u64, endura::Postcard<u64>>("packed").expect("a map");
    packed.insert(1, &7).expect("an insert");
    drop(packed);
    opened.map::<str, str>("long").expect("a map").insert(&"k".repeat(600), "").expect("an insert");
    opened.close().expect("a close");
    for (expected, arguments) in [
        (3, &["get", "/nowhere/pool", "1"][..]),
        (3, &["get", "/nowhere/pool", "1", "--json"]),
        (2, &["get", pool, "x"]),
        (2, &["nonsense"]),
        (2, &[]),
        (3, &["import", pool, &bad]),
        (0, &["import", pool, &marked]),
        (0, &["get", pool, "1", "--map", "packed"]),
        (0, &["scan", pool, "--map", "packed"]),
        (0, &["export", pool, "--map", "packed"]),
        (0, &["export", pool, "--map", "long", "--format", "mdb"]),
    ] {
        for redirection in ["2>/dev/full", "2>&-"] {
            let output = shell(redirection, arguments);
            assert_eq!(code(&output), expected, "{arguments:?} {redirection}");
        }
    }
}

#[test]
fn what_cannot_be_printed_is_a_failure() {
    let place = Place::new();
    let pool = &*place.pool();
    works(&["put", pool, "1", "2"]);
    for arguments in [
        &["help"][..],
        &["--help"],
        &["help", "import"],
        &["--version"],
        &["man"],
        &["completions", "bash"],
        &["info", pool],
        &["check", pool],
        &["check", pool, "--json"],
        &["count", pool],
        &["get", pool, "1"],
        &["get", pool, "1", "--raw"],
        &["scan", pool],
        &["export", pool],
    ] {
        let output = shell(">/dev/full", arguments);
        let said = text(&output.stderr);
        assert_eq!(code(&output), 3, "{arguments:?}: {said}");
        assert!(said.contains("cannot write the output"), "{arguments:?}: {said}");
    }
}

/// Commands that change something, and fail because they cannot say so.
#[test]
fn a_change_that_cannot_be_told_is_undone() {
    let place = Place::new();
    let (pool, new) = (&*place.pool(), &*place.text("new"));
    works(&["put", pool, "1", "2"]);
    let (lines, out, all) = (&*place.text("lines"), &*place.text("out"), &*place.text("all"));
    std::fs::write(lines, "7\t8\n9\t10\n").expect("a file");
    let before = (place.names(), works(&["scan", pool]), works(&["info", pool, "--json"]));
    let maps = |info: &str| json(info)["maps"].clone();
    for arguments in [
        &["put", new, "1", "1", "--json"][..],
        &["put", pool, "1", "3", "--json"],
        &["put", pool, "5", "6", "--json"],
        &["put", pool, "5", "6", "--new", "--json"],
        &["put", pool, "a", "b", "--map", "x", "--json"],
        &["del", pool, "1", "--json"],
        &["import", new, lines],
        &["import", new, lines, "--json"],
        &["import", pool, lines, "--map", "x"],
        &["export", pool, out],
        &["export", pool, "--all", all],
    ] {
        let output = shell(">/dev/full", arguments);
        assert_eq!(code(&output), 3, "{arguments:?}: {}", text(&output.stderr));
        assert_eq!(place.names(), before.0, "{arguments:?}");
        assert_eq!(works(&["scan", pool]), before.1, "{arguments:?}");
        assert_eq!(maps(&works(&["info", pool, "--json"])), maps(&before.2), "{arguments:?}");
    }
    // Into a map that was there it stays, and the complaint says so.
    let output = shell(">/dev/full", &["import", pool, lines]);
    assert!(code(&output) == 3 && text(&output.stderr).contains("2 added"));
    assert_eq!(works(&["scan", pool]), "1\t2\n7\t8\n9\t10\n");
}

/// It wants no more: the command has done its work.
#[test]
fn a_reader_that_has_left_undoes_nothing() {
    let place = Place::new();
    let new = &*place.text("new");
    let run = |arguments: &[&str]| {
        let mut child = Command::new(program());
        let mut child =
            child.args(arguments).stdout(Stdio::piped()).spawn().expect("the command starts");
        drop(child.stdout.take());
        assert!(child.wait().expect("an end").success(), "{arguments:?}");
    };
    // The pipe may be closed before or after the line is written: either way the entry is there.
    for i in 0..10 {
        let key = &*i.to_string();
        run(&["put", new, key, "1", "--json"]);
        assert_eq!(works(&["get", new, key]), "1\n");
        run(&["del", new, key, "--json"]);
        assert_eq!(code(&endura(&["get", new, key])), 1);
    }
    let out = &*place.text("out");
    run(&["export", new, out]);
    assert!(place.path("out").exists());
}

#[test]
fn a_message_in_json_is_one_sentence_after_the_other() {
    let place = Place::new();
    let pool = &*place.pool();
    works(&["put", pool, "1", "2"]);
    for (map, part) in [("main", "1 added"), ("new", "nothing was imported")] {
        let import = ["import", pool, "--map", map, "--json"];
        let output = endura_with(&import, b"5\t6\nx\ty\n");
        let said = json(text(&output.stderr));
        let message = said["error"]["message"].as_str().expect("a message");
        assert!(message.contains("line 2") && message.contains(part), "{message}");
        assert!(!message.contains('\n') && !message.contains("endura: "), "{message}");
    }
    let output = endura_with(&["import", pool, "--map", "new"], b"5\t6\nx\ty\n");
    let said = text(&output.stderr);
    assert!(said.lines().count() == 2 && said.lines().all(|line| line.starts_with("endura: ")));
}
