//! Commands of Redis in an append-only file after its rewritten part, on keys whose maps come from that part, or are left
//! out.

use std::fs;

use super::support::{Reply, Server};

fn texts(server: &Server, line: &str) -> String {
    server.client().call(line).text()
}

/// Three keys in the rewritten part, and behind it commands of Redis that move, copy and date them.
fn moved(how: &str) -> (tempfile::TempDir, Server) {
    let folder = tempfile::tempdir().unwrap();
    let options = ["--appendonly", "yes", "--appendfsync", "always", "--aof-use-rdb-preamble", how];
    let server = Server::start(folder.path(), &options);
    let mut c = server.client();
    for name in ["a", "b", "c", "d", "e"] {
        c.call(&format!("EN.SET {name} f {name}"));
    }
    c.call("PEXPIREAT e 4000000000000");
    c.call("BGREWRITEAOF");
    assert!(server.saved());
    for line in ["RENAME a x", "MOVE b 2", "COPY c y", "PEXPIREAT d 4000000000000", "PERSIST e"] {
        assert!(!c.call(line).is_error(), "{line}");
    }
    drop(c);
    (folder, server)
}

fn are_moved(server: &Server) {
    let mut c = server.client();
    let mut names = c.call("KEYS *").texts();
    names.sort();
    assert_eq!(names, ["c", "d", "e", "x", "y"]);
    for (name, value) in [("x", "a"), ("c", "c"), ("y", "c"), ("d", "d"), ("e", "e")] {
        assert_eq!(c.call(&format!("EN.GET {name} f")).text(), value, "{name}");
    }
    assert_eq!(c.call("PEXPIRETIME d"), Reply::Integer(4_000_000_000_000));
    assert_eq!(c.call("PEXPIRETIME e"), Reply::Integer(-1));
    c.call("SELECT 2");
    assert_eq!(c.call("EN.RANGE b - +").text(), "f b");
    assert_eq!(c.call("DBSIZE").text(), "1");
}

#[test]
fn commands_behind_the_rewritten_part_make_a_lost_pool_anew() {
    for how in ["yes", "no"] {
        let (_folder, mut server) = moved(how);
        server.lose_pool();
        server.again();
        are_moved(&server);
        // And from then on the pool has it.
        server.kill_and_start();
        are_moved(&server);
    }
}

/// The append-only file has commands that the pool has not: a power loss took it back to a checkpoint. No key of the file
/// may stay, for its entries would be in no pool.
#[test]
fn keys_that_are_left_out_are_gone_whatever_became_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let (pool, copy) = (folder.path().join("data.endura"), folder.path().join("copy"));
    let options = ["--appendonly", "yes", "--appendfsync", "always"];
    let mut server = Server::start(folder.path(), &options);
    for name in ["a", "b", "c", "d"] {
        server.client().call(&format!("EN.SET {name} f {name}"));
    }
    server.client().call("BGREWRITEAOF");
    assert!(server.saved());
    let _ = server.client().ask(&[b"SHUTDOWN", b"NOSAVE"]);
    std::thread::sleep(std::time::Duration::from_millis(300));
    server.kill();
    fs::copy(&pool, &copy).unwrap();
    server.again();
    let mut c = server.client();
    for line in ["RENAME a x", "MOVE b 2", "COPY c y", "SWAPDB 2 3"] {
        assert!(!c.call(line).is_error(), "{line}");
    }
    drop(c);
    server.kill();
    fs::copy(&copy, &pool).unwrap();
    server.lose_checkpoint();
    server.again();
    for _ in 0..2 {
        let mut c = server.client();
        let mut names = c.call("KEYS *").texts();
        names.sort();
        assert_eq!(names, ["a", "b", "c", "d"]);
        for name in names {
            assert_eq!(c.call(&format!("EN.GET {name} f")).text(), name);
        }
        c.call("SELECT 3");
        assert_eq!(c.call("DBSIZE").text(), "0");
        drop(c);
        server.kill_and_start();
    }
    assert_eq!(texts(&server, "DBSIZE"), "4");
}
