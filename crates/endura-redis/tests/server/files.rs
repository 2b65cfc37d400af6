//! The pool beside RDB and append-only files: which of them has the newer state.

use std::fs;

use super::support::{Client, Reply, Server};

fn texts(server: &Server, line: &str) -> String {
    server.client().call(line).text()
}

#[test]
fn the_pool_is_newer_than_an_older_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path(), &[]);
    let mut c = server.client();
    c.call("EN.SET old a 1");
    c.call("EN.SET kept a 1");
    c.call("SET string x");
    c.call("EN.SET retyped a 1");
    assert_eq!(c.call("SAVE"), Reply::Ok);
    c.call("DEL old");
    c.call("EN.SET kept a 2 b 3");
    c.call("EN.SET new a 1");
    c.call("DEL string");
    c.call("EN.SET string was text");
    server.kill_and_start();
    assert_eq!(texts(&server, "EXISTS old"), "0");
    assert_eq!(texts(&server, "EN.RANGE kept - +"), "a 2 b 3");
    assert_eq!(texts(&server, "EN.RANGE new - +"), "a 1");
    assert_eq!(texts(&server, "EN.RANGE string - +"), "was text");
    assert_eq!(texts(&server, "DBSIZE"), "4");
}

#[test]
fn a_lost_pool_is_made_anew_from_a_file() {
    for how in [["--appendonly", "no"], ["--appendonly", "yes"]] {
        let folder = tempfile::tempdir().unwrap();
        let mut server = Server::start(folder.path(), &how);
        let mut c = server.client();
        c.call("EN.SET a f 1 g 2");
        c.call("EXPIRE a 1000");
        c.call("SELECT 3");
        c.call("EN.CREATE n KIND nbtree");
        c.call("EN.SET n 7 8");
        if how[1] == "yes" {
            c.call("BGREWRITEAOF");
            assert!(server.saved());
        } else {
            c.call("SAVE");
        }
        server.lose_pool();
        server.again();
        for _ in 0..2 {
            let mut c = server.client();
            assert_eq!(c.call("EN.RANGE a - +").text(), "f 1 g 2");
            assert!(matches!(c.call("TTL a"), Reply::Integer(900..=1000)));
            c.call("SELECT 3");
            assert_eq!(c.call("EN.RANGE n - +").text(), "7 8");
            assert_eq!(c.call("EN.INFO n").texts()[3], "nbtree");
            drop(c);
            // And from then on the pool has it.
            server.kill_and_start();
        }
    }
}

/// A copy of the pool is put back beside a file that was saved later.
#[test]
fn a_file_is_newer_than_an_older_pool() {
    let folder = tempfile::tempdir().unwrap();
    let (pool, copy) = (folder.path().join("data.endura"), folder.path().join("copy"));
    let mut server = Server::start(folder.path(), &["--loglevel", "notice"]);
    server.client().call("EN.SET k a old b old");
    server.client().call("EN.SET gone a old");
    let _ = server.client().ask(&[b"SHUTDOWN", b"NOSAVE"]);
    std::thread::sleep(std::time::Duration::from_millis(300));
    server.kill();
    fs::copy(&pool, &copy).unwrap();
    server.again();
    let mut c = server.client();
    c.call("EN.SET k a new");
    c.call("DEL gone");
    c.call("SAVE");
    c.call("EN.SET k a newest");
    drop(c);
    server.kill();
    fs::copy(&copy, &pool).unwrap();
    server.lose_checkpoint();
    server.again();
    assert_eq!(texts(&server, "EN.RANGE k - +"), "a new b old");
    assert_eq!(texts(&server, "EXISTS gone"), "0");
    assert!(server.log().contains("the pool is older than the file"), "{}", server.log());
    server.kill_and_start();
    assert_eq!(texts(&server, "EN.RANGE k - +"), "a new b old");
    assert_eq!(texts(&server, "DBSIZE"), "1");
    // From then on the pool is the newer one.
    server.client().call("EN.SET k a last");
    server.kill_and_start();
    assert_eq!(texts(&server, "EN.RANGE k - +"), "a last b old");
}

