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

/// The figures of EN.INFO.
fn figure(client: &mut Client, name: &str) -> String {
    let figures = client.call("EN.INFO").texts();
    let found = figures.chunks(2).find(|pair| pair[0] == name);
    found.unwrap_or_else(|| panic!("no {name} in {figures:?}"))[1].clone()
}

/// The number of keys and the size of each are known at once after a kill, and right soon after it.
#[test]
fn figures_after_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path(), &[]);
    let mut c = server.client();
    for key in 0..200 {
        c.call(&format!("EN.SET k{key} f v"));
    }
    c.call("DEL k0");
    c.call("EN.DEL k1 f");
    c.call("RENAME k2 k3");
    fill(&mut c, "big", 200_000, 100);
    let usage = |client: &mut Client, key: &str| {
        let Reply::Integer(bytes) = client.call(&format!("MEMORY USAGE {key}")) else { panic!() };
        bytes
    };
    let (big, small) = (usage(&mut c, "big"), usage(&mut c, "k9"));
    assert!(big > 200_000 * 200, "{big}");
    assert_eq!(figure(&mut c, "keys"), "198");
    for _ in 0..2 {
        server.kill_and_start();
        c = server.client();
        assert_eq!(figure(&mut c, "keys"), "198");
        let estimated = usage(&mut c, "big");
        assert!((big / 2..big * 3).contains(&estimated), "{estimated} for {big}");
        // Valkey stores names in less memory if it creates keys at a start.
        assert!((small - 32..=small).contains(&usage(&mut c, "k9")), "{small}");
        let begin = std::time::Instant::now();
        while !(big - 32..=big).contains(&usage(&mut c, "big")) {
            assert!(begin.elapsed().as_secs() < 20, "{} for {big}", usage(&mut c, "big"));
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}

/// A policy that evicts maps is a warning, in the log of a start and in EN.INFO.
#[test]
fn a_policy_that_evicts_maps_is_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let policy = ["--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"];
    let mut server = Server::start(folder.path(), &policy);
    let mut c = server.client();
    let warning = |client: &mut Client| client.call("INFO endura").text();
    assert!(!warning(&mut c).contains("endura_warning"));
    c.call("EN.SET k f v");
    assert!(figure(&mut c, "warning").contains("`maxmemory-policy allkeys-lru` evicts maps"));
    assert!(warning(&mut c).contains("endura_warning:`maxmemory-policy allkeys-lru`"));
    server.kill_and_start();
    server.wait_for_log("`maxmemory-policy allkeys-lru` evicts maps");
    let mut c = server.client();
    for way_out in ["maxmemory-policy volatile-lru", "maxmemory-policy noeviction"] {
        assert_eq!(c.call(&format!("CONFIG SET {way_out}")), Reply::Ok);
        assert!(!warning(&mut c).contains("endura_warning"));
    }
    c.call("CONFIG SET maxmemory-policy allkeys-lfu");
    assert!(warning(&mut c).contains("allkeys-lfu"));
    assert_eq!(c.call("CONFIG SET maxmemory 0"), Reply::Ok);
    assert!(!warning(&mut c).contains("endura_warning"));
}

/// CONFIG REWRITE writes the path of a pool without quotes, also one with blanks.
#[test]
fn a_path_with_blanks_is_found_again() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("a b");
    std::fs::create_dir(&place).unwrap();
    let conf = folder.path().join("conf");
    let (module, pool) = (super::support::server::module(), place.join("my pool"));
    let line = format!("loadmodule {} \"{}\" max-size 64M\n", module.display(), pool.display());
    std::fs::write(&conf, line).unwrap();
    let mut server = Server::with_file(folder.path(), &conf);
    assert_eq!(server.client().call("EN.SET k f v"), Reply::Integer(1));
    assert_eq!(server.client().call("CONFIG REWRITE"), Reply::Ok);
    assert!(std::fs::read_to_string(&conf).unwrap().contains("/a b/my pool max-size 64M"));
    server.kill_and_start();
    assert_eq!(server.client().call("EN.GET k f").text(), "v");
}

