//! The `endura` command as scripts see it: output, exit codes, files.

#![allow(clippy::expect_used, reason = "a test fails by a panic")]

mod support;

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use support::{Place, code, ends_with, endura, endura_with, json, text, works};

#[test]
fn put_get_del() {
    let place = Place::new();
    let pool = &*place.pool();
    assert_eq!(works(&["put", pool, "1", "10"]), "");
    works(&["put", pool, "0xffffffffffffffff", "0"]);
    assert_eq!(works(&["get", pool, "1"]), "10\n");
    assert_eq!(works(&["get", pool, "18446744073709551615"]), "0\n");
    assert_eq!(ends_with(1, &["get", pool, "2"]), "");
    ends_with(1, &["put", pool, "1", "11", "--new"]);
    assert_eq!(works(&["get", pool, "1"]), "10\n");
    let put = json(&works(&["put", pool, "1", "12", "--json"]));
    assert_eq!((put["stored"].as_bool(), put["previous"].as_u64()), (Some(true), Some(10)));
    works(&["del", pool, "1"]);
    ends_with(1, &["del", pool, "1"]);
    let got = endura(&["get", pool, "1", "--json"]);
    assert_eq!(code(&got), 1);
    assert_eq!(json(text(&got.stdout))["value"], Value::Null);
}

#[test]
fn maps_of_one_pool_are_apart() {
    let place = Place::new();
    let pool = &*place.pool();
    works(&["put", pool, "1", "10", "--map", "a"]);
    works(&["put", pool, "1", "20", "--map", "b"]);
    assert_eq!(works(&["get", pool, "1", "--map", "a"]), "10\n");
    let complaint = ends_with(3, &["get", pool, "1"]);
    assert!(complaint.contains("several maps") && complaint.contains("`a`, `b`"), "{complaint}");
    let complaint = ends_with(3, &["del", pool, "1"]);
    assert!(complaint.contains("no map `main`: it has `a`, `b`"), "{complaint}");
    let info = json(&works(&["info", pool, "--json"]));
    let names: Vec<_> = info["maps"].as_array().expect("maps").iter().map(|m| &m["name"]).collect();
    assert_eq!(names.len(), 2);
    assert!(works(&["info", pool]).contains("entries"));
}

#[test]
fn a_read_that_names_no_map_takes_the_only_one() {
    let place = Place::new();
    let pool = &*place.pool();
    works(&["put", pool, "1", "10", "--map", "a"]);
    assert_eq!(works(&["get", pool, "1"]), "10\n");
    assert_eq!(works(&["scan", pool]), "1\t10\n");
    assert_eq!(works(&["export", pool]), "1\t10\n");
    assert!(works(&["export", pool, &place.text("a.tsv")]).contains("1 entry"));
    // A write that names no map still means `main`.
    let complaint = ends_with(3, &["del", pool, "1"]);
    assert!(complaint.contains("no map `main`: its only map is `a`"), "{complaint}");
    works(&["put", pool, "1", "20"]);
    assert_eq!(works(&["get", pool, "1"]), "20\n");
    works(&["drop", pool, "main"]);
    works(&["drop", pool, "a"]);
    let complaint = ends_with(3, &["get", pool, "1"]);
    assert!(complaint.contains("no map: `endura put`"), "{complaint}");
}

#[test]
fn scans() {
    let place = Place::new();
    let pool = &*place.pool();
    let lines: String = (0..100).map(|i| format!("{}\t{i}\n", i * 10)).collect();
    assert_eq!(code(&endura_with(&["import", pool], lines.as_bytes())), 0);
    assert_eq!(works(&["scan", pool]), lines);
    let part = ["scan", pool, "--from", "15", "--to", "50", "--limit", "3"];
    assert_eq!(works(&part), "20\t2\n30\t3\n40\t4\n");
    assert_eq!(works(&[&part[..], &["--reverse"]].concat()), "50\t5\n40\t4\n30\t3\n");
    let first = works(&["scan", pool, "--limit", "1", "--json"]);
    assert_eq!(json(&first), serde_json::json!({ "key": 0, "value": 0 }));
    ends_with(2, &["scan", pool, "--from", "2", "--to", "1"]);
}

