//! Texts for people: messages, tables.

use std::fs;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use rustix::process::Signal;

use crate::support::{
    Place, code, command, ended, ends_with, endura, endura_with, program, text, works,
};

#[test]
fn complaints_say_what_is_there() {
    let place = Place::new();
    let pool = &*place.pool();
    works(&["put", pool, "1", "2"]);
    works(&["put", pool, "a", "b", "--map", "roart"]);
    let complaint = ends_with(3, &["put", pool, "1", "1", "--kind", "nbtree"]);
    assert!(complaint.contains("`main` is a FastFair, not an NbTree"), "{complaint}");
    let complaint = ends_with(3, &["put", pool, "1", "1", "--kind", "roart"]);
    assert!(complaint.contains("is a FastFair, not a Roart"), "{complaint}");
    let complaint = ends_with(3, &["put", pool, "1", "1", "--map", "roart", "--kind", "fast-fair"]);
    assert!(complaint.contains("is a Roart, not a"), "{complaint}");

    let import = |input: &[u8], more: &[&str]| {
        let output = endura_with(&[&["import", pool], more].concat(), input);
        assert_eq!(code(&output), 3);
        text(&output.stderr).to_string()
    };
    let complaint = import(b"1,5,1\n", &[]);
    assert!(complaint.contains("comma") && complaint.contains("found 2 commas"), "{complaint}");
    let complaint = import(b"1\ta\\b\n", &[]);
    assert!(complaint.contains("`a\\b`"), "a backslash is shown as it stands: {complaint}");
    for complaint in [
        import(b"", &["--format", "mdb"]),
        ends_with(3, &["import", pool, &place.text("")]),
        ends_with(3, &["import", pool, &place.text(""), "--format", "mdb"]),
    ] {
        assert!(!complaint.contains("line 0"), "{complaint}");
    }
    let complaint = ends_with(3, &["export", pool, "--map", "roart", "--format", "lines"]);
    assert!(complaint.contains("`a`") && complaint.contains("value"), "{complaint}");
    ends_with(3, &["export", pool, "--format", "lines"]);
}

/// Also where its name is a word of the complaint.
#[test]
fn complaints_name_the_file_whatever_it_is_called() {
    let place = Place::new();
    works(&["put", &place.pool(), "1", "2"]);
    let _open = endura::Pool::options().open_existing(place.pool()).expect("the pool");
    for (name, arguments) in [
        ("pool", "get pool 1 --wait 0"),
        ("pool", "check pool --wait 0"),
        ("pool", "rename pool main x --wait 0"),
        ("a", "get a 1"),
        ("a", "put a 1 1"),
    ] {
        if name == "a" && !place.path("a").exists() {
            fs::create_dir(place.path("a")).expect("a folder");
        }
        let mut run = command(&arguments.split(' ').collect::<Vec<_>>());
        let output = run.current_dir(place.path("")).output().expect("the command");
        let said = text(&output.stderr);
        let is_named = said.contains(&format!(" {name}: "));
        assert!(code(&output) == 3 && is_named, "{arguments}: {said}");
    }
}

#[test]
fn commands_that_only_read_take_no_options_of_those_that_write() {
    let place = Place::new();
    let pool = &*place.pool();
    works(&["put", pool, "1", "2"]);
    for command in [
        &["get", pool, "1"][..],
        &["scan", pool],
        &["export", pool],
        &["info", pool],
        &["check", pool],
    ] {
        ends_with(2, &[command, &["--kind", "nbtree"]].concat());
        ends_with(2, &[command, &["--max-size", "1G"]].concat());
    }
}

#[test]
fn flushes_in_vain_are_worth_a_warning() {
    let place = Place::in_memory();
    let pool = &*place.pool();
    works(&["put", pool, "1", "2"]);
    assert!(!works(&["info", pool]).contains("warning"));
    let info = endura(&["info", pool, "--media", "adr"]);
    if code(&info) == 0 {
        let info = text(&info.stdout);
        assert!(
            info.contains("warning") && info.contains("the pool is opened as persistent memory")
        );
    }
}

/// What a shell would call "Bus error" and "File size limit exceeded".
#[test]
fn a_signal_of_the_file_system_comes_with_a_word() {
    let place = Place::in_memory();
    let pool = &*place.pool();
    let lines: String = (0..600_000).map(|i| format!("{i}\t{i}\n")).collect();
    assert_eq!(code(&endura_with(&["import", pool], lines.as_bytes())), 0);
    let mut scan = command(&["scan", pool, "--consistent"]);
    let scan = scan.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut scan = scan.expect("a scan");
    let mut out = scan.stdout.take().expect("a pipe");
    out.read_exact(&mut [0; 10]).expect("the first lines");
    let file = fs::File::options().write(true).open(pool).expect("the pool");
    file.set_len(2 << 20).expect("cut short");
    out.read_to_end(&mut Vec::new()).expect("the rest");
    let mut err = scan.stderr.take().expect("a pipe");
    let status = ended(scan);
    let mut said = String::new();
    err.read_to_string(&mut said).expect("a word");
    assert_eq!(status.signal(), Some(Signal::BUS.as_raw()), "{said}");
    assert!(
        said.contains(pool) && said.contains("cut short") && said.contains("endura check"),
        "{said}"
    );

    let new = place.text("new");
    let script = "ulimit -f 100; exec \"$0\" put \"$1\" 1 1";
    let output = Command::new("sh").args(["-c", script]).arg(program()).arg(&new).output();
    let output = output.expect("a shell");
    assert_eq!(code(&output), 3, "{output:?}");
    assert!(text(&output.stderr).contains(&new), "{}", text(&output.stderr));
    assert_eq!(place.names(), ["pool"]);
}
