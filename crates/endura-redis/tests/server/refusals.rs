//! Pools whose keys cannot be attached: commands say so, and nothing is overwritten until they can.

use std::path::Path;
use std::time::Duration;

use super::replicas::{at_rest, pair};
use super::support::server::free_port;
use super::support::{Client, Reply, Server};

/// A server with two keys and a file, killed.
fn killed(folder: &Path, options: &[&str]) -> (Server, String) {
    let mut server = Server::start(folder, options);
    let mut c = server.client();
    for line in [
        "EN.SET shared f old",
        "EN.CREATE own KIND nbtree",
        "EN.SET own 1 2",
        "SET string x",
        "SAVE",
        "EN.SET shared f new",
    ] {
        assert!(!c.call(line).is_error(), "{line}");
    }
    let digest = c.call("DEBUG DIGEST").text();
    drop(c);
    server.kill();
    (server, digest)
}

fn pool(server: &Server) -> endura::Pool {
    endura::Pool::open(server.folder().join("data.endura")).unwrap()
}

/// Puts another number of a form into the record of the second key; returns the one that was there.
fn set_form(server: &Server, form: u8) -> u8 {
    set_form_of(server, 2, form)
}

fn set_form_of(server: &Server, key: u64, form: u8) -> u8 {
    let pool = pool(server);
    let keys = pool.map::<u64, [u8]>("redis:keys").unwrap();
    let mut record = keys.get(key).unwrap().unwrap();
    let old = std::mem::replace(&mut record[16], form);
    keys.put(key, &record).unwrap();
    pool.close().unwrap();
    old
}

/// No command reads or writes the pool, and each says why.
fn is_refused(server: &Server, c: &mut Client, why: &str) {
    for line in [
        "EN.SET other f v",
        "EN.SET shared f v",
        "EN.GET shared f",
        "EN.MGET shared f",
        "EN.DEL shared f",
        "EN.INCRBY shared n 1",
        "EN.CAS shared f new v",
        "EN.RANGE shared - +",
        "EN.PREFIX shared f",
        "EN.SCAN shared 0",
        "EN.POP shared MIN",
        "EN.COUNT shared",
        "EN.CREATE more KIND nbtree",
        "EN.INFO shared",
        "EN.CHECKPOINT",
    ] {
        let answer = c.call(line).text();
        assert!(answer.starts_with("ERR endura: no key of the pool is served"), "{line}: {answer}");
        assert!(answer.contains("key `own`: ") && answer.contains(why), "{line}: {answer}");
    }
    let info = c.call("INFO endura").text();
    assert!(info.contains("endura_attached:key `own`"), "{info}");
    assert!(c.call("EN.INFO").text().contains("key `own`"));
    // Redis' own go on, and no file that lacks these keys replaces one that has them.
    assert_eq!(c.call("GET string").text(), "x");
    assert_eq!(c.call("KEYS *").text(), "string");
    c.call("BGSAVE");
    assert!(!server.saved(), "a child has saved");
    assert!(server.log().contains("SHUTDOWN NOSAVE"), "{}", server.log());
}

#[test]
fn a_map_of_a_newer_version_is_kept() {
    for options in [&[][..], &["--appendonly", "yes"]] {
        let folder = tempfile::tempdir().unwrap();
        let (mut server, digest) = killed(folder.path(), options);
        let form = set_form(&server, 9);
        server.again();
        let mut c = server.client();
        is_refused(&server, &mut c, "newer version of this module");
        let other = tempfile::tempdir().unwrap();
        let other = Server::start(other.path(), &[]);
        other.client().call("EN.SET k f v");
        let Reply::Bulk(dump) = other.client().call("DUMP k") else { panic!("no dump") };
        assert!(c.ask(&[b"RESTORE", b"k", b"0", &dump]).unwrap().is_error());
        drop(c);
        // Also from a second start.
        server.kill_and_start();
        is_refused(&server, &mut server.client(), "newer version of this module");
        server.kill();
        assert_eq!(set_form(&server, form), 9);
        server.again();
        assert_eq!(server.client().call("DEBUG DIGEST").text(), digest);
        assert!(server.client().call("INFO endura").text().contains("endura_attached:yes"));
    }
}