#[test]
fn import_and_export_round_trip() {
    let place = Place::new();
    let pool = &*place.pool();
    let path = |name| place.path(name).display().to_string();
    let lines: String = (0..5000_u64).map(|i| format!("{},{}\n", i * i, u64::MAX - i)).collect();
    std::fs::write(place.path("in.csv"), format!("key,value\n{lines}")).expect("a file");
    let done = works(&["import", pool, &path("in.csv"), "--header", "--json"]);
    assert_eq!(json(&done)["added"].as_u64(), Some(5000));
    works(&["export", pool, &path("out.csv")]);
    assert_eq!(std::fs::read_to_string(place.path("out.csv")).expect("a file"), lines);
    let headed = works(&["export", pool, "--format", "csv", "--header"]);
    assert_eq!(headed, format!("key,value\n{lines}"));
    assert_eq!(works(&["export", pool]), lines.replace(',', "\t"));
    let again = json(&works(&["import", pool, &path("out.csv"), "--keep", "--json"]));
    assert_eq!((again["added"].as_u64(), again["kept"].as_u64()), (Some(0), Some(5000)));
}

/// A header is text, so that among texts it is an entry like the others.
#[test]
fn a_header_that_becomes_an_entry_is_told() {
    let place = Place::new();
    let pool = &*place.pool();
    for (map, lines) in [("csv", "key,value\na,b\n"), ("tsv", "key\tvalue\r\na\tb\n")] {
        let import = ["import", pool, "--map", map, "--format", map];
        let plain = endura_with(&import, lines.as_bytes());
        assert!(plain.status.success() && text(&plain.stderr).contains("--header skips it"));
        assert_eq!(works(&["scan", pool, "--map", map]), "a\tb\nkey\tvalue\n");
        works(&["drop", pool, map]);
        let headed = endura_with(&[&import[..], &["--header"]].concat(), lines.as_bytes());
        assert!(headed.status.success() && headed.stderr.is_empty(), "{headed:?}");
        assert_eq!(works(&["scan", pool, "--map", map]), "a\tb\n");
    }
    let help = works(&["import", "--help"]);
    let words: Vec<_> = help.split_whitespace().collect();
    assert!(
        words.join(" ").contains("an entry like the others, unless --header skips it"),
        "{help}"
    );
}

#[test]
fn a_bad_line_says_where_it_is_and_what_was_done() {
    let place = Place::new();
    let pool = &*place.pool();
    works(&["put", pool, "0", "0"]);
    let output = endura_with(&["import", pool], b"1\t2\n3\t4\n5\tx\n7\t8\n");
    assert_eq!(code(&output), 3);
    let complaint = text(&output.stderr);
    for part in ["line 3", "`x`", "2 added"] {
        assert!(complaint.contains(part), "{complaint}");
    }
    assert_eq!(works(&["scan", pool]), "0\t0\n1\t2\n3\t4\n");
    let headed = endura_with(&["import", pool], b"key,value\n");
    assert!(text(&headed.stderr).contains("--header"));
}

#[test]
fn usage_errors_are_2() {
    let place = Place::new();
    let pool = &*place.pool();
    for arguments in [
        &["get", pool][..],
        &["put", pool, "x", "1", "--keys", "u64"],
        &["put", pool, "1", "1", "--keys", "json"],
        &["put", pool, "1", "1", "--values", "u65"],
        &["put", pool, "1", "18446744073709551616", "--values", "u64"],
        &["put", pool, "1"],
        &["nonsense"],
        &[],
        &["torture", "--min-ms", "2", "--max-ms", "1"],
    ] {
        ends_with(2, arguments);
    }
    assert!(!Path::new(pool).exists());
    works(&["put", pool, "1", "1"]);
    for arguments in [
        &["get", pool, "x"][..],
        &["get", pool, "18446744073709551616"],
        &["del", pool, ""],
        &["scan", pool, "--from", "-"],
        &["scan", pool, "--prefix", "1"],
        &["put", pool, "user:1", "Ada"],
        &["import", pool, "--format", "json", "--header"],
    ] {
        ends_with(2, arguments);
    }
    assert!(ends_with(2, &["put", pool, "user:1", "Ada"]).contains("--keys"));
    assert_eq!(works(&["scan", pool]), "1\t1\n");
}

#[test]
fn what_is_no_pool_is_3_and_stays_as_it_is() {
    let place = Place::new();
    let path = |name| place.path(name).display().to_string();
    std::fs::write(place.path("empty"), b"").expect("a file");
    std::fs::write(place.path("noise"), [0x5a; 100_000]).expect("a file");
    for name in ["absent", "empty", "noise", "."] {
        for command in [&["get", &*path(name), "1"][..], &["info", &path(name)]] {
            let complaint = ends_with(3, command);
            assert!(complaint.starts_with("endura: "), "{complaint}");
        }
    }
    ends_with(3, &["put", &path("noise"), "1", "1"]);
    assert_eq!(std::fs::read(place.path("noise")).expect("a file"), [0x5a; 100_000]);
    assert!(!place.path("absent").exists());
    ends_with(3, &["import", &path("new"), &path("absent")]);
    assert!(!place.path("new").exists(), "a pool was made for a file that does not exist");
}