/// The file of another server lies beside a pool that has keys.
#[test]
fn a_file_of_another_pool_is_left_out() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let of_other = Server::start(other.path(), &[]);
    of_other.client().call("EN.SET theirs a 1");
    of_other.client().call("SET string x");
    of_other.client().call("SAVE");
    let mut server = Server::start(one.path(), &[]);
    server.client().call("EN.SET ours a 1");
    server.kill();
    fs::copy(other.path().join("dump.rdb"), one.path().join("dump.rdb")).unwrap();
    server.again();
    assert_eq!(texts(&server, "EXISTS theirs"), "0");
    assert_eq!(texts(&server, "EN.GET ours a"), "1");
    assert_eq!(texts(&server, "GET string"), "x");
    assert!(server.log().contains("saved from another pool"), "{}", server.log());
}

/// A start that takes a file over is killed: the next one takes it over again.
#[test]
fn a_take_over_is_whole_or_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path(), &[]);
    let mut c = server.client();
    for key in 0..300 {
        let mut line = format!("EN.SET k{key}");
        (0..40).for_each(|field| line += &format!(" f{field} {}", "v".repeat(50)));
        c.call(&line);
    }
    c.call("SAVE");
    let digest = c.call("DEBUG DIGEST").text();
    drop(c);
    server.lose_pool();
    for micros in [3_000, 8_000, 12_000, 20_000, 30_000, 45_000] {
        let _ = fs::remove_file(folder.path().join("socket"));
        server.start_and_kill(std::time::Duration::from_micros(micros));
    }
    server.again();
    assert_eq!(texts(&server, "DBSIZE"), "300");
    assert_eq!(texts(&server, "DEBUG DIGEST"), digest);
}

/// The append-only file is rewritten as commands, without an RDB in front.
#[test]
fn an_append_only_file_of_commands_makes_a_lost_pool_anew() {
    let folder = tempfile::tempdir().unwrap();
    let options = ["--appendonly", "yes", "--aof-use-rdb-preamble", "no"];
    let mut server = Server::start(folder.path(), &options);
    let mut c = server.client();
    c.call("EN.SET a f 1 g 2");
    c.call("EXPIRE a 1000");
    c.call("EN.CREATE n KIND fastfair");
    c.call("EN.SET n 7 8");
    c.call("BGREWRITEAOF");
    assert!(server.saved());
    c.call("EN.INCRBY a f 1");
    // The pool is there: nothing of the file is applied to it.
    server.kill_and_start();
    assert_eq!(texts(&server, "EN.RANGE a - +"), "f 2 g 2");
    server.lose_pool();
    server.again();
    assert_eq!(texts(&server, "EN.RANGE a - +"), "f 1 g 2");
    assert_eq!(texts(&server, "EN.RANGE n - +"), "7 8");
    assert!(matches!(server.client().call("TTL a"), Reply::Integer(900..=1000)));
}

/// The first failure and the first success after it are in the log, and EN.INFO has what is so now.
#[test]
fn checkpoints_that_fail_are_in_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let (there, away) = (folder.path().join("disk"), folder.path().join("away"));
    fs::create_dir(&there).unwrap();
    let module = ["data.endura", "checkpoint-file", "disk/copy", "checkpoint-every", "1000"];
    let server = Server::start_with(folder.path(), 0, &module, &[]);
    let mut c = server.client();
    let figure = |c: &mut Client, name: &str| {
        let texts = c.call("EN.INFO").texts();
        texts.chunks(2).find(|pair| pair[0] == name).map(|pair| pair[1].clone())
    };
    assert_eq!(c.call("EN.SET k f v"), Reply::Integer(1));
    assert_eq!(c.call("EN.CHECKPOINT"), Reply::Ok);
    assert_eq!(figure(&mut c, "checkpoint_failures_in_a_row").unwrap(), "0");
    fs::rename(&there, &away).unwrap();
    for failures in 1..4 {
        c.call("EN.SET k f w");
        assert!(c.call("EN.CHECKPOINT").is_error());
        assert_eq!(figure(&mut c, "checkpoint_failures_in_a_row").unwrap(), failures.to_string());
        assert!(figure(&mut c, "checkpoint_failure").unwrap().contains("disk/copy"));
    }
    server.wait_for_log("no checkpoint can be made: ");
    fs::rename(&away, &there).unwrap();
    assert_eq!(c.call("EN.CHECKPOINT"), Reply::Ok);
    server.wait_for_log("checkpoints can be made again, after 3 that could not");
    assert_eq!(server.log().matches("no checkpoint can be made").count(), 1);
    assert_eq!(figure(&mut c, "checkpoint_failures_in_a_row").unwrap(), "0");
    assert_eq!(figure(&mut c, "checkpoint_failure"), None);
    // A close whose checkpoint fails says so as well.
    fs::rename(&there, &away).unwrap();
    c.call("EN.SET k f x");
    let _ = c.ask(&[b"SHUTDOWN", b"NOSAVE"]);
    server.wait_for_log("the pool has no checkpoint of its end: ");
}

