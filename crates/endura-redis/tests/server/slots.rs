//! Slots that Valkey 9 moves at once (`CLUSTER MIGRATESLOTS`).

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::replicas::{at_rest, digests};
use super::support::server::{free_port, is_valkey};
use super::support::{Client, Reply, Server};

const OPTIONS: [&str; 8] = [
    "--cluster-enabled",
    "yes",
    "--cluster-allow-reads-when-down",
    "yes",
    "--repl-diskless-sync-delay",
    "0",
    // A master without slots stays one.
    "--cluster-allow-replica-migration",
    "no",
];

struct Nodes {
    source: Server,
    target: Server,
    replica: Server,
    _folder: tempfile::TempDir,
}

/// A node with all slots and keys in them, one without, and a replica of the latter.
fn nodes(target_appends: &str) -> Option<Nodes> {
    if !is_valkey() {
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let start = |name, appends| {
        let module = ["data.endura"];
        let options =
            [&OPTIONS[..], &["--enable-debug-command", "yes", "--appendonly", appends]].concat();
        Server::start_with(&folder.path().join(name), free_port(), &module, &options)
    };
    let (source, target) = (start("source", "no"), start("target", target_appends));
    let replica = start("replica", "no");
    let (mut s, mut t, mut r) = (source.client(), target.client(), replica.client());
    assert_eq!(s.call("CLUSTER ADDSLOTSRANGE 0 16383"), Reply::Ok);
    for (client, epoch) in [(&mut s, 1), (&mut t, 2), (&mut r, 3)] {
        assert_eq!(client.call(&format!("CLUSTER SET-CONFIG-EPOCH {epoch}")), Reply::Ok);
    }
    for port in [source.port(), target.port()] {
        assert_eq!(r.call(&format!("CLUSTER MEET 127.0.0.1 {port}")), Reply::Ok);
    }
    let id = t.call("CLUSTER MYID").text();
    until("a replica", || r.call(&format!("CLUSTER REPLICATE {id}")) == Reply::Ok);
    for client in [&mut s, &mut t, &mut r] {
        until("a cluster of three", || {
            let info = client.call("CLUSTER INFO").text();
            info.contains("cluster_known_nodes:3") && info.contains("cluster_state:ok")
        });
    }
    at_rest(&mut t, &mut r);
    for key in 0..200 {
        let line = format!("EN.SET k{key} f{key} v g {}", "w".repeat(100));
        assert_eq!(s.call(&line), Reply::Integer(2));
    }
    for key in 0..50 {
        s.call(&format!("PEXPIREAT k{key} {}", 4_000_000_000_000_u64 + key));
    }
    s.call("EN.CREATE own KIND nbtree");
    s.call("EN.SET own 1 2 3 4");
    s.call("SET text x");
    Some(Nodes { source, target, replica, _folder: folder })
}

pub(super) fn until(what: &str, is_so: impl FnMut() -> bool) {
    wait(what, Duration::from_secs(30), is_so);
}

fn wait(what: &str, at_most: Duration, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < at_most, "not so: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The number of keys in the pool, and of what is left to be swept.
pub(super) fn in_pool(client: &mut Client) -> (String, String) {
    let info = client.call("INFO endura").text();
    let figure = |name: &str| {
        let found = info.lines().find_map(|line| line.strip_prefix(name));
        found.unwrap_or_default().trim().to_owned()
    };
    (figure("endura_keys:"), figure("endura_keys_to_sweep:"))
}

fn has_none(client: &mut Client) -> bool {
    in_pool(client) == ("0".to_owned(), "0".to_owned())
}

fn migrate(source: &mut Client, target: &mut Client) {
    migrate_slots(source, target, "0 16383");
}

fn migrate_slots(source: &mut Client, target: &mut Client, slots: &str) {
    let id = target.call("CLUSTER MYID").text();
    let answer = source.call(&format!("CLUSTER MIGRATESLOTS SLOTSRANGE {slots} NODE {id}"));
    assert_eq!(answer, Reply::Ok);
}

/// Makes migrations stop before the source pauses its clients, or go on.
fn hold(nodes: &Nodes, is_held: bool) {
    let line = format!("DEBUG SLOTMIGRATION PREVENT-PAUSE {}", u8::from(is_held));
    assert_eq!(nodes.source.client().call(&line), Reply::Ok);
}

fn has_come(target: &mut Client) -> bool {
    in_pool(target).0 == "201"
}

#[test]
fn keys_move_with_their_slots() {
    let Some(mut nodes) = nodes("no") else { return };
    let (mut s, mut t) = (nodes.source.client(), nodes.target.client());
    let mut before = s.call("KEYS *").texts();
    before.sort();
    let content = digests(&mut s);
    hold(&nodes, true);
    migrate(&mut s, &mut t);
    until("all have come", || has_come(&mut t));
    // The target has them, and its clients do not see them.
    assert_eq!(t.call("DBSIZE"), Reply::Integer(0));
    assert_eq!(t.call("KEYS *"), Reply::Array(Vec::new()));
    assert!(t.call("EN.GET k1 f1").text().starts_with("MOVED"));
    // What is written meanwhile comes too.
    assert_eq!(s.call("EN.SET k7 late x"), Reply::Integer(1));
    assert_eq!(s.call("EN.DEL k8 f8 g"), Reply::Integer(2));
    assert_eq!(s.call("EN.SET k8 again y"), Reply::Integer(1));
    hold(&nodes, false);
    until("the slots are the target's", || t.call("EN.GET k7 late").text() == "x");
    until("the source has none", || has_none(&mut s));
    assert_eq!(s.call("DBSIZE"), Reply::Integer(0));
    let mut after = t.call("KEYS *").texts();
    after.sort();
    assert_eq!(before, after);
    assert_eq!(t.call("EN.RANGE k8 - +").text(), "again y");
    assert_eq!(t.call("PEXPIRETIME k9").text(), "4000000000009");
    assert_eq!(t.call("EN.RANGE own - +").text(), "1 2 3 4");
    t.call("EN.DEL k7 late");
    t.call("DEL k8");
    t.call("EN.SET k8 f8 v g x");
    assert_eq!(digests(&mut t).len(), content.len());
    let mut r = nodes.replica.client();
    r.call("READONLY");
    at_rest(&mut t, &mut r);
    assert_eq!(digests(&mut t), digests(&mut r));
    // After kills both have what they had.
    let content = digests(&mut t);
    drop((s, t));
    nodes.source.kill_and_start();
    nodes.target.kill_and_start();
    let (mut s, mut t) = (nodes.source.client(), nodes.target.client());
    assert_eq!(s.call("DBSIZE"), Reply::Integer(0));
    assert_eq!(digests(&mut t), content);
}

#[test]
fn a_migration_that_is_given_up_leaves_nothing() {
    given_up("no");
}

/// The append-only file of the target has the migration too, which ends before the keys of the pool are attached.
#[test]
fn nor_beside_an_append_only_file() {
    given_up("yes");
}

fn given_up(target_appends: &str) {
    let Some(mut nodes) = nodes(target_appends) else { return };
    let (mut s, mut t) = (nodes.source.client(), nodes.target.client());
    let content = digests(&mut s);
    hold(&nodes, true);
    migrate(&mut s, &mut t);
    until("all have come", || has_come(&mut t));
    assert_eq!(s.call("CLUSTER CANCELSLOTMIGRATIONS"), Reply::Ok);
    until("the target has none", || has_none(&mut t));
    let mut r = nodes.replica.client();
    until("its replica has none", || has_none(&mut r));
    assert_eq!(digests(&mut s), content);
    // The target is killed while the keys come.
    migrate(&mut s, &mut t);
    until("all have come", || has_come(&mut t));
    drop(t);
    nodes.target.kill();
    until("the source gives up", || {
        !s.call("CLUSTER GETSLOTMIGRATIONS").text().contains("replicating")
    });
    nodes.target.again();
    let mut t = nodes.target.client();
    until("the target has none", || has_none(&mut t));
    assert_eq!(t.call("DBSIZE"), Reply::Integer(0));
    assert_eq!(digests(&mut s), content);
    // The source is killed.
    migrate(&mut s, &mut t);
    until("all have come", || has_come(&mut t));
    drop(s);
    nodes.source.kill();
    until("the target has none", || has_none(&mut t));
    nodes.source.again();
    let mut s = nodes.source.client();
    assert_eq!(digests(&mut s), content);
    hold(&nodes, false);
    until("the cluster is well", || s.call("EN.GET k1 f1").text() == "v");
    migrate(&mut s, &mut t);
    until("the slots are the target's", || t.call("EN.GET k1 f1").text() == "v");
    assert_eq!(digests(&mut t), content);
}

/// A target without room: the migration fails, and what had come is gone.
#[test]
fn a_target_without_room_takes_nothing() {
    let Some(nodes) = nodes("no") else { return };
    let (mut s, mut t) = (nodes.source.client(), nodes.target.client());
    let content = digests(&mut s);
    nodes.target.fail_after(20);
    migrate(&mut s, &mut t);
    until("it fails", || s.call("CLUSTER GETSLOTMIGRATIONS").text().contains("failed"));
    nodes.target.fail_no_more();
    until("the target has none", || has_none(&mut t));
    assert_eq!(digests(&mut s), content);
}

/// The longest time that a server takes to answer this line, until it is told to stop.
fn longest(server: &Server, line: &str, stop: &AtomicBool) -> Duration {
    let (mut client, mut longest) = (server.client(), Duration::ZERO);
    while !stop.load(Ordering::Relaxed) {
        let begin = Instant::now();
        assert!(!client.call(line).is_error());
        longest = longest.max(begin.elapsed());
        std::thread::sleep(Duration::from_millis(1));
    }
    longest
}

/// The slot of a large map moves, and the slot of a hash of that size: how long other clients wait. `ENDURA_ENTRIES` is the
/// size in place of a small one.
#[test]
fn a_large_map_moves_as_a_hash_does() {
    let Some(nodes) = nodes("no") else { return };
    let (mut s, mut t) = (nodes.source.client(), nodes.target.client());
    let entries = std::env::var("ENDURA_ENTRIES").ok().and_then(|number| number.parse().ok());
    let entries: usize = entries.unwrap_or(50_000);
    let mut waits = Vec::new();
    for (command, key) in [("HSET", "hash"), ("EN.SET", "map")] {
        for from in (0..entries).step_by(1_000) {
            let mut line = format!("{command} {key}");
            (from..entries.min(from + 1_000)).for_each(|i| line += &format!(" f{i:09} v{i:09}"));
            assert!(!s.call(&line).is_error());
        }
        let slot = s.call(&format!("CLUSTER KEYSLOT {key}")).text();
        let stop = AtomicBool::new(false);
        let begin = Instant::now();
        let longest = std::thread::scope(|scope| {
            let of = |server, line| {
                let stop = &stop;
                scope.spawn(move || longest(server, line, stop))
            };
            let clients = [
                of(&nodes.source, "PING"),
                of(&nodes.source, "SET text y"),
                of(&nodes.target, "PING"),
            ];
            migrate_slots(&mut s, &mut t, &format!("{slot} {slot}"));
            wait("the slot moves", Duration::from_secs(600), || {
                t.call(&format!("EXISTS {key}")) == Reply::Integer(1)
            });
            stop.store(true, Ordering::Relaxed);
            clients.map(|client| client.join().unwrap())
        });
        let [source, write, target] = longest;
        eprintln!(
            "{key} of {entries}: moved in {:.1?}; longest PING of the source {source:.0?}, of the target {target:.0?}, SET {write:.0?}",
            begin.elapsed()
        );
        waits.push(source.max(target).max(write));
    }
    assert_eq!(t.call("EN.COUNT map"), Reply::Integer(entries as i64));
    assert_eq!(t.call("HLEN hash"), Reply::Integer(entries as i64));
    assert!(waits[1] < waits[0] * 3 + Duration::from_secs(1), "hash, map: {waits:?}");
}