#[test]
fn a_map_that_cannot_be_opened_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (mut server, _) = killed(folder.path(), &[]);
    let others = pool(&server);
    others.drop_map("redis:map:2").unwrap();
    others.map::<str, str>("redis:map:2").unwrap().put("a", "b").unwrap();
    others.close().unwrap();
    server.again();
    is_refused(&server, &mut server.client(), "redis:map:2");
    server.kill();
    let others = pool(&server);
    assert_eq!(
        others.map::<str, str>("redis:map:2").unwrap().get("a").unwrap().as_deref(),
        Some("b")
    );
    others.drop_map("redis:map:2").unwrap();
    others.close().unwrap();
    server.again();
    let mut c = server.client();
    assert_eq!(c.call("EN.GET shared f").text(), "new");
    assert_eq!(c.call("EN.COUNT own"), Reply::Integer(0));
}

/// A server has fewer databases than before: in another one a key of the pool would take the place of the one of its name.
#[test]
fn keys_of_a_database_that_the_server_lacks_are_kept() {
    let cluster = ["--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf"];
    let cases: [(&[&str], _, _); 2] = [
        (&["--databases", "4"], "the server has 4 databases", "set `databases` to 13 or more"),
        (&cluster, "the server has 1 databases", "start it without `cluster-enabled`"),
    ];
    for (options, has, way_out) in cases {
        let folder = tempfile::tempdir().unwrap();
        let mut server = Server::start_with(folder.path(), free_port(), &["data.endura"], &[]);
        let keys = [(0, "k", "zero"), (1, "k", "one"), (12, "k", "twelve"), (12, "only", "v")];
        let mut c = server.client();
        for (database, name, value) in keys {
            c.call(&format!("SELECT {database}"));
            assert_eq!(c.call(&format!("EN.SET {name} f {value}")), Reply::Integer(1));
        }
        drop(c);
        server.kill();
        let before = server.options.len();
        server.options.extend(options.iter().map(ToString::to_string));
        server.again();
        let mut c = server.client();
        let info = c.call("EN.INFO").text();
        assert!(info.contains("the pool has keys in database 12"), "{info}");
        assert!(info.contains(has) && info.contains(way_out), "{info}");
        assert_eq!(c.call("KEYS *"), Reply::Array(Vec::new()));
        assert!(c.call("EN.SET k f new").is_error());
        drop(c);
        server.kill();
        server.options.truncate(before);
        server.again();
        let mut c = server.client();
        for (database, name, value) in keys {
            c.call(&format!("SELECT {database}"));
            assert_eq!(c.call(&format!("EN.GET {name} f")).text(), value, "{database} {name}");
        }
    }
}

/// What was in the way is flushed, or everything comes anew from a master.
#[test]
fn a_flush_is_a_way_out() {
    for database in [0, 3] {
        let folder = tempfile::tempdir().unwrap();
        let (mut server, _) = killed(folder.path(), &[]);
        set_form(&server, 9);
        server.again();
        let mut c = server.client();
        c.call(&format!("SWAPDB 0 {database}"));
        c.call(&format!("SELECT {database}"));
        assert!(c.call("EN.SET k f v").is_error());
        assert_eq!(c.call(if database == 0 { "FLUSHALL" } else { "FLUSHDB" }), Reply::Ok);
        assert_eq!(c.call("EN.SET k f v"), Reply::Integer(1));
        assert_eq!(c.call("DBSIZE"), Reply::Integer(1));
        drop(c);
        server.kill_and_start();
        let mut c = server.client();
        c.call(&format!("SELECT {database}"));
        assert_eq!(c.call("EN.RANGE k - +").text(), "f v");
        assert_eq!(c.call("EXISTS shared own"), Reply::Integer(0));
    }
}

