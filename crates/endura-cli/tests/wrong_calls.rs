//! Wrong calls, one of each kind: the sentence says what happened, where, and one thing to do.

#![allow(clippy::expect_used, reason = "a test fails by a panic")]

mod support;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

use support::{Place, code, endura, endura_with, program, text, works};

/// Checks the end of a call, and that its only sentence names all `parts`: what, where, what to do.
#[track_caller]
fn says(call: &str, output: &Output, expected: i32, parts: [&str; 3]) {
    let said = text(&output.stderr);
    assert_eq!(code(output), expected, "{call}: {said}");
    assert!(output.stdout.is_empty(), "{call}: {}", text(&output.stdout));
    assert!(said.starts_with("endura: "), "{call}: {said}");
    for part in parts {
        assert!(said.contains(part), "{call}: `{part}` is missing: {said}");
    }
    for foreign in ["Pool::", "Error::", "lock_timeout", "max_size", "pop_first_key"] {
        assert!(!said.contains(foreign), "{call}: a word of the library, `{foreign}`: {said}");
    }
}

/// A pool with a map of numbers, and one of strings.
fn filled() -> (Place, String) {
    let place = Place::new();
    let pool = place.pool();
    works(&["put", &pool, "1", "10"]);
    works(&["put", &pool, "a", "b", "--map", "names"]);
    (place, pool)
}

#[test]
fn a_wrong_type_or_key() {
    let (_place, pool) = &filled();
    let long = &*"x".repeat(endura::LONGEST_KEY + 1);
    for (arguments, expected, parts) in [
        (&["put", pool, "x", "1"][..], 2, ["`x`", "keys of the map `main` are `u64`", "--keys"]),
        (&["put", pool, "2", "x"], 2, ["`x`", "values of the map `main` are `u64`", "--values"]),
        (&["get", pool, "x"], 2, ["`x`", "keys of the map `main` are `u64`", "--map"]),
        (&["del", pool, "x"], 2, ["`x`", "keys of the map `main` are `u64`", "--map"]),
        (&["scan", pool, "--from", "x"], 2, ["`x`", "the map `main` are `u64`", "--map"]),
        (&["scan", pool, "--prefix", "x"], 2, ["--prefix is for", "map `main`", "use --from"]),
        (&["put", pool, "2", "2", "--keys", "str"], 3, ["`main`", "u64", "choose another name"]),
        (&["put", pool, "2", "2", "--kind", "nbtree"], 3, ["not an NbTree", "`main`", pool]),
        (&["put", pool, long, "2", "--map", "names"], 3, ["longer than", pool, "shorten it"]),
        (
            &["get", pool, "1", "--map", "typo"],
            3,
            ["no map `typo`", pool, "`main`, `names` (--map"],
        ),
    ] {
        says(&format!("{:.40}", arguments.join(" ")), &endura(arguments), expected, parts);
    }
}

#[test]
fn a_file_that_is_missing_or_foreign() {
    let (place, _pool) = &filled();
    let (missing, foreign) = (&*place.text("missing"), &*place.text("foreign"));
    let (folder, nowhere) = (&*place.text("folder"), &*place.text("no/pool"));
    fs::write(foreign, "A text of somebody else's program, longer than a line.\n").expect("a file");
    fs::create_dir(folder).expect("a folder");
    for command in ["get", "del"] {
        let call = |path: &str| endura(&[command, path, "1"]);
        says(command, &call(missing), 3, ["No such file", missing, "check the path"]);
        says(
            command,
            &call(foreign),
            3,
            ["not an endura pool", foreign, "give the path of a pool"],
        );
        says(command, &call(folder), 3, ["it is a folder", folder, "name a file in it"]);
        says(command, &call(nowhere), 3, ["No such file", nowhere, "check the path"]);
    }
    for command in ["scan", "info", "check", "count", "export", "checkpoint"] {
        let call = |path: &str| endura(&[command, path]);
        says(command, &call(missing), 3, ["No such file", missing, "check the path"]);
        says(
            command,
            &call(foreign),
            3,
            ["not an endura pool", foreign, "give the path of a pool"],
        );
    }
    let put = endura(&["put", foreign, "1", "1"]);
    says(
        "put",
        &put,
        3,
        ["not an endura pool", foreign, "a new one begins where there is no file"],
    );
    let put = endura(&["put", nowhere, "1", "1"]);
    says("put", &put, 3, ["No such file", nowhere, "check the path"]);
    let import = endura(&["import", &place.pool(), missing]);
    says("import", &import, 3, ["No such file", missing, "check the path"]);
    let export = endura(&["export", &place.pool(), &place.text("no/file")]);
    says("export", &export, 3, ["No such file", "no/file", "check the path"]);
}

