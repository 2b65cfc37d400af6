//! Every command with each kind of failure: the folder holds what it held, and so does the pool.

use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{
    Place, command, ended, endura_with, in_foreground, in_namespace, program, text, works,
};

/// A pool with two maps, and what it holds.
fn prepared() -> Place {
    let place = Place::in_memory();
    let pool = &*place.pool();
    works(&["put", pool, "1", "10"]);
    works(&["put", pool, "a", "b", "--map", "people", "--kind", "roart"]);
    std::fs::write(place.path("text"), "no numbers\n").expect("a file");
    place
}

fn contents(pool: &str) -> String {
    ["main", "people"].map(|map| works(&["scan", pool, "--map", map])).concat()
        + &works(&["count", pool])
}

/// Arguments that make no sense.
const BAD_USAGE: &[&str] = &[
    "get P",
    "get P x",
    "get P 1 --bad",
    "put P 1",
    "put P x 1",
    "put NEW x 1 --keys u64",
    "put NEW 1 1 --map=",
    "put NEW 1 1 --media x",
    "put NEW 1 1 --wait x",
    "del P",
    "del P x",
    "del NEW 1",
    "batch",
    "batch P --json x y",
    "scan P --from x",
    "scan P --prefix 1",
    "scan P --from 2 --to 1",
    "import P --format x",
    "import P --format json --header",
    "export P OUT --format json --header",
    "export P OUT --format x",
    "export P OUT --all OUT",
    "info P x",
    "check",
    "count P --map=",
    "drop P",
    "rename P main",
    "checkpoint P --checkpoint-every x",
    "put P 1 1 --no-checkpoints --checkpoint-every 1",
    "restore",
    "backup P",
    "compact P",
    "demo --keys x --dir DIR",
    "torture --min-ms 9 --max-ms 1 --dir DIR",
    "nonsense",
];

/// Files that are not there, or are something else.
const UNREADABLE: &[&str] = &[
    "get NEW 1",
    "batch NEW TEXT",
    "batch P TEXT",
    "batch P /nowhere",
    "batch TEXT TEXT",
    "scan NEW",
    "export NEW OUT",
    "info NEW",
    "check NEW",
    "count NEW",
    "drop NEW main",
    "rename NEW main x",
    "checkpoint NEW",
    "checkpoint P",
    "restore NEW",
    "restore P",
    "restore P --from TEXT",
    "backup NEW OUT",
    "backup TEXT OUT",
    "backup P P",
    "backup P DIR",
    "backup P /nowhere/out",
    "compact NEW OUT",
    "compact P P",
    "compact P TEXT",
    "compact P /nowhere/out",
    "put P 1 1 --checkpoint-file TEXT",
    "put P 1 1 --checkpoint-file DIR",
    "put NEW 1 1 --checkpoint-file TEXT",
    "get DIR 1",
    "put DIR 1 1",
    "export DIR OUT",
    "put P 1 --file /nowhere",
    "put NEW 1 --file DIR",
    "import P /nowhere",
    "import NEW /nowhere",
    "import NEW DIR",
    "import NEW TEXT",
    "import P TEXT",
    "import NEW TEXT --format mdb",
    "put TEXT 1 1",
    "import TEXT TEXT",
    "check TEXT",
    "export P /nowhere/out",
    "export P DIR",
    "export P P",
    "demo --dir /nowhere",
    "torture --dir /nowhere",
    "torture P",
];

/// Maps that are not there, or of another kind.
const WRONG_MAP: &[&str] = &[
    "get P 1 --map typo",
    "del P 1 --map typo",
    "scan P --map typo",
    "export P OUT --map typo",
    "count P --map typo",
    "drop P typo",
    "rename P typo x",
    "rename P main people",
    "put P 1 1 --kind roart",
    "put P a b",
    "import P TEXT --kind roart",
    "export P OUT --map people --format lines",
    "export P --all OUT --format lines",
];

