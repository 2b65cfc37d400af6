//! Where an export may go, and what it may leave.

use std::fs::{self, Permissions};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{
    Place, command, ended, ends_with, endura, endura_with, in_foreground, left_out, program, text,
    works,
};

fn filled(place: &Place, entries: u64) -> String {
    let pool = place.pool();
    let lines: String = (0..entries).map(|i| format!("{i}\t{i}\n")).collect();
    assert!(endura_with(&["import", &pool], lines.as_bytes()).status.success());
    pool
}

#[test]
fn a_pool_is_never_written_over() {
    let place = Place::new();
    let pool = &*filled(&place, 3);
    let other = &*place.text("other");
    works(&["put", other, "7", "8"]);
    symlink("other", place.path("link")).expect("a link");
    for target in [pool, other, &place.text("link")] {
        let complaint = ends_with(3, &["export", pool, target]);
        assert!(
            complaint.contains("is a pool") && complaint.contains(target)
                || target.ends_with("link")
        );
    }
    assert_eq!(works(&["scan", pool]), "0\t0\n1\t1\n2\t2\n");
    assert_eq!(works(&["scan", other]), "7\t8\n");
    assert_eq!(place.names(), ["link", "other", "pool"]);
}

#[test]
fn pipes_and_devices_are_written_to_and_stay() {
    let place = Place::new();
    let pool = &*filled(&place, 3);
    let pipe = place.text("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let reader = Command::new("timeout").args(["20", "cat", &pipe]).stdout(Stdio::piped()).spawn();
    let reader = reader.expect("a reader");
    let writer =
        command(&["export", pool, &pipe]).stdout(Stdio::null()).spawn().expect("an export");
    assert_eq!(ended(writer).code(), Some(0));
    let read = reader.wait_with_output().expect("the reader");
    assert_eq!(text(&read.stdout), "0\t0\n1\t1\n2\t2\n");
    assert!(fs::metadata(&pipe).expect("the pipe").file_type().is_fifo());

    let device = place.text("null");
    let made = Command::new("mknod").args([&device, "c", "1", "3"]).output().expect("mknod");
    if !made.status.success() || fs::write(&device, "x").is_err() {
        left_out("only root makes devices");
        return;
    }
    works(&["export", pool, &device]);
    assert!(fs::metadata(&device).expect("the device").file_type().is_char_device());
    symlink("null", place.path("link")).expect("a link");
    works(&["export", pool, &place.text("link")]);
    assert!(fs::metadata(&device).expect("the device").file_type().is_char_device());
}

/// A library that makes each `fsync` of the command's own files fail, as a disk does that cannot write.
const FAILING: &str = "#include <errno.h>
int fsync(int file) { (void)file; errno = EIO; return -1; }
";

#[test]
fn a_disk_that_fails_is_no_success() {
    let place = Place::new();
    let pool = &*filled(&place, 2);
    let (source, library) = (place.text("fsync.c"), place.text("fsync.so"));
    fs::write(&source, FAILING).expect("a file");
    let compiled = Command::new("cc").args(["-shared", "-fPIC", "-o", &library, &source]).status();
    if !compiled.is_ok_and(|status| status.success()) {
        left_out("there is no C compiler");
        return;
    }
    let out = place.text("out.tsv");
    let output = command(&["export", pool, &out]).env("LD_PRELOAD", &library).output();
    let output = output.expect("the command");
    let said = text(&output.stderr);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(3), ""), "{said}");
    assert!(said.contains(&format!("cannot write {out}: Input/output error")), "{said}");
    assert_eq!(place.names(), ["fsync.c", "fsync.so", "pool"]);
}

#[test]
fn links_are_followed_and_modes_kept() {
    let place = Place::new();
    let pool = &*filled(&place, 1);
    fs::create_dir(place.path("folder")).expect("a folder");
    fs::write(place.path("folder/secret"), "old").expect("a file");
    let mode = |name: &str| fs::symlink_metadata(place.path(name)).expect("a file").mode() & 0o7777;
    fs::set_permissions(place.path("folder/secret"), Permissions::from_mode(0o600))
        .expect("a mode");
    symlink("folder/secret", place.path("link")).expect("a link");
    symlink("folder/new", place.path("dangling")).expect("a link");
    for name in ["link", "dangling"] {
        works(&["export", pool, &place.text(name)]);
        assert!(fs::symlink_metadata(place.path(name)).expect("a link").is_symlink(), "{name}");
        assert_eq!(fs::read_to_string(place.path(name)).expect("a file"), "0\t0\n");
    }
    assert_eq!(mode("folder/secret"), 0o600);
    assert!(place.path("folder/new").is_file());
    symlink("loop", place.path("loop")).expect("a link");
    ends_with(3, &["export", pool, &place.text("loop")]);
    let folder = ends_with(3, &["export", pool, &place.text("folder")]);
    assert!(folder.contains("/folder"), "{folder}");
    assert_eq!(place.names(), ["dangling", "folder", "link", "loop", "pool"]);
}

