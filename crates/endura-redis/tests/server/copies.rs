//! COPY while children save: they end as they should, and what is made from their files is right.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::replicas::{Pair, at_rest, digests, pair};
use super::support::server::free_port;
use super::support::{Client, Random, Reply, Server};

/// A master that a client writes to, with its replica.
fn under_copies(options: &[&str], check: impl FnOnce(&Pair)) -> Pair {
    let pair = pair(options);
    let (mut m, mut r) = (pair.master.client(), pair.replica.client());
    for key in 0..300 {
        m.call(&format!("EN.SET k{key} f v g w"));
    }
    for from in 0..30 {
        let mut line = "EN.SET large".to_owned();
        (0..100).for_each(|i| line += &format!(" f{:06} {}", from * 100 + i, "v".repeat(200)));
        m.call(&line);
    }
    r.call(&format!("REPLICAOF 127.0.0.1 {}", pair.master.port()));
    at_rest(&mut m, &mut r);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| copy(&pair.master, &stop));
        check(&pair);
        stop.store(true, Ordering::Relaxed);
    });
    at_rest(&mut m, &mut r);
    assert_eq!(digests(&mut m), digests(&mut r));
    pair
}

/// Copies keys, and writes to their sources before and after, until it is told to stop.
fn copy(master: &Server, stop: &AtomicBool) {
    let (mut client, mut random) = (master.client(), Random::new(7));
    // The names of sources are lower.
    let mut copies = 100;
    while !stop.load(Ordering::Relaxed) {
        let from = match random.below(10) {
            0 => "large".to_owned(),
            1 => format!("copy{}", random.below(20)),
            _ => format!("k{}", random.below(300)),
        };
        let field = random.below(3_000);
        client.call(&format!("EN.SET {from} f{field:06} {}", random.next()));
        // Each has a name of its own, so that what is wrong stays.
        copies += 1;
        assert_eq!(client.call(&format!("COPY {from} copy{copies} REPLACE")), Reply::Integer(1));
        client.call(&format!("EN.SET {from} f{field:06} later n {}", random.next()));
        client.call(&format!("EN.DEL {from} f{:06}", random.below(3_000)));
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn status(client: &mut Client, name: &str) -> String {
    let info = client.call("INFO").text();
    let found = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    found.unwrap_or_default().trim().to_owned()
}

/// A replica saves while its master copies: its child completes the file.
#[test]
fn a_replica_saves_under_copies() {
    let _pair = under_copies(&["--rdb-key-save-delay", "1000"], |pair| {
        for _ in 0..2 {
            let mut r = pair.replica.client();
            r.call("BGSAVE");
            assert!(pair.replica.saved());
            assert_eq!(status(&mut r, "rdb_last_bgsave_status"), "ok");
            assert_ne!(status(&mut r, "rdb_saves"), "0");
            assert!(!pair.replica.log().contains("a child that saves is ended"));
        }
    });
}

/// A replica of a replica is made while the master of both copies, and has the same in the end.
#[test]
fn a_replica_of_a_replica_is_made_under_copies() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_with(folder.path(), free_port(), &["data.endura"], &[]);
    let mut client = server.client();
    let pair = under_copies(&["--rdb-key-save-delay", "1000"], |pair| {
        client.call(&format!("REPLICAOF 127.0.0.1 {}", pair.replica.port()));
        let begin = Instant::now();
        while status(&mut client, "master_link_status") != "up" {
            assert!(begin.elapsed() < Duration::from_secs(20), "{}", pair.replica.log());
            std::thread::sleep(Duration::from_millis(10));
        }
        std::thread::sleep(Duration::from_millis(200));
    });
    let mut replica = pair.replica.client();
    at_rest(&mut replica, &mut client);
    assert_eq!(digests(&mut replica), digests(&mut client));
}

/// A child of a master that is full beside a COPY: the COPY is refused, and the child completes its file.
#[test]
fn a_copy_that_does_not_fit_beside_a_child_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let module = ["data.endura", "max-size", "16M"];
    let options = ["--rdb-key-save-delay", "2000"];
    let server = Server::start_with(folder.path(), 0, &module, &options);
    let mut client = server.client();
    for key in 0..100 {
        client.call(&format!("EN.SET k{key} f v"));
    }
    for field in 0..400 {
        client.call(&format!("EN.SET large f{field} {}", "v".repeat(10_000)));
    }
    client.call("BGSAVE");
    let copies: Vec<Reply> = (0..4).map(|i| client.call(&format!("COPY large c{i}"))).collect();
    assert!(copies.last().is_some_and(Reply::is_error), "{copies:?}");
    assert!(server.saved());
}