/// Too little to make anything.
const NO_SPACE: &[&str] = &[
    "put NEW 1 1 --max-size 1",
    "import NEW TEXT --kind roart --format lines --max-size 1",
    "demo --max-size 1K --dir DIR",
    "torture --max-size 1K --dir DIR",
];

#[test]
fn commands_that_fail_leave_nothing() {
    let place = prepared();
    let pool = &*place.pool();
    let folder = place.text("");
    let before = (place.names(), contents(pool));
    for line in [BAD_USAGE, UNREADABLE, WRONG_MAP, NO_SPACE].concat() {
        let words = line.split(' ').map(|word| match word {
            "P" => place.pool(),
            "DIR" => folder.trim_end_matches('/').into(),
            "NEW" | "OUT" | "TEXT" => place.text(&word.to_lowercase()),
            word => word.into(),
        });
        let arguments: Vec<String> = words.collect();
        let words: Vec<_> = arguments.iter().map(String::as_str).collect();
        let output = endura_with(&words, b"");
        let (code, said) = (output.status.code(), text(&output.stderr));
        assert!(matches!(code, Some(2 | 3)), "{line}: {code:?} {said}");
        let mut files = words.iter().filter(|word| word.starts_with('/'));
        let is_named = files.any(|file| said.contains(file));
        assert!(if code == Some(3) { is_named } else { !said.is_empty() }, "{line}: {said}");
        assert_eq!((place.names(), contents(pool)), before, "{line}: {said}");
    }
}

/// Its input stays open. At the end of it, `put --file -` might finish its work before it sees the signal.
fn interrupted(child: Child, signal: Signal) {
    std::thread::sleep(Duration::from_millis(150));
    let _ = kill_process(Pid::from_child(&child), signal);
    ended(child);
}

#[test]
fn commands_that_are_interrupted_leave_nothing() {
    let place = prepared();
    let (pool, new) = (&*place.pool(), &*place.text("new"));
    let dir = place.text("");
    let dir = dir.trim_end_matches('/');
    let lines: String = (0..200_000).map(|i| format!("{i}\t{i}\n")).collect();
    works(&["drop", pool, "main"]);
    assert!(endura_with(&["import", pool], lines.as_bytes()).status.success());
    let before = (place.names(), contents(pool).len());
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        for arguments in [
            &["import", new][..],
            &["import", pool, "--map", "x"],
            &["put", new, "1", "--file", "-"],
            &["scan", pool],
            &["export", pool],
            &["demo", "--dir", dir],
            &["torture", "--dir", dir, "--max-ms", "500"],
        ] {
            let mut child = in_foreground(arguments);
            child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
            interrupted(child.spawn().expect("the command starts"), signal);
            assert_eq!((place.names(), contents(pool).len()), before, "{arguments:?}, {signal:?}");
        }
    }
    // Nobody reads what they say.
    for arguments in [
        &["scan", pool][..],
        &["export", pool],
        &["info", pool],
        &["demo", "--keys", "2000", "--dir", dir],
    ] {
        let mut child = command(arguments);
        let mut child =
            child.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("a start");
        drop(child.stdout.take());
        ended(child);
        assert_eq!((place.names(), contents(pool).len()), before, "{arguments:?}, a closed pipe");
    }
}

/// A file that was moved to the path of a new pool is none of what a failed import made.
#[test]
fn a_failed_import_keeps_what_was_moved_to_its_path() {
    let place = Place::in_memory();
    let (new, other) = (place.path("new"), place.path("other"));
    std::fs::write(&other, "precious").expect("a file");
    let mut child = command(&["import", &place.text("new"), "--keys", "u64", "--values", "u64"]);
    let child = child.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = child.spawn().expect("the command starts");
    let mut input = child.stdin.take().expect("its input");
    let lines: String = (0..50_000).map(|i| format!("{i}\t{i}\n")).collect();
    input.write_all(lines.as_bytes()).expect("lines");
    let begun = std::time::Instant::now();
    while !new.exists() {
        assert!(begun.elapsed() < Duration::from_secs(60), "no pool was made");
        std::thread::sleep(Duration::from_millis(5));
    }
    std::fs::rename(&other, &new).expect("moved");
    input.write_all(b"no number\n").expect("a wrong line");
    drop(input);
    let output = child.wait_with_output().expect("an end");
    assert!(!output.status.success(), "{}", text(&output.stderr));
    assert_eq!(std::fs::read(&new).expect("it is there"), b"precious");
}

