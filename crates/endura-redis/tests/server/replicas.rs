//! Replicas: everything that a master does reaches them, also what it does while they are made.

use std::time::{Duration, Instant};

use super::support::model::{self, Keys, Reach};
use super::support::server::free_port;
use super::support::{Client, Random, Reply, Server};

pub(crate) struct Pair {
    pub(crate) master: Server,
    pub(crate) replica: Server,
    /// Dropped last, because a server whose test has failed shows its log when it is dropped.
    pub(crate) _folder: tempfile::TempDir,
}

pub(crate) fn pair(options: &[&str]) -> Pair {
    let folder = tempfile::tempdir().unwrap();
    let options = [options, &["--repl-diskless-sync-delay", "0"]].concat();
    let start = |name| {
        Server::start_with(&folder.path().join(name), free_port(), &["data.endura"], &options)
    };
    let (master, replica) = (start("master"), start("replica"));
    Pair { _folder: folder, master, replica }
}

/// Waits until the replica has all that its master has sent.
pub(crate) fn at_rest(master: &mut Client, replica: &mut Client) {
    let begin = Instant::now();
    let field = |client: &mut Client, name: &str| {
        let info = client.call("INFO replication").text();
        info.lines().find_map(|line| Some(line.strip_prefix(name)?.trim().to_owned()))
    };
    loop {
        let is_up = field(replica, "master_link_status:").as_deref() == Some("up");
        let (sent, got) =
            (field(master, "master_repl_offset:"), field(replica, "slave_repl_offset:"));
        if is_up && sent == got {
            return;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "{sent:?} {got:?} up: {is_up}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// What is in each key of this type. Strings whose time is over are left out: a replica keeps them until it is told.
pub(crate) fn digests(client: &mut Client) -> Vec<String> {
    let mut names = client.call("KEYS *").texts();
    names.retain(|name| client.call(&format!("TYPE {name}")).text() == "endura-om");
    names.sort();
    names.iter().map(|name| client.call(&format!("DEBUG DIGEST-VALUE {name}")).text()).collect()
}

fn write(
    client: &mut Client,
    random: &mut Random,
    mut keys: Keys,
    until: impl Fn(usize) -> bool,
) -> Keys {
    let mut done = 0;
    while !until(done) {
        let step = model::step(random, &keys, 0, 0, Reach::Own);
        let answer = client.call(&step.line);
        assert!(!answer.text().contains("failed to copy"), "{}", step.line);
        keys = step.state;
        done += 1;
    }
    keys
}

#[test]
fn commands_reach_a_replica_by_their_effects() {
    let Pair { _folder, master, mut replica } = pair(&[]);
    let (mut m, mut r) = (master.client(), replica.client());
    r.call(&format!("REPLICAOF 127.0.0.1 {}", master.port()));
    at_rest(&mut m, &mut r);
    let mut random = Random::new(3);
    let keys = write(&mut m, &mut random, Keys::new(), |done| done == 3_000);
    m.call("EN.CREATE c0k9 KIND nbtree");
    m.call("DEL c0k9");
    at_rest(&mut m, &mut r);
    assert_eq!(model::found(&mut r, 0), keys);
    assert_eq!(digests(&mut m), digests(&mut r));
    assert!(r.call("EN.SET x a 1").text().starts_with("READONLY"));
    // The replica is killed, and has the keys before it has heard of its master.
    r.call("REPLICAOF NO ONE");
    replica.kill_and_start();
    assert_eq!(model::found(&mut replica.client(), 0), keys);
}

/// A replica is made again and again while a client writes: its content is the master's at the end.
#[test]
fn a_full_resync_under_load_converges() {
    for diskless in ["yes", "no"] {
        let Pair { _folder, master, replica } = pair(&["--repl-diskless-sync", diskless]);
        let (mut m, mut r) = (master.client(), replica.client());
        let mut random = Random::new(5);
        let mut keys = write(&mut m, &mut random, Keys::new(), |done| done == 500);
        // Something that takes a child a while.
        for key in 0..200 {
            let mut line = format!("EN.SET big{key}");
            (0..100).for_each(|field| line += &format!(" f{field} {}", "v".repeat(50)));
            m.call(&line);
        }
        m.call("CONFIG SET rdb-key-save-delay 200");
        for _ in 0..3 {
            r.call("REPLICAOF NO ONE");
            r.call("EN.SET stray a 1");
            r.call(&format!("REPLICAOF 127.0.0.1 {}", master.port()));
            let begin = Instant::now();
            keys =
                write(&mut m, &mut random, keys, |_| begin.elapsed() > Duration::from_millis(700));
            at_rest(&mut m, &mut r);
            assert_eq!(model::found(&mut r, 0), keys);
            assert_eq!(r.call("EXISTS stray"), Reply::Integer(0));
            assert_eq!(digests(&mut m), digests(&mut r));
        }
    }
}

/// Master and replica restart with RDB files of different ages: no partial resync may leave one behind.
#[test]
fn restarts_beside_files_do_not_part_them() {
    let Pair { _folder, mut master, mut replica } = pair(&[]);
    let (mut m, mut r) = (master.client(), replica.client());
    let from = format!("REPLICAOF 127.0.0.1 {}", master.port());
    r.call(&from);
    at_rest(&mut m, &mut r);
    let mut random = Random::new(11);
    let keys = write(&mut m, &mut random, Keys::new(), |done| done == 400);
    at_rest(&mut m, &mut r);
    m.call("SAVE");
    r.call("SAVE");
    // The replica saw all until here, and then nothing; the master goes on, and is killed.
    replica.kill();
    let keys = write(&mut m, &mut random, keys, |done| done == 400);
    drop(m);
    master.kill_and_start();
    replica.options.extend(["--replicaof".into(), "127.0.0.1".into(), master.port().to_string()]);
    replica.again();
    let (mut m, mut r) = (master.client(), replica.client());
    at_rest(&mut m, &mut r);
    assert_eq!(model::found(&mut m, 0), keys);
    assert_eq!(model::found(&mut r, 0), keys);
    // The replica alone is killed, with a file that is older than its pool.
    r.call("SAVE");
    let keys = write(&mut m, &mut random, keys, |done| done == 400);
    at_rest(&mut m, &mut r);
    drop(r);
    replica.kill();
    let keys = write(&mut m, &mut random, keys, |done| done == 400);
    replica.again();
    let mut r = replica.client();
    at_rest(&mut m, &mut r);
    assert_eq!(model::found(&mut r, 0), keys);
    assert_eq!(digests(&mut m), digests(&mut r));
}

/// A field and its value that look like options at the end of a command. Each command is one for the replica too.
#[test]
fn a_replica_gets_the_fields_that_were_set() {
    let pair = pair(&[]);
    let (mut c, mut replica) = (pair.master.client(), pair.replica.client());
    replica.call(&format!("REPLICAOF 127.0.0.1 {}", pair.master.port()));
    at_rest(&mut c, &mut replica);
    c.call("EN.SET k a 1 is there");
    c.call("EN.SET k b 2 NX GET is there NX");
    c.call("EN.SET l f v GET old");
    c.call("EN.SET l f w GET XX g y XX");
    c.call("EN.SET m a 1 b 2 GET old");
    c.call("EN.SET m a 3 b 4 GET XX g y XX");
    c.call("EN.SET m GET NX NX GET XX GET b 1 NX");
    at_rest(&mut c, &mut replica);
    for key in ["k", "l", "m"] {
        let line = format!("EN.RANGE {key} - +");
        assert_eq!(replica.call(&line), c.call(&line), "{key}");
    }
    let stats = replica.call("INFO commandstats").text();
    assert!(stats.to_ascii_lowercase().contains("cmdstat_en.set:calls=7,"), "{stats}");
}

/// Replicas are told that the last field has taken its key with it, also by a server whose DEL has another name.
#[test]
fn a_replica_loses_a_key_without_del() {
    let pair = pair(&["--rename-command", "DEL", "REMOVE"]);
    let (mut c, mut replica) = (pair.master.client(), pair.replica.client());
    replica.call(&format!("REPLICAOF 127.0.0.1 {}", pair.master.port()));
    at_rest(&mut c, &mut replica);
    for line in ["EN.SET k f v", "EN.DEL k f", "EN.SET l f v", "EN.POP l MIN"] {
        assert!(!c.call(line).is_error(), "{line}");
    }
    at_rest(&mut c, &mut replica);
    assert_eq!(replica.call("EXISTS k l"), Reply::Integer(0));
}

/// A replica whose pool has less room than its master's data never says that it has all of it: it ends, with the reason in
/// its log, and has everything once it gets the room.
#[test]
fn a_replica_without_room_ends() {
    for (diskless, is_resync) in [("yes", true), ("no", true), ("no", false)] {
        let folder = tempfile::tempdir().unwrap();
        let options = ["--repl-diskless-sync-delay", "0", "--repl-diskless-sync", diskless];
        let start = |name, max| {
            let module = ["data.endura", "max-size", max];
            Server::start_with(&folder.path().join(name), free_port(), &module, &options)
        };
        let (master, mut replica) = (start("master", "134217728"), start("replica", "16777216"));
        let (mut m, mut r) = (master.client(), replica.client());
        let join = format!("REPLICAOF 127.0.0.1 {}", master.port());
        if !is_resync {
            r.call(&join);
            at_rest(&mut m, &mut r);
        }
        let value = "v".repeat(16_000);
        for key in 0..20 {
            let mut line = format!("EN.SET k{key}");
            (0..60).for_each(|field| line += &format!(" f{field} {value}"));
            assert_eq!(m.call(&line), Reply::Integer(60));
        }
        if is_resync {
            r.call(&join);
        }
        assert!(replica.ended(), "{}", replica.log());
        let log = replica.log();
        let why =
            if is_resync { "a key could not be taken over" } else { "cannot do what its master" };
        assert!(
            log.contains(why) && log.contains("OOM endura: the pool has reached its largest size"),
            "{log}"
        );
        assert!(!log.contains("EOF marker"), "{log}");
        drop(r);
        let max = replica.options.iter().position(|word| word == "16777216").unwrap();
        replica.options[max] = "134217728".into();
        replica.options.extend(["--replicaof".into(), "127.0.0.1".into()]);
        replica.options.push(master.port().to_string());
        replica.again();
        let mut r = replica.client();
        at_rest(&mut m, &mut r);
        assert_eq!(digests(&mut m), digests(&mut r));
        drop(r);
        replica.kill();
        let pool = endura::Pool::open(replica.folder().join("data.endura")).unwrap();
        pool.verify().unwrap();
    }
}

/// What a replica had takes more than half of its pool: it goes while that of its master comes.
#[test]
fn a_replica_makes_room_for_what_comes() {
    let folder = tempfile::tempdir().unwrap();
    let start = |name| {
        let module = ["data.endura", "max-size", "16777216"];
        let options = ["--repl-diskless-sync-delay", "0"];
        Server::start_with(&folder.path().join(name), free_port(), &module, &options)
    };
    let (master, replica) = (start("master"), start("replica"));
    let (mut m, mut r) = (master.client(), replica.client());
    for (client, key) in [(&mut m, "new"), (&mut r, "old")] {
        for field in 0..10_000 {
            let line = format!("EN.SET {key}{} f{field} {}", field % 10, "v".repeat(1_000));
            assert_eq!(client.call(&line), Reply::Integer(1));
        }
    }
    for _ in 0..3 {
        r.call(&format!("REPLICAOF 127.0.0.1 {}", master.port()));
        at_rest(&mut m, &mut r);
        assert_eq!(digests(&mut m), digests(&mut r));
        r.call("REPLICAOF NO ONE");
        // So that all comes anew.
        r.call("DEL new1");
        r.call("DEBUG CHANGE-REPL-ID");
    }
}

/// A replica that was killed while it loaded its master's file has that file, and in its pool some of the keys.
#[test]
fn a_replica_that_was_killed_while_it_loaded_can_be_a_master() {
    let mut pair = pair(&["--repl-diskless-sync", "no"]);
    let (mut c, mut replica) = (pair.master.client(), pair.replica.client());
    for key in 0..400 {
        c.call(&format!("EN.SET k{key} f v"));
    }
    replica.call("CONFIG SET key-load-delay 10000");
    replica.call(&format!("REPLICAOF 127.0.0.1 {}", pair.master.port()));
    pair.replica.wait_for_log("Loading DB in memory");
    std::thread::sleep(Duration::from_millis(500));
    pair.replica.kill_and_start();
    let mut replica = pair.replica.client();
    assert_eq!(digests(&mut replica), digests(&mut c));
    // From then on the pool is what counts.
    replica.call("EN.SET k0 f last");
    pair.replica.kill_and_start();
    let mut replica = pair.replica.client();
    assert_eq!(replica.call("DBSIZE"), Reply::Integer(400));
    assert_eq!(replica.call("EN.GET k0 f").text(), "last");
}
