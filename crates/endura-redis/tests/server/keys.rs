//! What Redis does to keys, before and after a kill.

use super::support::{Client, Reply, Server};

/// Every key of the first six databases: its name, type, whether it expires, and what is in it.
pub(crate) fn contents(client: &mut Client) -> Vec<String> {
    let mut all = Vec::new();
    for database in 0..6 {
        client.call(&format!("SELECT {database}"));
        let mut names = client.call("KEYS *").texts();
        names.sort();
        for name in names {
            if client.call(&format!("TYPE {name}")).text() != "endura-om" {
                continue;
            }
            let expires = client.call(&format!("PEXPIRETIME {name}")).text();
            let entries = client.call(&format!("EN.RANGE {name} - +")).text();
            let count = client.call(&format!("EN.COUNT {name}")).text();
            all.push(format!("{database} {name} {expires} {count}: {entries}"));
        }
    }
    client.call("SELECT 0");
    all
}

const LINES: [&str; 47] = [
    "EN.SET plain a 1 b 2",
    "EN.SET expiring a 1",
    "EXPIRE expiring 1000",
    "EN.SET persistent a 1",
    "EXPIRE persistent 1000",
    "PERSIST persistent",
    "EN.SET renamed a 1",
    "EXPIRE renamed 500",
    "RENAME renamed newname",
    "EN.SET over a old",
    "EN.SET source a new",
    "RENAME source over",
    "EN.SET moved a 1",
    "MOVE moved 3",
    "COPY plain copied",
    "EN.SET target a old b old",
    "COPY plain target REPLACE",
    "COPY plain elsewhere DB 4",
    "EN.SET deleted a 1",
    "DEL deleted",
    "EN.SET unlinked a 1",
    "UNLINK unlinked",
    "EN.SET overwritten a 1",
    "SET overwritten text",
    "EN.SET emptied a 1",
    "EN.DEL emptied a",
    "EN.SET again a old",
    "DEL again",
    "EN.SET again a new",
    "SELECT 1",
    "EN.SET one a 1",
    "SWAPDB 1 2",
    "SELECT 5",
    "EN.SET flushed a 1",
    "FLUSHDB",
    "EN.SET kept a 1",
    "SELECT 0",
    "EN.CREATE numbers KIND nbtree",
    "EN.SET numbers 10 1 9 2",
    "RENAME numbers digits",
    "EN.CREATE empty KIND fastfair",
    "COPY digits digits2",
    "RENAMENX digits2 digits3",
    "MULTI",
    "EN.SET transaction a 1",
    "EN.SET transaction b 2",
    "EXEC",
];

#[test]
fn all_that_redis_does_to_keys_survives_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path(), &[]);
    let mut client = server.client();
    let c = &mut client;
    for line in LINES {
        let answer = c.call(line);
        assert!(!answer.is_error(), "{line}: {answer:?}");
    }
    let script =
        b"redis.call('EN.SET',KEYS[1],'a','1') return redis.call('RENAME',KEYS[1],'luarenamed')";
    assert_eq!(c.ask(&[b"EVAL", script, b"1", b"lua"]).unwrap(), Reply::Ok);
    let Reply::Bulk(dump) = c.call("DUMP plain") else { panic!("no dump") };
    assert_eq!(c.ask(&[b"RESTORE", b"restored", b"100000", &dump]).unwrap(), Reply::Ok);
    assert_eq!(c.ask(&[b"RESTORE", b"over", b"0", &dump, b"REPLACE"]).unwrap(), Reply::Ok);
    let binary: &[u8] = b"\x00\xFF key\r\n";
    assert_eq!(c.ask(&[b"EN.SET", binary, b"\x00", b"\x00\x01"]).unwrap(), Reply::Integer(1));
    c.call("DEL overwritten");
    let names = c.ask(&[b"DEL", binary]).unwrap();
    assert_eq!(names, Reply::Integer(1));
    let before = contents(c);
    assert!(before.len() > 15, "{before:#?}");
    for _ in 0..2 {
        server.kill_and_start();
        let after = contents(&mut server.client());
        assert_eq!(before, after);
    }
    let mut client = server.client();
    assert_eq!(client.call("EN.RANGE over - +").text(), "a 1 b 2");
    assert_eq!(client.call("FLUSHALL"), Reply::Ok);
    client.call("EN.SET after a 1");
    server.kill_and_start();
    assert_eq!(contents(&mut server.client()), ["0 after -1 1: a 1"]);
    // A shutdown closes the pool; the next start opens it.
    let mut client = server.client();
    let _ = client.ask(&[b"SHUTDOWN", b"NOSAVE"]);
    std::thread::sleep(std::time::Duration::from_millis(200));
    server.kill_and_start();
    assert_eq!(contents(&mut server.client()), ["0 after -1 1: a 1"]);
    assert!(!server.log().contains("panicked"));
}

#[test]
fn redis_describes_keys() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let mut client = server.client();
    for field in 0..100 {
        client.call(&format!("EN.SET k f{field} {}", "v".repeat(100)));
    }
    assert_eq!(client.call("TYPE k").text(), "endura-om");
    let Reply::Integer(usage) = client.call("MEMORY USAGE k") else { panic!("no number") };
    assert!((10_000..30_000).contains(&usage), "{usage}");
    assert!(!client.call("OBJECT ENCODING k").is_error());
    assert!(!client.call("OBJECT IDLETIME k").is_error());
    // The digest is of the entries, however they came there.
    for field in (0..100).rev() {
        client.call(&format!("EN.SET other f{field} {}", "v".repeat(100)));
    }
    let digests = client.call("DEBUG DIGEST-VALUE k other").texts();
    assert_eq!(digests[0], digests[1]);
    client.call("EN.SET other f0 w");
    let changed = client.call("DEBUG DIGEST-VALUE k other").texts();
    assert_ne!(changed[0], changed[1]);
}