#[test]
fn a_full_disk_keeps_what_was_there() {
    let place = prepared();
    let pool = place.pool();
    let many = place.text("many");
    let lines: String = (0..300_000).map(|i| format!("{i}\t{i}\n")).collect();
    std::fs::File::create(&many)
        .and_then(|mut file| file.write_all(lines.as_bytes()))
        .expect("a file");
    assert!(endura_with(&["import", &pool, &many], b"").status.success());
    let folder = place.text("disk");
    std::fs::create_dir(&folder).expect("a folder");
    for (size, arguments) in [
        ("48k", "put $D/new 1 1"),
        ("100k", "put $D/new 1 1"),
        ("1m", "import $D/new $MANY"),
        ("1m", "export $POOL $D/out"),
        ("1m", "export $POOL --all $D/out"),
        ("1m", "backup $POOL $D/out"),
        ("1m", "compact $POOL $D/out"),
        ("100k", "put $D/new 1 1 --checkpoint-every 1"),
        ("48k", "demo --dir $D"),
        ("48k", "torture --dir $D"),
        ("48k", "torture $D/new"),
    ] {
        let script = format!(
            "D='{folder}' POOL='{pool}' MANY='{many}'; mount -t tmpfs -o size={size} none $D\n\
             if $ENDURA {arguments}; then echo worked; fi\nls -A $D"
        );
        let Some(output) = in_namespace(&script) else { return };
        let (out, said) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(out, "", "{arguments}: {said}");
        assert!(said.contains(&folder), "{arguments}: {said}");
        assert!(!said.contains("endura-export"), "a name that nobody chose: {said}");
    }
    // A map that was new goes. In one that was there, what was imported before the disk was full stays.
    for (before, left) in [("true", ""), ("$ENDURA put $D/new 0 7", "sound")] {
        let script = format!(
            "D='{folder}'; mount -t tmpfs -o size=5m none $D\n{before}\n\
             if $ENDURA import $D/new '{many}'; then echo worked; fi\n\
             if [ -e $D/new ]; then $ENDURA check $D/new; $ENDURA count $D/new; fi"
        );
        let output = in_namespace(&script).expect("a namespace");
        let (out, said) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success() && !out.contains("worked"), "{out}{said}");
        assert!(out.contains(left) && out.is_empty() == left.is_empty(), "{out}{said}");
        let hint = if left.is_empty() { "nothing was imported" } else { " added" };
        assert!(said.contains(hint), "{said}");
    }
}

/// Whatever it is that a process lacks, it makes a whole pool or none.
#[test]
fn a_process_without_means_leaves_nothing() {
    let place = Place::in_memory();
    let new = place.text("new");
    let limits =
        (1..60).map(|i| format!("-v {}", 5_000 * i)).chain((3..14).map(|n| format!("-n {n}")));
    let (mut refused, mut made) = (0, 0);
    for limit in limits {
        let script = format!("ulimit {limit}; exec \"$0\" put \"$1\" 1 1");
        let mut sh = Command::new("sh");
        let output = sh.args(["-c", &script]).arg(program()).arg(&new).output().expect("a shell");
        if output.status.success() {
            made += 1;
            std::fs::remove_file(&new).expect("the pool");
        } else {
            refused += 1;
            assert!(place.names().is_empty(), "{limit}: {}", text(&output.stderr));
        }
    }
    assert!(refused > 2 && made > 2, "{refused} refused, {made} made");
}