#[test]
fn an_interrupted_export_leaves_nothing() {
    let place = Place::in_memory();
    let pool = &*filled(&place, 400_000);
    fs::write(place.path("out"), "before").expect("a file");
    for (i, signal) in
        [Signal::KILL, Signal::INT, Signal::TERM, Signal::KILL].into_iter().enumerate()
    {
        let mut child = in_foreground(&["export", pool, &place.text("out")]);
        let child = child.stdout(Stdio::null()).spawn().expect("an export");
        std::thread::sleep(Duration::from_millis(20 + 20 * i as u64));
        let _ = kill_process(Pid::from_child(&child), signal);
        ended(child);
        assert_eq!(place.names(), ["out", "pool"], "after {signal:?}");
    }
    let out = fs::read_to_string(place.path("out")).expect("the file");
    assert!(out == "before" || out.lines().count() == 400_000, "half an export");
}

#[test]
fn all_maps_go_to_a_folder() {
    let place = Place::new();
    let pool = &*filled(&place, 2);
    works(&["put", pool, "user:1", "Ada", "--map", "a/b ../c", "--kind", "roart"]);
    let folder = place.text("all");
    let said = works(&["export", pool, "--all", &folder, "--format", "csv"]);
    assert!(said.contains("main: 2 entries"), "{said}");
    assert_eq!(fs::read_to_string(place.path("all/main.csv")).expect("a file"), "0,0\n1,1\n");
    let other = fs::read_to_string(place.path("all/a%2fb%20..%2fc.csv")).expect("a file");
    assert_eq!(other, "user:1,Ada\n");
    assert!(ends_with(3, &["export", pool, "--all", &folder]).contains("exists"));
    // A format that cannot hold the values leaves no folder.
    ends_with(3, &["export", pool, "--all", &place.text("lines"), "--format", "lines"]);
    assert_eq!(place.names(), ["all", "pool"]);
    assert_eq!(endura(&["export", pool, "--all", &folder, "--map", "main"]).status.code(), Some(2));
}

/// By whatever name: behind what is there, and with nothing between the entries.
#[test]
fn standard_output_is_no_file_to_replace() {
    let place = Place::new();
    let pool = &*filled(&place, 2);
    let log = place.text("log");
    let run = |script: &str| {
        let mut sh = Command::new("sh");
        sh.args(["-c", script]).arg(program()).args([pool, &log]);
        assert!(sh.status().expect("a shell").success(), "{script}");
        fs::read_to_string(&log).expect("the log")
    };
    for name in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "\"$2\""] {
        let script = format!("{{ echo a; \"$0\" export \"$1\" {name}; echo b; }} > \"$2\"");
        assert_eq!(run(&script), "a\n0\t0\n1\t1\nb\n", "{name}");
        let script = format!("\"$0\" export \"$1\" {name} | cat > \"$2\"");
        if name.starts_with('/') {
            assert_eq!(run(&script), "0\t0\n1\t1\n", "{name}");
        }
    }
    let said = run("{ echo a; \"$0\" export \"$1\" /dev/stderr; echo b; } 2> \"$2\" >&2");
    assert_eq!(said, "a\n0\t0\n1\t1\nb\n");
    let said = run("{ echo a >&2; \"$0\" export \"$1\" /dev/stderr; echo b >&2; } 2> \"$2\"");
    assert_eq!(said, "a\n0\t0\n1\t1\nb\n");
}

#[test]
fn a_link_that_leads_nowhere_is_no_folder_to_make() {
    let place = Place::new();
    let pool = &*filled(&place, 2);
    symlink("nowhere", place.path("link")).expect("a link");
    let complaint = ends_with(3, &["export", pool, "--all", &place.text("link")]);
    assert!(complaint.contains("exists"), "{complaint}");
    assert_eq!(place.names(), ["link", "pool"]);
}
