//! A replica does not continue from the offset of its file, nor on a link from before its keys were attached; and the mark
//! of a resync that has failed does not count.

use std::time::{Duration, Instant};

use super::replicas::{Pair, at_rest, digests, pair};
use super::support::server::module;
use super::support::{Client, Reply, Server};

/// What its file would have it go on from is older than the pool: the pool stays, and all is asked for once there is a master.
#[test]
fn a_replica_keeps_its_pool_beside_an_older_file() {
    let Pair { _folder, mut master, mut replica } = pair(&[]);
    let (mut m, mut r) = (master.client(), replica.client());
    replica.options.extend(["--replicaof".into(), "127.0.0.1".into(), master.port().to_string()]);
    r.call(&format!("REPLICAOF 127.0.0.1 {}", master.port()));
    at_rest(&mut m, &mut r);
    m.call("EN.SET before x 0");
    at_rest(&mut m, &mut r);
    assert_eq!(r.call("SAVE"), Reply::Ok);
    for line in ["EN.SET a x 1", "RENAME a b", "EN.SET a y 2", "EN.DEL before x"] {
        m.call(line);
    }
    at_rest(&mut m, &mut r);
    let has_all = |server: &Server| {
        let mut c = server.client();
        assert_eq!(c.call("EN.RANGE b - +").text(), "x 1");
        assert_eq!(c.call("EN.RANGE a - +").text(), "y 2");
        assert_eq!(c.call("EXISTS before"), Reply::Integer(0));
    };
    drop(r);
    // Its master is gone as well.
    master.kill();
    replica.kill_and_start();
    has_all(&replica);
    assert_eq!(replica.client().call("REPLICAOF NO ONE"), Reply::Ok);
    has_all(&replica);
    replica.kill_and_start();
    has_all(&replica);
    master.again();
    let mut m = master.client();
    at_rest(&mut m, &mut replica.client());
    has_all(&replica);
    assert_eq!(digests(&mut m), digests(&mut replica.client()));
    // Beside a master that has more than the file, but not from its end on.
    m.call("EN.SET c z 3");
    at_rest(&mut m, &mut replica.client());
    replica.kill_and_start();
    at_rest(&mut m, &mut replica.client());
    has_all(&replica);
    assert_eq!(digests(&mut m), digests(&mut replica.client()));
    assert!(!replica.log().contains("Successful partial resynchronization"));
}

/// The same in a cluster, where no command leaves a master.
#[test]
fn a_replica_in_a_cluster_keeps_its_pool_beside_an_older_file() {
    let options = ["--cluster-enabled", "yes", "--cluster-allow-reads-when-down", "yes"];
    let Pair { _folder, mut master, mut replica } = pair(&options);
    let (mut m, mut r) = (master.client(), replica.client());
    assert_eq!(m.call("CLUSTER ADDSLOTSRANGE 0 16383"), Reply::Ok);
    assert_eq!(r.call(&format!("CLUSTER MEET 127.0.0.1 {}", master.port())), Reply::Ok);
    let id = m.call("CLUSTER MYID").text();
    until_ok(&mut r, &format!("CLUSTER REPLICATE {id}"));
    until_ok(&mut m, "EN.SET {k}before f v");
    at_rest(&mut m, &mut r);
    assert_eq!(r.call("SAVE"), Reply::Ok);
    for line in ["EN.SET {k}a f v", "RENAME {k}before {k}b"] {
        assert!(!m.call(line).is_error(), "{line}");
    }
    at_rest(&mut m, &mut r);
    drop(r);
    // Its master goes on.
    replica.kill();
    assert!(!m.call("EN.SET {k}before g w").is_error());
    let before = replica.log().len();
    replica.again();
    let mut r = replica.client();
    r.call("READONLY");
    at_rest(&mut m, &mut r);
    assert_eq!(digests(&mut m), digests(&mut r));
    assert!(!replica.log()[before..].contains("Successful partial resynchronization"));
    // Both go, and the replica alone comes back.
    assert_eq!(r.call("SAVE"), Reply::Ok);
    assert!(!m.call("EN.SET {k}a f w").is_error());
    at_rest(&mut m, &mut r);
    drop((m, r));
    master.kill();
    replica.kill_and_start();
    let mut r = replica.client();
    r.call("READONLY");
    assert_eq!(r.call("EN.GET {k}a f").text(), "w");
    assert_eq!(r.call("EN.RANGE {k}b - +").text(), "f v");
    assert_eq!(r.call("DBSIZE"), Reply::Integer(3));
    master.again();
    let mut m = master.client();
    at_rest(&mut m, &mut r);
    assert_eq!(digests(&mut m), digests(&mut r));
}