/// Runs a command as a user that may do nothing here.
fn as_stranger(place: &Place, arguments: &[&str]) -> Output {
    // The folders of the build may be closed to strangers.
    let own = place.path("endura");
    if !own.exists() {
        // By a process of its own: a file that another test's child has inherited, open for writing, is busy.
        let copied = Command::new("cp").arg(program()).arg(&own).status();
        assert!(copied.expect("cp").success());
    }
    let mut stranger = match rustix::process::geteuid().is_root() {
        true => {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(own);
            command
        }
        false => Command::new(own),
    };
    stranger.args(arguments).output().expect("setpriv of util-linux")
}

#[test]
fn no_permission() {
    let (place, pool) = &filled();
    let mode = |path: &str, mode| {
        fs::set_permissions(path, Permissions::from_mode(mode)).expect("a mode");
    };
    mode(&place.text(""), 0o755);
    mode(pool, 0o000);
    let refused = ["Permission denied", "open it as its owner"];
    let [what, act] = refused;
    for arguments in [&["get", pool, "1"][..], &["put", pool, "1", "1"], &["info", pool]] {
        says(arguments[0], &as_stranger(place, arguments), 3, [what, pool, act]);
    }
    let closed = &*place.text("closed");
    let act = "who may read and write";
    fs::create_dir(closed).expect("a folder");
    mode(closed, 0o555);
    let new = &*place.text("closed/new");
    says("put", &as_stranger(place, &["put", new, "1", "1"]), 3, [what, new, act]);
    mode(pool, 0o644);
    let export = as_stranger(place, &["export", pool, new]);
    says("export", &export, 3, [what, new, act]);
}

#[test]
fn a_pool_that_is_in_use() {
    let (_place, pool) = &filled();
    let _open = endura::Pool::options().open_existing(pool).expect("the pool");
    for arguments in [
        &["get", pool, "1"][..],
        &["put", pool, "1", "1"],
        &["scan", pool],
        &["info", pool],
        &["checkpoint", pool],
    ] {
        let output = endura(&[arguments, &["--wait", "0"]].concat());
        says(arguments[0], &output, 3, ["the pool is open in process ", pool, "--wait"]);
    }
}

#[test]
fn a_pool_that_is_full() {
    let (_place, pool) = &filled();
    let lines: String = (0..200_000).map(|i| format!("{i}\t{i}\n")).collect();
    let import = endura_with(&["import", pool, "--max-size", "1M"], lines.as_bytes());
    says("import", &import, 3, ["largest size", pool, "--max-size"]);
}

#[test]
fn options_that_do_not_exist_or_fit() {
    let (_place, pool) = &filled();
    for (arguments, what) in [
        (&["get", pool, "1", "--typo"][..], "'--typo'"),
        (&["get", pool], "<KEY>"),
        (&["put", pool, "1", "1", "--kind", "btree"], "'btree'"),
        (&["put", pool, "1", "1", "--checkpoint-every", "-1"], "'-1'"),
    ] {
        let output = endura(arguments);
        let said = text(&output.stderr);
        assert_eq!(code(&output), 2, "{arguments:?}: {said}");
        assert!(said.contains(what) && said.contains("--help"), "{arguments:?}: {said}");
    }
}
