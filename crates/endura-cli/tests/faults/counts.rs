//! How many entries there are after `kill -9`.

use std::io::Write;
use std::process::Stdio;

use serde_json::Value;

use crate::support::{Place, command, json, works};

/// Imports many entries and is killed while it waits for more.
fn killed_import(pool: &str, kind: &str) {
    let mut import = command(&["import", pool, "--kind", kind]);
    import.stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = import.spawn().expect("an import");
    let lines: String = (0..60_000).map(|i| format!("{i}\t{i}\n")).collect();
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(lines.as_bytes()).expect("entries");
    child.kill().expect("a kill");
    child.wait().expect("an end");
}

fn entries(pool: &str) -> Value {
    json(&works(&["info", pool, "--json"]))["maps"][0]["entries"].clone()
}

#[test]
fn counts_are_unknown_after_a_kill_and_come_back() {
    for kind in ["fast-fair", "nbtree", "roart"] {
        let place = Place::in_memory();
        let pool = &*place.pool();
        for counts in [
            &["check", pool][..],
            &["put", pool, "1", "1"],
            &["count", pool],
            &["import", pool, "/dev/null"],
            &["del", pool, "1"],
        ] {
            place.remove_pool("pool");
            killed_import(pool, kind);
            let info = works(&["info", pool]);
            assert!(info.contains("not known") && info.contains("endura count"), "{kind}: {info}");
            assert!(!info.contains("at least"), "{kind}: {info}");
            assert_eq!(entries(pool), Value::Null, "{kind}");
            works(counts);
            let lines = works(&["scan", pool]).lines().count();
            if counts[0] == "import" {
                // Without an entry it has no need to write.
                assert_eq!(entries(pool), Value::Null);
                continue;
            }
            assert_eq!(entries(pool), lines, "{kind}, {counts:?}");
            assert!(lines > 10_000, "{lines}");
            let counted = json(&works(&["count", pool, "--json"]));
            assert_eq!(counted["entries"]["main"], lines);
        }
    }
}

/// Their file is mapped without the right to store: a store would end them by a signal.
#[test]
fn commands_that_read_leave_a_killed_pool_as_it_is() {
    for kind in ["fast-fair", "nbtree", "roart"] {
        let place = Place::in_memory();
        let (pool, maps) = (&*place.pool(), &*place.text("maps"));
        killed_import(pool, kind);
        let before = std::fs::read(pool).expect("the pool");
        let lines = works(&["scan", pool]).lines().count();
        assert!(lines > 10_000, "{lines}");
        let mut backward: Vec<String> =
            works(&["scan", pool, "--reverse"]).lines().map(String::from).collect();
        backward.reverse();
        assert!(works(&["scan", pool]).lines().eq(backward));
        assert_eq!(works(&["get", pool, "77"]).trim(), "77");
        works(&["info", pool]);
        works(&["export", pool]);
        works(&["export", pool, "--all", maps]);
        assert!(std::fs::read(pool).expect("the pool") == before, "{kind}");
        works(&["check", pool]);
        works(&["count", pool]);
    }
}