#[test]
fn check_finds_a_sound_pool_sound_and_a_cut_one_not() {
    let place = Place::new();
    let pool = &*place.pool();
    let lines: String = (0..20_000).map(|i| format!("{i}\t{i}\n")).collect();
    assert_eq!(code(&endura_with(&["import", pool], lines.as_bytes())), 0);
    assert!(works(&["check", pool]).contains("sound"));
    let checked = json(&works(&["check", pool, "--json"]));
    assert_eq!(checked["sound"].as_bool(), Some(true));
    assert_eq!(checked["maps"][0]["entries"].as_u64(), Some(20_000));
    let file = std::fs::File::options().write(true).open(pool).expect("the pool");
    file.set_len(3 << 16).expect("cut");
    let output = endura(&["check", pool, "--json"]);
    assert_eq!(code(&output), 1, "{}", text(&output.stderr));
    assert_eq!(json(text(&output.stdout))["sound"].as_bool(), Some(false));
}

#[test]
fn a_copied_pool_may_be_torn_until_it_is_accepted() {
    let place = Place::new();
    let pool = &*place.pool();
    works(&["put", pool, "1", "10"]);
    let original = endura::Pool::options().open_existing(pool).expect("the pool");
    let map = original.map::<u64, u64>("main").expect("the map");
    map.insert(2, 20).expect("an insert");
    let copy = place.path("copy").display().to_string();
    std::fs::copy(pool, &copy).expect("a copy");
    assert!(
        ends_with(3, &["get", pool, "1", "--wait", "0"]).contains("the pool is open in process ")
    );
    assert!(ends_with(3, &["get", &copy, "1"]).contains("check --accept"));
    let doubtful = endura(&["check", &copy]);
    assert_eq!(code(&doubtful), 1, "{}", text(&doubtful.stderr));
    assert!(text(&doubtful.stdout).contains("--accept"));
    works(&["check", &copy, "--accept"]);
    assert_eq!(works(&["get", &copy, "2"]), "20\n");
    works(&["check", &copy]);
}

#[test]
fn a_closed_pipe_is_quiet() {
    let place = Place::new();
    let pool = &*place.pool();
    let lines: String = (0..200_000).map(|i| format!("{i}\t{i}\n")).collect();
    assert_eq!(code(&endura_with(&["import", pool], lines.as_bytes())), 0);
    let mut child = Command::new(env!("CARGO_BIN_EXE_endura"))
        .args(["scan", pool])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the command ends");
    assert_eq!((code(&output), text(&output.stderr)), (0, ""));
}

#[test]
fn info_says_what_the_bytes_are() {
    let place = Place::new();
    let pool = &*place.pool();
    let lines: String = (0..10_000).map(|i| format!("key {i:05}\tvalue {i:05}\n")).collect();
    assert_eq!(code(&endura_with(&["import", pool, "--keys", "str"], lines.as_bytes())), 0);
    let info = json(&works(&["info", pool, "--json", "--space"]));
    let number = |name: &str| info[name].as_u64().expect(name);
    assert_eq!(number("payload_bytes"), 10_000 * (9 + 11));
    let parts = ["payload_bytes", "structure_bytes", "free_chunk_bytes"].map(number);
    assert_eq!(parts.iter().sum::<u64>(), number("bytes_in_use"));
    let sizes = info["sizes"].as_array().expect("sizes");
    let spans: u64 = sizes.iter().map(|size| size["span_bytes"].as_u64().expect("bytes")).sum();
    let free: u64 = sizes.iter().map(|size| size["free_bytes"].as_u64().expect("bytes")).sum();
    assert!(spans > number("payload_bytes") && spans < number("bytes_in_use"), "{info}");
    assert_eq!(free, number("free_chunk_bytes"));
    let text = works(&["info", pool, "--space"]);
    assert!(text.contains("payload") && text.contains("in spans of"), "{text}");
    let info = json(&works(&["info", pool, "--json"]));
    assert!(info["payload_bytes"].is_null() && info["sizes"].is_null());
}

#[test]
fn a_thousand_puts_take_little() {
    // In memory: a thousand processes, each of which would wait for the disk.
    let place = Place::in_memory();
    let pool = &*place.pool();
    works(&["put", pool, "0", "0"]);
    let size = |pool| {
        let info = json(&works(&["info", pool, "--json"]));
        info["bytes_in_use"].as_u64().expect("a number")
    };
    let before = size(pool);
    for i in 1..1000 {
        works(&["put", pool, &i.to_string(), "1"]);
    }
    assert!(size(pool) <= before + (64 << 10), "{} -> {}", before, size(pool));
    assert_eq!(works(&["scan", pool]).lines().count(), 1000);
}

