//! Ranges that threads answer, in turns.

use std::time::{Duration, Instant};

use super::support::{Client, Reply, Server};

fn fill(client: &mut Client, key: &str, entries: usize, value: usize) {
    let value = "v".repeat(value);
    for from in (0..entries).step_by(1_000) {
        let mut line = format!("EN.SET {key}");
        (from..entries.min(from + 1_000)).for_each(|i| line += &format!(" f{i:07} {value}"));
        assert!(!client.call(&line).is_error());
    }
}

/// Each turn goes on where the last one ended, in both directions.
#[test]
fn a_range_in_turns_has_all_entries() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let mut c = server.client();
    fill(&mut c, "k", 35_001, 1);
    c.call("EN.CREATE own KIND nbtree");
    for from in (0..25_000).step_by(1_000) {
        let mut line = "EN.SET own".to_owned();
        (from..from + 1_000).for_each(|i| line += &format!(" {i} {i}"));
        c.call(&line);
    }
    let all: Vec<String> = (0..35_001).map(|i| format!("f{i:07}")).collect();
    let back: Vec<String> = all.iter().rev().cloned().collect();
    for limit in [1_001, 9_999, 10_000, 10_001, 20_000, 35_001, 99_999] {
        let most = all.len().min(limit);
        let keys = c.call(&format!("EN.RANGE k - + KEYS LIMIT {limit}")).texts();
        assert_eq!(keys, all[..most], "{limit}");
        let keys = c.call(&format!("EN.RANGE k + - REV KEYS LIMIT {limit}")).texts();
        assert_eq!(keys, back[..most], "{limit}");
    }
    assert_eq!(c.call("EN.RANGE k - +").texts().len(), 70_002);
    assert_eq!(c.call("EN.PREFIX k f001 VALUES").texts().len(), 10_000);
    let integers: Vec<String> = (0..25_000).map(|i| i.to_string()).collect();
    assert_eq!(c.call("EN.RANGE own - + KEYS").texts(), integers);
    assert_eq!(c.call("EN.RANGE own + - REV VALUES").texts().len(), 25_000);
}

/// A range of 1,001 entries does not wait for a dozen long ones to end.
#[test]
fn a_short_range_does_not_wait_for_long_ones() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let mut c = server.client();
    fill(&mut c, "k", 300_000, 20);
    let begin = Instant::now();
    assert_eq!(c.call("EN.RANGE k - +").texts().len(), 600_000);
    let alone = begin.elapsed();
    let mut others: Vec<Client> = (0..12).map(|_| server.client()).collect();
    others.iter_mut().for_each(|other| other.raw(b"EN.RANGE k - +\r\n").unwrap());
    std::thread::sleep(Duration::from_millis(20));
    let begin = Instant::now();
    assert_eq!(c.call("EN.RANGE k - + KEYS LIMIT 1001").texts().len(), 1_001);
    let beside = begin.elapsed();
    eprintln!("a long range alone {alone:?}, a short one beside twelve {beside:?}");
    assert!(beside < alone * 3, "{beside:?}, and a long one takes {alone:?}");
    for mut other in others {
        assert_eq!(other.receive().unwrap().texts().len(), 600_000);
    }
}

fn memory(client: &mut Client, field: &str) -> i64 {
    let info = client.call("INFO memory").text();
    let found = info.lines().find_map(|line| line.strip_prefix(field));
    found.unwrap().trim().parse().unwrap()
}

/// The memory in use; from here on its peak is counted anew.
fn at_rest(client: &mut Client) -> i64 {
    std::thread::sleep(Duration::from_millis(200));
    let used = memory(client, "used_memory:");
    client.call("CONFIG RESETSTAT");
    used
}

/// The server disconnects a client whose reply is above its limit, and holds no more of the reply than that.
#[test]
fn a_range_ends_at_the_limit_of_a_client() {
    let folder = tempfile::tempdir().unwrap();
    let limit = ["--client-output-buffer-limit", "normal 2mb 0 0"];
    let server = Server::start(folder.path(), &limit);
    let mut c = server.client();
    fill(&mut c, "k", 300_000, 60);
    let before = at_rest(&mut c);
    for _ in 0..4 {
        let mut other = server.client();
        other.raw(b"EN.RANGE k - +\r\n").unwrap();
        let reply = other.receive();
        assert!(
            !reply.is_ok_and(|reply| matches!(reply, Reply::Array(_))),
            "a reply above the limit"
        );
    }
    let above = memory(&mut c, "used_memory_peak:") - before;
    assert!(above < 8 << 20, "{above} bytes for a limit of 2 MiB");
    assert_eq!(c.call("EN.RANGE k - + LIMIT 10000").texts().len(), 20_000);
}

/// A range ends when its client is gone.
#[test]
fn a_range_ends_with_its_client() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let mut c = server.client();
    fill(&mut c, "k", 300_000, 60);
    let before = at_rest(&mut c);
    let mut others: Vec<Client> = (0..8).map(|_| server.client()).collect();
    others.iter_mut().for_each(|other| other.raw(b"EN.RANGE k - +\r\n").unwrap());
    drop(others);
    // Behind them, on the same threads.
    assert_eq!(c.call("EN.RANGE k - + LIMIT 2000 KEYS").texts().len(), 2_000);
    let begin = Instant::now();
    while !c.call("INFO clients").text().contains("blocked_clients:0") {
        assert!(begin.elapsed() < Duration::from_secs(30));
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(500));
    let above = memory(&mut c, "used_memory_peak:") - before;
    assert!(above < 32 << 20, "{above} bytes for clients that are gone");
    assert_eq!(c.call("EN.RANGE k - +").texts().len(), 600_000);
}