#[test]
fn a_reload_has_the_same_keys() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path(), &[]);
    let mut c = server.client();
    c.call("EN.SET a f 1 g 2");
    c.call("SELECT 2");
    c.call("EN.SET b f 1");
    let digest = c.call("DEBUG DIGEST").text();
    assert_eq!(c.call("DEBUG RELOAD"), Reply::Ok);
    assert_eq!(c.call("DEBUG DIGEST").text(), digest);
    drop(c);
    server.kill_and_start();
    assert_eq!(texts(&server, "DEBUG DIGEST"), digest);
}

/// CRC-64 as DUMP has it.
fn crc64(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ u64::from(*byte), |crc, _| {
            if crc & 1 == 0 { crc >> 1 } else { crc >> 1 ^ 0x95AC_9329_AC4B_C9B5 }
        })
    })
}

/// What the module wrote before it gathered entries in pieces: each of them behind a 1, and a 0 at the end.
fn of_version_0(dump: &[u8], form: u8, entries: &[(&str, &str)]) -> Vec<u8> {
    // The type of a module's value, and its name with the version in the lowest ten bits.
    let mut old = dump[..10].to_vec();
    old[8] &= !3;
    old[9] = 0;
    let number = |old: &mut Vec<u8>, number| old.extend([2, number]);
    number(&mut old, form);
    for (field, value) in entries {
        number(&mut old, 1);
        for text in [field, value] {
            old.extend([5, text.len() as u8]);
            old.extend(text.bytes());
        }
    }
    number(&mut old, 0);
    old.push(0);
    // The version of the server's files.
    old.extend(&dump[dump.len() - 10..][..2]);
    old.extend(crc64(&old).to_le_bytes());
    old
}

#[test]
fn a_dump_of_an_older_module_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path(), &[]);
    let mut c = server.client();
    c.call("EN.SET k a 1");
    let Reply::Bulk(dump) = c.call("DUMP k") else { panic!("no dump") };
    assert_eq!(crc64(&dump[..dump.len() - 8]).to_le_bytes(), dump[dump.len() - 8..]);
    assert_eq!((dump[0], dump[9] & 3), (7, 1), "a value of a module, of version 1");
    for (name, form, entries) in [
        ("old", 0, &[("a", "1"), ("b", "two")][..]),
        ("own", 1, &[("-1", "1"), ("7", "8")]),
        ("empty", 1, &[]),
    ] {
        let old = of_version_0(&dump, form, entries);
        let restored = c.ask(&[b"RESTORE", name.as_bytes(), b"0", &old]).unwrap();
        assert_eq!(restored, Reply::Ok, "{name}");
        // Without its end it is no value.
        let cut = [&old[..old.len() - 13], &[0], &dump[dump.len() - 10..][..2]].concat();
        let cut = [&cut[..], &crc64(&cut).to_le_bytes()].concat();
        let refused = c.ask(&[b"RESTORE", b"cut", b"0", &cut]).unwrap();
        assert!(refused.text().contains("Bad data format"), "{name}: {refused:?}");
    }
    drop(c);
    for _ in 0..2 {
        assert_eq!(texts(&server, "EN.RANGE old - +"), "a 1 b two");
        assert_eq!(texts(&server, "EN.RANGE own - +"), "-1 1 7 8");
        assert_eq!(texts(&server, "EXISTS empty cut"), "1");
        server.kill_and_start();
    }
}
