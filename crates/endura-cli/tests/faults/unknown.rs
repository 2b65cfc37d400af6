//! A pool with a map of a newer build, whose kind, nodes or feature this build does not know. Every command that needs
//! the map reports the same error, and leaves it as it is. Commands on other maps work.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::process::Stdio;

use crate::support::{Place, code, command, endura, endura_with, json, text, works};

/// The word in the entry of a pool's first map that says what that is: its kind, from bit 8 on the parameters of its
/// nodes, from bit 56 on the bytes of its name.
const WHAT: u64 = 16384 + 8;

const PATCHES: [fn(u64) -> u64; 3] = [
    |what| what & !0xFF | 9,
    |what| what & 0xFF << 56 | (64 << 16 | 64) << 8 | 1,
    |what| what | 1 << 55,
];

fn patch(pool: &str, change: fn(u64) -> u64) {
    let file = File::options().read(true).write(true).open(pool).expect("the pool");
    let mut word = [0; 8];
    file.read_exact_at(&mut word, WHAT).expect("the entry");
    file.write_all_at(&change(u64::from_le_bytes(word)).to_le_bytes(), WHAT).expect("the entry");
}

/// A pool with three entries in the unknown map `main`, and two in `other`. `killed`: whether the number of entries of
/// both is lost.
fn pool(place: &Place, change: fn(u64) -> u64, killed: bool) -> String {
    let pool = place.pool();
    place.remove_pool("pool");
    endura_with(&["import", &pool], b"1\t1\n2\t2\n3\t3\n");
    endura_with(&["import", &pool, "--map", "other"], b"a\tb\nc\td\n");
    if killed {
        for (map, entry) in [("main", "1\t1\n"), ("other", "a\tb\n")] {
            die_inside(&pool, map, entry);
        }
    }
    patch(&pool, change);
    pool
}

/// An import that is killed after its first entry.
fn die_inside(pool: &str, map: &str, entry: &str) {
    use std::io::Write;
    let mut import = command(&["import", pool, "--map", map]);
    let mut child = import.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("an import");
    let mut input = child.stdin.take().expect("a pipe");
    // More than the pipe and the command's own buffer hold, so that it has stored some of them.
    for _ in 0..60_000 {
        input.write_all(entry.as_bytes()).expect("entries");
    }
    child.kill().expect("a kill");
    child.wait().expect("an end");
}

/// A command ends with the one answer that the map `main` has.
#[track_caller]
fn refused(arguments: &[&str], input: &[u8]) -> String {
    let output = endura_with(arguments, input);
    let told = text(&output.stderr);
    assert_eq!(code(&output), 3, "{arguments:?}: {told}");
    assert!(output.stdout.is_empty(), "{arguments:?}: {}", text(&output.stdout));
    let message = match arguments.contains(&"--json") {
        true => {
            let error = json(told)["error"].clone();
            assert_eq!(error["code"], "unknown_nodes", "{arguments:?}: {told}");
            error["message"].as_str().expect("a sentence").to_owned()
        }
        false => told.to_owned(),
    };
    assert!(message.contains("`main`") && message.contains("endura export"), "{message}");
    assert!(!message.contains("panicked"), "{message}");
    message
}

#[test]
fn an_unknown_map_has_one_answer() {
    let place = Place::in_memory();
    for change in PATCHES {
        for killed in [false, true] {
            let pool = &*pool(&place, change, killed);
            let (file, folder) = (&*place.text("out.tsv"), &*place.text("all"));
            let before = std::fs::read(pool).expect("the pool");
            for arguments in [
                &["get", pool, "1"][..],
                &["get", pool, "1", "--json"],
                &["scan", pool],
                &["scan", pool, "--json", "--reverse"],
                &["export", pool],
                &["export", pool, file],
                &["export", pool, "--all", folder],
                &["check", pool],
                &["check", pool, "--json"],
            ] {
                refused(arguments, b"");
            }
            assert!(refused(&["export", pool, "--all", folder], b"").contains("`--map` in place"));
            assert_eq!(place.names(), ["pool"]);
            assert!(std::fs::read(pool).expect("the pool") == before);
            for arguments in [
                &["put", pool, "1", "2"][..],
                &["put", pool, "1", "2", "--json"],
                &["put", pool, "1", "2", "--new", "--keys", "u64", "--values", "u64"],
                &["del", pool, "1"],
                &["del", pool, "1", "--json"],
                &["import", pool],
                &["import", pool, "--json", "--keep"],
                &["check", pool, "--accept"],
                &["drop", pool, "main"],
            ] {
                refused(arguments, b"7\t7\n");
            }
        }
    }
}

#[test]
fn maps_beside_an_unknown_one_can_be_used() {
    let place = Place::in_memory();
    for change in PATCHES {
        for killed in [false, true] {
            let pool = &*pool(&place, change, killed);
            let folder = &*place.text("other.tsv");
            let other = |arguments: &[&str]| {
                works(&[&arguments[..1], &[pool], &arguments[1..], &["--map", "other"]].concat())
            };
            let info = json(&works(&["info", pool, "--json"]));
            let is_known = |map: usize| info["maps"][map]["is_known"].as_bool();
            assert_eq!((is_known(0), is_known(1)), (Some(false), Some(true)), "{info}");
            assert_eq!(info["maps"][0]["entries"].is_null(), killed, "{info}");
            assert!(works(&["info", pool]).contains("unknown to this build"));
            assert_eq!(other(&["get", "a"]), "b\n");
            assert_eq!(other(&["scan"]), "a\tb\nc\td\n");
            other(&["export", folder]);
            other(&["put", "e", "f"]);
            other(&["del", "e"]);
            assert_eq!(json(&other(&["count", "--json"]))["entries"]["other"], 2);
            match killed {
                false => assert!(works(&["count", pool]).contains("main")),
                true => {
                    refused(&["count", pool, "--map", "main"], b"");
                    assert!(refused(&["count", pool], b"").contains("`--map` counts"));
                    refused(&["count", pool, "--json"], b"");
                }
            }
            let done = endura_with(&["import", pool, "--map", "new"], b"x\ty\n");
            assert_eq!(code(&done), 0, "{}", text(&done.stderr));
            works(&["rename", pool, "new", "newer"]);
            works(&["drop", pool, "newer"]);
            works(&["rename", pool, "main", "aside"]);
            works(&["rename", pool, "aside", "main"]);
            assert_eq!(code(&endura(&["rename", pool, "other", "main"])), 3);
            // Read by the build that made it, the map is what it was.
            patch(pool, |what| what & 0xFF << 56 | 0x0100_0080 << 8 | 1);
            assert_eq!(works(&["scan", pool]), "1\t1\n2\t2\n3\t3\n");
            assert!(works(&["check", pool]).contains("sound"));
            std::fs::remove_file(folder).expect("the export");
        }
    }
}