#[test]
fn expired_keys_are_gone_for_good() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path(), &[]);
    let mut client = server.client();
    client.call("EN.SET soon a 1");
    client.call("PEXPIRE soon 20");
    client.call("EN.SET later a 1");
    client.call("PEXPIRE later 60000");
    std::thread::sleep(std::time::Duration::from_millis(50));
    assert_eq!(client.call("EN.GET soon a"), Reply::Nil);
    client.call("EN.SET soon b 2");
    server.kill_and_start();
    let mut client = server.client();
    assert_eq!(client.call("EN.RANGE soon - +").text(), "b 2");
    assert_eq!(client.call("TTL soon"), Reply::Integer(-1));
    assert!(matches!(client.call("TTL later"), Reply::Integer(50..=60)));
}

/// A string of the same name in another database was set just before.
#[test]
fn a_time_is_that_of_its_database() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path(), &[]);
    let mut client = server.client();
    client.call("SELECT 1");
    client.call("EN.SET k a 1");
    client.call("SELECT 0");
    let mut other = server.client();
    other.call("SELECT 1");
    client.call("SET k text");
    other.call("EXPIRE k 1000");
    server.kill_and_start();
    let mut client = server.client();
    client.call("SELECT 1");
    assert!(matches!(client.call("TTL k"), Reply::Integer(900..=1000)));
}

#[test]
fn memory_is_bounded_by_eviction_of_keys() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path(), &[]);
    let mut client = server.client();
    for key in 0..50 {
        client.call(&format!("EN.SET k{key} a 1"));
        client.call(&format!("EXPIRE k{key} 1000"));
    }
    client.call("CONFIG SET maxmemory-policy volatile-lru");
    // Without a limit to the time that it takes.
    client.call("CONFIG SET maxmemory-eviction-tenacity 100");
    client.call("CONFIG SET maxmemory 1");
    let refused = client.call("EN.SET more a 1").text();
    assert!(refused.starts_with("OOM "), "{refused}");
    assert_eq!(client.call("DBSIZE"), Reply::Integer(0), "all were evicted");
    server.kill_and_start();
    assert!(contents(&mut server.client()).is_empty());
}

/// A full pool has no room for a longer name: the key has its old one until there is.
#[test]
fn a_key_that_is_renamed_in_a_full_pool_is_not_lost() {
    let folder = tempfile::tempdir().unwrap();
    let module = ["data.endura", "max-size", "67108864", "no-checkpoints"];
    let mut server = Server::start_with(folder.path(), 0, &module, &[]);
    let mut c = server.client();
    for key in 0..50 {
        c.call(&format!("EN.SET k{key} f {key}"));
    }
    for size in [20_000, 2_000, 20] {
        let value = vec![b'x'; size];
        let mut set =
            |n: u32| c.ask(&[b"EN.SET", b"fill", format!("{size}{n}").as_bytes(), &value]);
        assert!((0..).map(|n| set(n).unwrap()).any(|reply| reply.is_error()));
    }
    let long = |key| format!("{}{key}", "n".repeat(3_000));
    (0..50).for_each(|key| assert_eq!(c.call(&format!("RENAME k{key} {}", long(key))), Reply::Ok));
    drop(c);
    server.kill_and_start();
    let mut c = server.client();
    let name = |c: &mut Client, key| {
        let names = [format!("k{key}"), long(key)];
        names.into_iter().find(|name| c.call(&format!("EN.GET {name} f")).text() == key.to_string())
    };
    for key in 0..50 {
        let name = name(&mut c, key).unwrap_or_else(|| panic!("{key} is lost"));
        c.call(&format!("RENAME {name} {}", long(key)));
    }
    c.call("DEL fill");
    let begin = std::time::Instant::now();
    while begin.elapsed() < std::time::Duration::from_millis(2_000) {
        c.call("PING");
    }
    drop(c);
    server.kill_and_start();
    let mut c = server.client();
    for key in 0..50 {
        assert_eq!(c.call(&format!("EN.GET {} f", long(key))).text(), key.to_string());
    }
}

/// SET with a time has two events. An `expire` that comes behind another SET is one of a map nevertheless.
#[test]
fn a_time_is_kept_behind_a_string_of_the_same_name() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path(), &[]);
    let mut c = server.client();
    let lines = [
        "EN.SET other f v",
        "SELECT 1",
        "SET other x",
        "SELECT 0",
        "PEXPIREAT other 4000000000000",
        "SELECT 2",
        "SET a x",
        "FLUSHDB",
        "EN.SET a f v",
        "PEXPIREAT a 4000000000000",
        "SELECT 3",
        "SET b x",
        "SWAPDB 3 4",
        "EN.SET b f v",
        "PEXPIREAT b 4000000000000",
    ];
    // All in one: nothing comes between them.
    lines.iter().for_each(|line| {
        c.send(&line.split(' ').map(str::as_bytes).collect::<Vec<_>>()).unwrap();
    });
    lines.iter().for_each(|line| assert!(!c.receive().unwrap().is_error(), "{line}"));
    drop(c);
    server.kill_and_start();
    let mut c = server.client();
    for (database, name) in [(0, "other"), (2, "a"), (3, "b")] {
        c.call(&format!("SELECT {database}"));
        let at = c.call(&format!("PEXPIRETIME {name}"));
        assert_eq!(at, Reply::Integer(4_000_000_000_000), "{name}");
    }
}
