//! What operators have met: replicas that clients write to, figures after a kill, policies that evict.

use super::replicas::at_rest;
use super::support::server::free_port;
use super::support::{Client, Reply, Server};

/// Fills a key, a thousand entries a command.
fn fill(client: &mut Client, key: &str, entries: usize, value: usize) {
    let value = "v".repeat(value);
    for from in (0..entries).step_by(1_000) {
        let mut line = format!("EN.SET {key}");
        (from..entries.min(from + 1_000)).for_each(|i| line += &format!(" f{i:07} {value}"));
        assert!(!client.call(&line).is_error());
    }
}

/// Clients of a writable replica whose pool is full get errors; what its master sends and does not fit ends it.
#[test]
fn a_client_does_not_end_a_writable_replica() {
    let folder = tempfile::tempdir().unwrap();
    let options = ["--repl-diskless-sync-delay", "0", "--replica-read-only", "no"];
    let start = |name, max| {
        let module = ["data.endura", "max-size", max];
        Server::start_with(&folder.path().join(name), free_port(), &module, &options)
    };
    let (master, mut replica) = (start("master", "64M"), start("replica", "8M"));
    let (mut m, mut r) = (master.client(), replica.client());
    fill(&mut m, "k", 20_000, 100);
    r.call(&format!("REPLICAOF 127.0.0.1 {}", master.port()));
    at_rest(&mut m, &mut r);
    let Reply::Bulk(dump) = r.call("DUMP k") else { panic!("no dump") };
    for name in ["a", "b", "c"] {
        r.call(&format!("COPY k {name}"));
        r.ask(&[b"RESTORE", format!("r{name}").as_bytes(), b"0", &dump]).unwrap();
        r.call(&format!("EVAL return{{redis.pcall('COPY','k','l{name}')}} 0"));
    }
    assert!(r.call("COPY k last").text().contains("failed to copy"));
    assert!(r.ask(&[b"RESTORE", b"last", b"0", &dump]).unwrap().is_error());
    assert_eq!(r.call("EVAL return{redis.pcall('COPY','k','last')} 0").texts().len(), 1);
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert_eq!(r.call("EN.COUNT k"), Reply::Integer(20_000));
    // Its master's copy does not fit either.
    assert_eq!(m.call("COPY k own"), Reply::Integer(1));
    assert!(replica.ended(), "{}", replica.log());
    assert!(replica.log().contains("cannot do what its master has done"), "{}", replica.log());
}