fn until_ok(client: &mut Client, line: &str) {
    let begin = Instant::now();
    while client.call(line).is_error() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{line}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Replicas must not go on from the file; without DEBUG the server cannot see to that, and says so.
#[test]
fn a_server_without_debug_warns() {
    for (options, is_warned) in [(&[][..], false), (&["--rename-command", "DEBUG", ""], true)] {
        let Pair { _folder, mut master, mut replica } =
            pair(&[options, &["--enable-debug-command", "no"]].concat());
        let (mut m, mut r) = (master.client(), replica.client());
        m.call("EN.SET a f 1");
        r.call(&format!("REPLICAOF 127.0.0.1 {}", master.port()));
        at_rest(&mut m, &mut r);
        // The child of the resync may not have ended yet.
        until_ok(&mut m, "SAVE");
        replica.kill();
        master.kill_and_start();
        assert_eq!(master.client().call("EN.GET a f").text(), "1");
        assert_eq!(master.log().contains("the server has no DEBUG"), is_warned);
    }
}

/// The module is loaded while a replica is connected: what it attaches was never sent, and what a replica attaches is not
/// its master's.
#[test]
fn a_module_that_is_loaded_late_parts_from_replicas() {
    let Pair { _folder, mut master, mut replica } = pair(&[]);
    for (server, key) in [(&mut master, "ours"), (&mut replica, "stray")] {
        assert_eq!(server.client().call(&format!("EN.SET {key} f v")), Reply::Integer(1));
        server.kill();
        let module: Vec<String> = server.options.drain(..3).collect();
        assert_eq!(module[0], "--loadmodule");
        server.options.extend(["--enable-module-command".into(), "yes".into()]);
        server.again();
    }
    let (mut m, mut r) = (master.client(), replica.client());
    r.call(&format!("REPLICAOF 127.0.0.1 {}", master.port()));
    at_rest(&mut m, &mut r);
    let load = format!("MODULE LOAD {} data.endura", module().display());
    assert_eq!(r.call(&load), Reply::Ok);
    assert_eq!(m.call(&load), Reply::Ok);
    assert_eq!(m.call("EN.SET ours g w"), Reply::Integer(1));
    at_rest(&mut m, &mut r);
    assert_eq!(m.call("EN.RANGE ours - +").text(), "f v g w");
    assert_eq!(r.call("EN.RANGE ours - +").text(), "f v g w");
    assert_eq!(r.call("KEYS *").text(), "ours");
}

/// How a full resync comes to no end, and what follows.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Cut {
    MasterDies,
    LinkBreaks,
    /// And the replica is not made a master, but may be written to.
    ReplicaIsWritten,
}

/// From then on the pool is what counts, and no file from before.
#[test]
fn a_full_resync_that_failed_leaves_no_mark() {
    for cut in [Cut::MasterDies, Cut::LinkBreaks, Cut::ReplicaIsWritten] {
        let Pair { _folder, mut master, mut replica } =
            pair(&["--repl-diskless-load", "on-empty-db", "--replica-read-only", "no"]);
        let (mut m, mut r) = (master.client(), replica.client());
        for key in 0..1_000 {
            m.call(&format!("EN.SET k{key} f {}", "v".repeat(200)));
        }
        m.call("CONFIG SET rdb-key-save-delay 2000");
        r.call(&format!("REPLICAOF 127.0.0.1 {}", master.port()));
        replica.wait_for_log("Loading DB in memory");
        match cut {
            Cut::LinkBreaks => {
                // The next try comes later than what follows.
                m.call("CONFIG SET repl-diskless-sync-delay 60");
                m.call("CLIENT KILL TYPE replica");
            }
            _ => master.kill(),
        }
        replica.wait_for_log("Failed trying to load the ");
        if cut != Cut::ReplicaIsWritten {
            assert_eq!(r.call("REPLICAOF NO ONE"), Reply::Ok);
        }
        for line in ["EN.SET a f 1", "SAVE", "EN.SET a f 2", "EN.SET b f 1"] {
            assert!(!r.call(line).is_error(), "{line}");
        }
        drop(r);
        replica.kill_and_start();
        let mut r = replica.client();
        assert_eq!(r.call("EN.GET a f").text(), "2", "{cut:?}");
        assert_eq!(r.call("EN.GET b f").text(), "1", "{cut:?}");
        assert_eq!(r.call("DBSIZE"), Reply::Integer(2), "{cut:?}");
    }
}