/// A start that is refused leaves no pool behind.
#[test]
fn a_refused_size_leaves_no_pool() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = std::process::Command::new(super::support::server::program());
    command.args(["--port", &free_port().to_string(), "--dir"]).arg(folder.path());
    command.arg("--loadmodule").arg(super::support::server::module());
    command.args(["small", "max-size", "1"]);
    let output = command.output().unwrap();
    assert!(!output.status.success());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("the pool has reached its largest size"), "{text}");
    let left: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap()).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// COPY and MOVE to other databases, inside EXEC: a start has the keys where they were.
#[test]
fn keys_that_change_their_database_in_exec() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path(), &[]);
    let mut c = server.client();
    for line in ["SELECT 3", "EN.SET a f v", "MULTI", "COPY a t DB 1", "RENAME a r", "MOVE r 2"] {
        assert!(!c.call(line).is_error(), "{line}");
    }
    assert_eq!(c.call("EXEC").texts(), ["1", "OK", "1"]);
    drop(c);
    server.kill_and_start();
    let mut c = server.client();
    for (database, keys) in [(1, "t"), (2, "r"), (3, "")] {
        c.call(&format!("SELECT {database}"));
        assert_eq!(c.call("KEYS *").text(), keys, "{database}");
    }
}

/// The same in a full pool: what could not be written is written when there is room.
#[test]
fn changes_in_exec_wait_for_room() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path(), &[]);
    let mut c = server.client();
    for line in ["SELECT 3", "EN.SET a f v", "EN.SET b f w", "EN.SET t f x", "EN.SET e f y"] {
        assert!(!c.call(line).is_error(), "{line}");
    }
    server.fail_after(0);
    let lines = ["MULTI", "MOVE a 2", "RENAME b c", "COPY t u DB 1", "PEXPIREAT e 4000000000000"];
    for line in lines {
        assert!(!c.call(line).is_error(), "{line}");
    }
    let replies = c.call("EXEC").texts();
    assert_eq!(&replies[..2], ["1", "OK"]);
    assert!(replies[2].contains("failed to copy"), "{replies:?}");
    assert_eq!(replies[3], "1");
    server.fail_no_more();
    // The next turns.
    for _ in 0..3 {
        c.call("PING");
    }
    drop(c);
    server.kill_and_start();
    let mut c = server.client();
    for (database, keys) in [(1, ""), (2, "a"), (3, "c e t")] {
        c.call(&format!("SELECT {database}"));
        let mut names = c.call("KEYS *").texts();
        names.sort();
        assert_eq!(names.join(" "), keys, "{database}");
    }
    assert_eq!(c.call("PEXPIRETIME e"), Reply::Integer(4_000_000_000_000));
}

/// A map that takes the place of a string of another database, inside EXEC: the append-only file has that too, and the
/// database of the client keeps its string.
#[test]
fn strings_of_other_databases_in_exec() {
    let folder = tempfile::tempdir().unwrap();
    // Each answer is behind the write to the file.
    let options = ["--appendonly", "yes", "--appendfsync", "no"];
    let mut server = Server::start(folder.path(), &options);
    let mut c = server.client();
    let begin =
        ["SELECT 1", "SET t other", "SET u other", "SELECT 3", "SET t kept", "EN.SET a f v"];
    let in_exec = ["MULTI", "COPY a t DB 1 REPLACE", "EXEC", "SELECT 1", "DEL t"];
    for line in begin.iter().chain(&in_exec) {
        assert!(!c.call(line).is_error(), "{line}");
    }
    drop(c);
    server.kill_and_start();
    let mut c = server.client();
    for (database, keys) in [(1, "u"), (3, "a t")] {
        c.call(&format!("SELECT {database}"));
        let mut names = c.call("KEYS *").texts();
        names.sort();
        assert_eq!(names.join(" "), keys, "{database}");
    }
    assert_eq!(c.call("GET t").text(), "kept");
}