/// A replica that is made anew needs nothing of what could not be attached; a master without its keys makes none.
#[test]
fn replicas_get_all_keys_or_none() {
    for diskless in ["yes", "no"] {
        let mut pair = pair(&["--repl-diskless-sync", diskless]);
        let lines = ["EN.SET first f v", "EN.CREATE own KIND nbtree", "EN.SET own 1 2"];
        for line in lines {
            assert!(!pair.replica.client().call(line).is_error());
        }
        pair.replica.kill();
        set_form(&pair.replica, 9);
        pair.replica.again();
        assert!(pair.replica.client().call("EN.SET k f v").is_error());
        pair.master.client().call("EN.SET k f v");
        // The master is one that has all: the replica has what it has.
        let (mut m, mut r) = (pair.master.client(), pair.replica.client());
        r.call(&format!("REPLICAOF 127.0.0.1 {}", pair.master.port()));
        at_rest(&mut m, &mut r);
        m.call("EN.SET k g w");
        at_rest(&mut m, &mut r);
        assert_eq!(r.call("EN.RANGE k - +").text(), "f v g w");
        assert_eq!(r.call("DBSIZE"), Reply::Integer(1));
        r.call("REPLICAOF NO ONE");
        // The master is one that has none.
        for line in ["EN.SET first f v", lines[1], lines[2]] {
            assert!(!m.call(line).is_error());
        }
        pair.master.kill();
        // `own` is its third key.
        set_form_of(&pair.master, 3, 9);
        pair.master.again();
        assert!(pair.master.client().call("EN.GET k f").is_error());
        r.call(&format!("REPLICAOF 127.0.0.1 {}", pair.master.port()));
        std::thread::sleep(Duration::from_millis(1_000));
        assert!(r.call("INFO replication").text().contains("master_link_status:down"));
        assert_eq!(r.call("EN.RANGE k - +").text(), "f v g w");
        assert!(pair.master.log().contains("what it saved would lack the keys"));
    }
}

/// A replica cannot take what its master sends: it does not say that it has it, and its pool stays.
#[test]
fn a_replica_that_is_refused_misses_no_command() {
    let mut pair = pair(&[]);
    let (mut m, mut r) = (pair.master.client(), pair.replica.client());
    r.call(&format!("REPLICAOF 127.0.0.1 {}", pair.master.port()));
    m.call("EN.SET k f old");
    at_rest(&mut m, &mut r);
    assert_eq!(r.call("SAVE"), Reply::Ok);
    m.call("EN.SET k f new");
    at_rest(&mut m, &mut r);
    drop((m, r));
    pair.master.kill();
    pair.replica.kill();
    let master = ["--replicaof".into(), "127.0.0.1".into(), pair.master.port().to_string()];
    pair.replica.options.extend(master);
    pair.replica.fail_after(0);
    pair.replica.again();
    assert!(pair.replica.client().call("EN.GET k f").is_error());
    pair.master.again();
    assert!(pair.replica.ended(), "{}", pair.replica.log());
    assert!(pair.replica.log().contains("a key could not be taken over"), "{}", pair.replica.log());
    pair.replica.fail_no_more();
    pair.replica.again();
    let (mut m, mut r) = (pair.master.client(), pair.replica.client());
    at_rest(&mut m, &mut r);
    assert_eq!(r.call("EN.GET k f").text(), "new");
}

/// There is no room for the last word of a start, and then there is.
#[test]
fn an_attach_is_tried_again() {
    for is_lost in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let (mut server, _) = killed(folder.path(), &[]);
        let value = if is_lost { "old" } else { "new" };
        if is_lost {
            server.lose_pool();
        }
        server.fail_after(0);
        server.again();
        let mut c = server.client();
        assert!(
            c.call("EN.GET shared f")
                .text()
                .contains("could not be attached: the pool has reached ")
        );
        server.fail_no_more();
        // A name that was taken meanwhile is not taken away.
        if !is_lost {
            assert_eq!(c.call("SET shared text"), Reply::Ok);
            std::thread::sleep(Duration::from_millis(1_050));
            assert!(
                c.call("EN.GET own 1").text().contains("key `shared`: another key has its name")
            );
            assert_eq!(c.call("RENAME shared mine"), Reply::Ok);
        }
        std::thread::sleep(Duration::from_millis(1_050));
        assert_eq!(c.call("EN.GET own 1").text(), "2");
        assert_eq!(c.call("EN.GET shared f").text(), value);
        assert_eq!(c.call("GET mine").text(), if is_lost { "(nil)" } else { "text" });
        drop(c);
        server.kill_and_start();
        assert_eq!(server.client().call("EN.GET shared f").text(), value);
    }
}