/// Whether some row of the guide's tables has `name` in one of its first two columns.
fn guide_has_row(name: &str) -> bool {
    let guide = include_str!("../../../docs/guide.md");
    let mut rows = guide.lines().filter_map(|line| line.strip_prefix("| "));
    rows.any(|row| row.split(" | ").take(2).any(|cell| cell.contains(&format!("`{name}`"))))
}

/// The variant of an error that has this code.
fn variant(code: &str) -> String {
    let words = code.split('_').map(|word| word[..1].to_uppercase() + &word[1..]);
    words.collect()
}

#[test]
fn failures_are_told_as_json_where_that_is_asked_for() {
    let place = Place::new();
    let pool = &*place.pool();
    works(&["put", pool, "user:1", "Ada"]);
    let missing = place.path("missing").display().to_string();
    std::fs::write(place.path("text"), b"no pool, but longer than a header of one")
        .expect("a file");
    let text_file = place.path("text").display().to_string();
    let long = "k".repeat(65_537);
    let hole = place.path("hole").display().to_string();
    std::fs::File::create(&hole).and_then(|file| file.set_len(2 << 30)).expect("a hole");
    for (status, code, arguments) in [
        (3, "io", &["info", &missing, "--json"][..]),
        (3, "not_a_pool", &["get", &text_file, "x", "--json"]),
        (3, "no_such_map", &["get", pool, "x", "--map", "typo", "--json"]),
        (3, "no_such_map", &["count", pool, "--map", "typo", "--json"]),
        (3, "failed", &["put", pool, "x", "--file", &missing, "--json"]),
        (3, "value_too_long", &["put", pool, "x", "--file", &hole, "--json"]),
        (3, "wrong_types", &["put", pool, "1", "1", "--values", "u64", "--json"]),
        (3, "key_too_long", &["put", pool, &long, "1", "--json"]),
        (2, "usage", &["scan", pool, "--from", "b", "--to", "a", "--json"]),
    ] {
        let said = json(&ends_with(status, arguments));
        assert_eq!(said["error"]["code"], code, "{said}");
        assert!(said["error"]["message"].as_str().is_some_and(|text| text.len() > 10), "{said}");
        assert!(guide_has_row(code) || guide_has_row(&variant(code)), "no row for `{code}`");
    }
    for status in 0..=3 {
        assert!(guide_has_row(&status.to_string()), "no row for exit code {status}");
    }
}

#[test]
fn completions_manual_and_version() {
    let page = works(&["man"]);
    for command in ["put", "import", "torture"] {
        let script = works(&["completions", "bash"]);
        assert!(script.contains(command) && page.contains(&command.to_uppercase()), "{command}");
    }
    for shell in ["zsh", "fish", "elvish", "powershell"] {
        assert!(works(&["completions", shell]).contains("endura"), "{shell}");
    }
    assert!(
        page.starts_with(".ie") && page.contains(".SH \"SCAN\"") && !page.contains("demo-writer")
    );
    let version = works(&["--version"]);
    let format = format!("(file format {})\n", endura::FORMAT);
    assert!(version.starts_with("endura 0.") && version.ends_with(&format), "{version}");
}

/// The names in the first column of a table of the guide that follows the line `behind`.
fn fields_in_guide(behind: &str) -> Vec<String> {
    let guide = include_str!("../../../docs/guide.md");
    let (_, rest) = guide.split_once(behind).expect("the line");
    let rows = rest.lines().skip_while(|line| !line.starts_with("| `"));
    let rows = rows.take_while(|line| line.starts_with("| `"));
    let mut names: Vec<_> = rows
        .flat_map(|row| row.split(" | ").next().unwrap_or_default().split('`').skip(1).step_by(2))
        .map(String::from)
        .collect();
    names.sort();
    names
}

#[test]
fn the_guide_has_every_field_of_info() {
    let place = Place::new();
    let pool = &*place.pool();
    works(&["put", pool, "7", "8"]);
    let info = json(&works(&["info", pool, "--json", "--space"]));
    let names = |value: &Value| -> Vec<String> {
        value.as_object().expect("an object").keys().cloned().collect()
    };
    assert_eq!(names(&info), fields_in_guide("### What `info --json` prints"));
    assert_eq!(names(&info["maps"][0]), fields_in_guide("and in each object of `maps`:"));
}
