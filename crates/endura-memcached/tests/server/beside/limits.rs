//! Long keys, long lines, values that no item takes, and the differences that the page names.

use std::process::Command;

use super::{Memcached, answer, shown};
use crate::support::Running;

#[test]
fn limits_are_those_of_memcached() {
    let Some(memcached) = Memcached::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(&folder.path().join("pool"), &[]);
    let (key, long) = ("k".repeat(250), "k".repeat(251));
    let (value, huge) = ("v".repeat(1_000_000), "v".repeat(2_000_000));
    let blanks = " ".repeat(1_500);
    let many = format!(" {key}").repeat(200);
    for said in [
        format!(
            "set {key} 0 0 1\r\nx\r\nget {key}\r\ntouch {key} 0\r\nincr {key} 1\r\ndelete {key}\r\n"
        ),
        format!("set {long} 0 0 1\r\nx\r\ntouch {long} 0\r\nincr {long} 1\r\ndelete {long}\r\n"),
        format!("set {long} 0 0 1 noreply\r\nincr {long} 1 noreply\r\nend\r\n"),
        // Alone, because memcached drops the replies to the commands before.
        format!("get {long}\r\n"),
        format!("get a {long}\r\n"),
        format!("gats 0 {long}\r\n"),
        format!("set a 0 0 1000000\r\n{value}\r\nget a\r\n"),
        // An item that cannot be stored takes the old one with it, if it comes by `set`.
        format!("set a 0 0 1\r\nx\r\nset a 0 0 2000000\r\n{huge}\r\nget a\r\n"),
        format!(
            "set b 0 0 1\r\nx\r\nadd b 0 0 2000000\r\n{huge}\r\nreplace b 0 0 2000000\r\n{huge}\r\nget b\r\n"
        ),
        format!("set a 0 0 1\r\nx\r\nset a 0 0 2000000 noreply\r\n{huge}\r\nget a\r\n"),
        format!("set c 0 0 1\r\nx\r\nget{blanks} c\r\nget{many} c\r\n{blanks}get c\r\n"),
    ] {
        let [theirs, ours] =
            [memcached.address, server.address].map(|address| answer(address, said.as_bytes()));
        assert_eq!(theirs, ours, "{}", shown(said.as_bytes()));
    }
    // A long line without an end ends the connection; this server says why before that.
    let junk = "x".repeat(10_000);
    let theirs = answer(memcached.address, junk.as_bytes());
    assert!(theirs.is_empty() || theirs[0].starts_with("CLIENT_ERROR"), "{theirs:?}");
    let ours = answer(server.address, junk.as_bytes());
    assert!(ours.is_empty() || ours == ["CLIENT_ERROR line too long\\r\\n"], "{ours:?}");
    server.terminate();
}

/// The check that libmemcached brings for servers.
#[test]
fn libmemcached_takes_it_for_memcached() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(&folder.path().join("pool"), &[]);
    let port = server.address.port().to_string();
    let output = Command::new("memccapable").args(["-h", "127.0.0.1", "-p", &port, "-a"]).output();
    let Ok(output) = output else {
        return eprintln!("not checked: memccapable (libmemcached-tools) is not installed");
    };
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !text.contains("FAIL"), "{text}");
    server.terminate();
}

/// The rows of `docs/memcached.md` about commands that are answered otherwise: what is said, memcached's last answer, this
/// server's.
const DIFFERENCES: [(&str, &str, &str); 3] = [
    ("set p 0 0 1\r\nx\r\nflush_all 2592001\r\nget p\r\n", "VALUE p 0 1", "END"),
    (
        "set z 0 0 4\r\n12\0\0\r\nincr z 1\r\n",
        "13",
        "CLIENT_ERROR cannot increment or decrement non-numeric value",
    ),
    (
        "set l 0 0 4294967296\r\nabc\r\n",
        "CLIENT_ERROR bad data chunk",
        "CLIENT_ERROR bad command line format",
    ),
];

#[test]
fn the_differences_are_those_of_the_page() {
    let Some(memcached) = Memcached::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(&folder.path().join("pool"), &[]);
    for (said, theirs, ours) in DIFFERENCES {
        for (address, expected) in [(memcached.address, theirs), (server.address, ours)] {
            let answers = answer(address, said.as_bytes());
            assert!(answers.iter().any(|line| line.contains(expected)), "{said:?}: {answers:?}");
        }
        let answers = answer(server.address, said.as_bytes());
        assert!(!answers.iter().any(|line| line.contains(theirs)), "{said:?}: {answers:?}");
    }
    server.terminate();
}
