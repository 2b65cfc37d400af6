//! Long keys, long lines, values that no item takes, and the differences that the page names.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use super::{Memcached, answer, shown, start};
use crate::support::Client;

#[test]
fn limits_are_those_of_memcached() {
    let Some(memcached) = Memcached::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let server = start(&folder.path().join("pool"));
    let (key, long) = ("k".repeat(250), "k".repeat(251));
    let (value, huge) = ("v".repeat(1_000_000), "v".repeat(2_000_000));
    let (blanks, binary) = (" ".repeat(1_500), "AAEC".repeat(62));
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
        // The meta protocol.
        format!(
            "ms {key} 1 k\r\nx\r\nmg {key} v k\r\nma {key} k\r\nmd {key} k I\r\nmg {key}\r\nme {key}\r\nmd {key} k\r\n"
        ),
        format!(
            "ms {long} 1\r\nmn\r\nmg {long} v\r\nma {long}\r\nmd {long}\r\nme {long}\r\nmn\r\n"
        ),
        format!(
            "ms {binary} 1 b k\r\nx\r\nmg {binary} v k b\r\nme {binary} b\r\nmd {binary} b k\r\n"
        ),
        format!("ms {binary}AAAA 1 b k\r\nx\r\nmg {binary}AAAA b k\r\nmn\r\n"),
        format!(
            "ms a 1000000\r\n{value}\r\nmg a v s\r\nms a 1000000 MA\r\n{value}\r\nmg a s\r\nma a\r\n"
        ),
        format!(
            "ms a 1 q\r\nx\r\nms a 2000000 q k\r\n{huge}\r\nmg a\r\nms a 1 q\r\nx\r\nms a 2000000 MA q\r\n{huge}\r\nmg a\r\n"
        ),
        format!("ms a 2000000 Q\r\n{huge}\r\nms a 2000000 O{key}\r\n{huge}\r\nmn\r\n"),
        format!(
            "append e 0 0 1\r\nx\r\nset e 0 0 1000000\r\n{value}\r\nappend e 0 0 1000000\r\n{value}\r\nmg e s\r\n"
        ),
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
    let server = start(&folder.path().join("pool"));
    let port = server.address.port().to_string();
    let output = Command::new("memccapable").args(["-h", "127.0.0.1", "-p", &port, "-a"]).output();
    let Ok(output) = output else {
        return eprintln!("not checked: memccapable (libmemcached-tools) is not installed");
    };
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !text.contains("FAIL"), "{text}");
    server.terminate();
}

/// The rows of `docs/memcached.md` about commands that are answered otherwise: what is said, a part of memcached's answer,
/// which this server's does not have, and a part of this server's.
const DIFFERENCES: &[(&str, &str, &str)] = &[
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
    // Numbers of more than 32 bits.
    ("ms f 1 F4294967301\r\nx\r\nmg f f\r\n", "HD f5", "CLIENT_ERROR bad command line format"),
    ("ms t 1 T2147483648\r\nx\r\nmg t\r\n", "EN", "HD"),
    // A key ends at a blank, and not at a NUL.
    ("ms x 1\r\nx\r\nmg x\0y\r\n", "HD: HD", "CLIENT_ERROR bad command line format"),
    // The time of a number that becomes longer.
    ("ms n 1\r\n9\r\nmn\r\nma n T30\r\nmg n t\r\n", "HD t-1", "HD t30"),
    // A number is not padded before its old item is released.
    ("ms m 2\r\n10\r\nmg m\r\nma m MD\r\nmg m v\r\n", "VA 1: 9", "VA 2: 9"),
    // A key that no line can have.
    ("mg IA== N30 k b\r\n", "HD k  W", "HD kIA== b W"),
    ("mg v T-1 t v\r\nms v 1\r\nx\r\nmg v T-1 t\r\n", "HD t42", "HD t0"),
    ("watch\r\n", "OK", "CLIENT_ERROR watch commands not allowed"),
    ("cache_memlimit 64\r\n", "OK", "MEMLIMIT_ADJUST_FAILED"),
    ("lru_crawler metadump all\r\n", "END", "ERROR metadump not allowed"),
    ("ms d 1\r\nx\r\nme d\r\n", " cls=", " size="),
    // The last row, because memcached removes all items of this second.
    ("flush_all 1\r\nset q 0 0 1\r\ny\r\nget q\r\n", "STORED: END", "VALUE q 0 1"),
];

#[test]
fn the_differences_are_those_of_the_page() {
    let Some(memcached) = Memcached::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let server = start(&folder.path().join("pool"));
    for &(said, theirs, ours) in DIFFERENCES {
        let [found, other] = [memcached.address, server.address].map(|address| {
            let mut client = Client::connect(address).unwrap();
            client.say(said).unwrap();
            String::from_utf8_lossy(&client.rest().unwrap()).replace("\r\n", ": ")
        });
        assert!(found.contains(theirs), "{said:?}: memcached {found:?}");
        assert!(other.contains(ours) && !other.contains(theirs), "{said:?}: endura {other:?}");
    }
    server.terminate();
}

/// A `flush_all` to come takes effect in the same second as with memcached, and one of a second takes effect at once.
#[test]
fn a_flush_to_come_is_as_with_memcached() {
    let Some(memcached) = Memcached::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let server = start(&folder.path().join("pool"));
    let times = [memcached.address, server.address].map(|address| {
        let mut client = Client::connect(address).unwrap();
        assert_eq!(client.ask("set a 0 0 1\r\nx\r\n").unwrap(), "STORED");
        assert_eq!(client.ask("flush_all 1\r\n").unwrap(), "OK");
        assert_eq!(client.get("a"), None, "a second from now is this second");
        assert_eq!(client.ask("flush_all 100\r\n").unwrap(), "OK");
        assert_eq!(client.ask("set a 0 0 1\r\nx\r\n").unwrap(), "STORED");
        assert_eq!(client.ask("flush_all 3\r\n").unwrap(), "OK");
        let begun = Instant::now();
        while client.get("a").is_some() {
            thread::sleep(Duration::from_millis(10));
        }
        begun.elapsed()
    });
    let second = Duration::from_millis(1_200);
    assert!(times[0].abs_diff(times[1]) < second, "{times:?}");
    server.terminate();
}
