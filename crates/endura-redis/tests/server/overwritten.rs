//! The append-only file beside maps: keys of other types come out of it as they were, and a key that a map has replaced
//! does not come back.

use std::path::Path;

use super::replicas::{Pair, at_rest, pair};
use super::support::{Client, Reply, Server};

const APPENDING: [&str; 4] = ["--appendonly", "yes", "--appendfsync", "always"];

/// One of each type, and of those that expire.
const OTHERS: [&str; 9] = [
    "SET NAME old",
    "SET NAME old PXAT 4000000000000",
    "LPUSH NAME old older",
    "HSET NAME f old",
    "SADD NAME old",
    "ZADD NAME 1 old",
    "XADD NAME * f old",
    "PFADD NAME old",
    "SETBIT NAME 7 1",
];

/// How a map comes in place of another key: `FROM` is a map, `DUMP` one that was dumped.
const WAYS: [&str; 8] = [
    "EN.SET FROM f v;RENAME FROM NAME",
    "EN.SET FROM f v;PEXPIREAT FROM 4000000000000;RENAME FROM NAME",
    "EN.CREATE FROM KIND fastfair;RENAME FROM NAME",
    "EN.SET FROM f v;COPY FROM NAME REPLACE;DEL FROM",
    "SELECT 1;EN.SET FROM f v;COPY FROM NAME DB 0 REPLACE;DEL FROM;SELECT 0",
    "RESTORE NAME 0 DUMP REPLACE",
    "MULTI;EN.SET FROM f v;RENAME FROM NAME;EXEC",
    "EVAL SCRIPT 2 FROM NAME",
];

const SCRIPT: &str =
    "redis.call('EN.SET',KEYS[1],'f','v') return redis.call('RENAME',KEYS[1],KEYS[2])";

fn server(folder: &Path) -> (Server, Client) {
    let server = Server::start(folder, &APPENDING);
    let client = server.client();
    (server, client)
}

/// Runs lines apart by semicolons.
fn run(client: &mut Client, lines: &str, name: &str, dump: &[u8]) {
    let from = format!("{name}from");
    for line in lines.split(';') {
        let words: Vec<&[u8]> = line
            .split(' ')
            .map(|word| match word {
                "NAME" => name.as_bytes(),
                "FROM" => from.as_bytes(),
                "DUMP" => dump,
                "SCRIPT" => SCRIPT.as_bytes(),
                word => word.as_bytes(),
            })
            .collect();
        let answer = client.ask(&words).unwrap();
        assert!(!answer.is_error(), "{line}: {answer:?}");
    }
}

fn dump(client: &mut Client) -> Vec<u8> {
    client.call("EN.SET dumped f v");
    let Reply::Bulk(dump) = client.call("DUMP dumped") else { panic!("no dump") };
    client.call("DEL dumped");
    dump
}

/// Puts a map in place of a key of each type in each way.
fn overwrite(client: &mut Client) {
    let dump = dump(client);
    for (other, line) in OTHERS.iter().enumerate() {
        for (way, lines) in WAYS.iter().enumerate() {
            let name = format!("k{other}:{way}");
            run(client, line, &name, &dump);
            run(client, lines, &name, &dump);
            assert_eq!(client.call(&format!("TYPE {name}")).text(), "endura-om", "{line} {lines}");
        }
    }
}

/// Takes all keys out of the pool of a server that was killed: so it is found where a command that removes them was not
/// answered, for the pool had it and the file had not.
fn forget_all(folder: &Path) {
    let pool = endura::Pool::open(folder.join("data.endura")).unwrap();
    let keys = pool.map::<u64, [u8]>("redis:keys").unwrap();
    keys.clear().unwrap();
    pool.close().unwrap();
}

fn names(client: &mut Client) -> Vec<String> {
    let mut names = client.call("KEYS *").texts();
    names.sort();
    names
}

#[test]
fn what_a_map_replaced_is_not_under_it() {
    let folder = tempfile::tempdir().unwrap();
    let (mut server, mut client) = server(folder.path());
    overwrite(&mut client);
    let before = names(&mut client);
    assert_eq!(before.len(), OTHERS.len() * WAYS.len());
    server.kill_and_start();
    assert_eq!(names(&mut server.client()), before);
    server.kill();
    forget_all(folder.path());
    server.again();
    assert_eq!(names(&mut server.client()), Vec::<String>::new());
}

/// The same on a replica, from its own file.
#[test]
fn what_a_map_replaced_is_not_under_it_on_a_replica() {
    let Pair { _folder, master, mut replica } = pair(&APPENDING);
    let (mut m, mut r) = (master.client(), replica.client());
    r.call(&format!("REPLICAOF 127.0.0.1 {}", master.port()));
    at_rest(&mut m, &mut r);
    overwrite(&mut m);
    let before = names(&mut m);
    at_rest(&mut m, &mut r);
    assert_eq!(names(&mut r), before);
    // A master of its own from here on, for nobody has told its configuration otherwise.
    replica.kill();
    forget_all(replica.folder());
    replica.again();
    assert_eq!(names(&mut replica.client()), Vec::<String>::new());
}

/// The command that takes the map away is killed at each of its steps.
#[test]
fn a_kill_while_the_map_goes_uncovers_nothing() {
    let ways = [
        "DEL x",
        "UNLINK x",
        "EN.POP x MIN",
        "EN.DEL x f",
        "RENAME x y",
        "MOVE x 1",
        "FLUSHDB",
        "FLUSHALL",
        "SWAPDB 0 1",
        "PEXPIREAT x 1",
        "SET x new",
    ];
    for line in ways {
        for steps in 0..3 {
            let folder = tempfile::tempdir().unwrap();
            let (mut server, mut client) = server(folder.path());
            for before in ["HSET x f old", "EN.SET e f v", "RENAME e x"] {
                assert!(!client.call(before).is_error(), "{before}");
            }
            let counted = folder.path().join("steps");
            std::fs::write(&counted, steps.to_string()).unwrap();
            let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
            let _ = client.ask(&words);
            let _ = std::fs::remove_file(&counted);
            server.kill_and_start();
            let mut client = server.client();
            for database in 0..2 {
                client.call(&format!("SELECT {database}"));
                for name in names(&mut client) {
                    let found = client.call(&format!("TYPE {name}")).text();
                    let is_new = line == "SET x new" && found == "string";
                    assert!(is_new || found == "endura-om", "{line}, step {steps}: {name} {found}");
                }
            }
        }
    }
}

/// A kill leaves the map in the pool, and the key that it replaced in the file. The next start tells the file.
#[test]
fn what_a_start_replaces_is_not_under_it() {
    for line in ["RENAME e x", "COPY e x REPLACE"] {
        let folder = tempfile::tempdir().unwrap();
        let (mut server, mut client) = server(folder.path());
        client.call("SET x old");
        client.call("EN.SET e f v");
        // The copy has an entry, and then both have a record.
        let steps = if line.starts_with("COPY") { "1" } else { "0" };
        std::fs::write(folder.path().join("steps"), steps).unwrap();
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        assert!(client.ask(&words).is_err(), "{line} was answered");
        std::fs::remove_file(folder.path().join("steps")).unwrap();
        server.kill_and_start();
        assert_eq!(server.client().call("TYPE x").text(), "endura-om", "{line}");
        // What a start tells the file is there at the latest with an answer.
        server.client().call("PING");
        server.kill();
        forget_all(folder.path());
        server.again();
        assert_eq!(names(&mut server.client()), Vec::<String>::new(), "{line}");
    }
}

/// Strings that were written over maps, which are not in the file.
#[test]
fn what_replaced_a_map_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let (mut server, mut client) = server(folder.path());
    for lines in [
        "EN.SET a f v;SET a new XX",
        "EN.SET b f v;PEXPIREAT b 4000000000000;SET b new KEEPTTL",
        "EN.SET c f v;PEXPIREAT c 4000000000000;SET c new XX KEEPTTL",
        "EN.SET d f v;PEXPIREAT d 4000000000000;SET d new XX",
        "EN.SET e f v;MULTI;SET e new XX;APPEND e er;EXEC",
        "EN.SET g f v;SET g new PXAT 4000000000000",
        "EN.SET h f v;MSET h new i new",
        "EN.SET j f v;SET s new;RENAME s j",
        "EN.SET k f v;LPUSH l 1;COPY l k REPLACE",
        "EN.SET m f v;SADD s 1;SUNIONSTORE m s",
    ] {
        run(&mut client, lines, "", b"");
    }
    let found = |client: &mut Client| {
        let mut found = Vec::new();
        for name in names(client) {
            let digest = client.call(&format!("DEBUG DIGEST-VALUE {name}")).text();
            let expires = client.call(&format!("PEXPIRETIME {name}")).text();
            found.push(format!("{name} {digest} {expires}"));
        }
        found
    };
    let before = found(&mut client);
    assert_eq!(before.len(), 13);
    server.kill_and_start();
    assert_eq!(found(&mut server.client()), before);
}

/// Maps of the rewritten part that are gone from the pool are not in the way of what comes under their names.
#[test]
fn maps_that_were_left_out_are_not_in_the_way() {
    let folder = tempfile::tempdir().unwrap();
    let (mut server, mut client) = server(folder.path());
    for name in ["a", "b", "c", "d", "e", "g", "h"] {
        client.call(&format!("EN.SET {name} f v"));
    }
    client.call("BGREWRITEAOF");
    assert!(server.saved());
    server.kill();
    forget_all(folder.path());
    server.again();
    let mut client = server.client();
    assert_eq!(names(&mut client), Vec::<String>::new());
    for line in [
        "HSET a f 1",
        "HSET a g 2",
        "LPUSH b 1",
        "SETNX c 1",
        "SET string s",
        "RENAMENX string d",
        "COPY d e",
        "EN.SET g f new",
        "SWAPDB 0 2",
        "SELECT 2",
        "SADD h 1",
        "SADD h 2",
    ] {
        assert!(!client.call(line).is_error(), "{line}");
    }
    let before = client.call("DEBUG DIGEST").text();
    server.kill_and_start();
    assert_eq!(server.client().call("DEBUG DIGEST").text(), before, "{}", server.log());
    // A pool that is made of the file does not have what had been removed before.
    server.lose_pool();
    server.again();
    let mut client = server.client();
    client.call("SELECT 2");
    assert_eq!(client.call("EXISTS g"), Reply::Integer(0));
}

/// A kill keeps the removal of a map out of the file. Then commands read its name, which is no key any more.
#[test]
fn maps_that_were_left_out_are_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let (mut server, mut client) = server(folder.path());
    let dump = dump(&mut client);
    // A map that the file has by a command of Redis, and one of its rewritten part.
    client.call("EN.SET rewritten f v");
    client.call("BGREWRITEAOF");
    assert!(server.saved());
    run(&mut client, "RESTORE restored 0 DUMP", "", &dump);
    for name in ["rewritten", "restored"] {
        std::fs::write(folder.path().join("steps"), "0").unwrap();
        assert!(client.ask(&[b"EN.POP", name.as_bytes(), b"MIN"]).is_err());
        std::fs::remove_file(folder.path().join("steps")).unwrap();
        server.kill_and_start();
        client = server.client();
    }
    for line in [
        "SET text x",
        "SET other x",
        "SUNIONSTORE text restored",
        "PFADD log a",
        "PFMERGE log rewritten",
        "ZUNIONSTORE other 1 rewritten",
    ] {
        assert!(!client.call(line).is_error(), "{line}");
    }
    assert_eq!(names(&mut client), ["log"]);
    server.kill_and_start();
    assert_eq!(names(&mut server.client()), ["log"]);
}

/// A map of a file of another pool is left out, then there is a map of its name, and then a string in place of that.
#[test]
fn a_string_replaces_a_map_of_a_name_that_was_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let (of_other, mut client) = server(folder.path());
    client.call("EN.SET k f of-file");
    client.call("BGREWRITEAOF");
    assert!(of_other.saved());
    let own = tempfile::tempdir().unwrap();
    let mut server = Server::start(own.path(), &[]);
    server.client().call("EN.SET l f v");
    server.kill();
    let files = "appendonlydir";
    std::fs::create_dir(own.path().join(files)).unwrap();
    for file in std::fs::read_dir(folder.path().join(files)).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), own.path().join(files).join(file.file_name())).unwrap();
    }
    server.options.extend(APPENDING.map(str::to_owned));
    server.again();
    let mut client = server.client();
    run(&mut client, "EN.SET k f v;SET k new XX", "", b"");
    assert_eq!(names(&mut client), ["k", "l"]);
    server.kill_and_start();
    let mut client = server.client();
    assert_eq!(names(&mut client), ["k", "l"]);
    assert_eq!(client.call("GET k").text(), "new");
}

/// A pool that is made of the file has the map, not the key that it replaced.
#[test]
fn a_lost_pool_has_what_replaced_a_key() {
    let folder = tempfile::tempdir().unwrap();
    let (mut server, mut client) = server(folder.path());
    for line in ["EN.SET a f v", "SET x old", "HSET y f old", "EN.SET z f old", "BGREWRITEAOF"] {
        assert!(!client.call(line).is_error(), "{line}");
    }
    assert!(server.saved());
    run(&mut client, "COPY a y REPLACE;COPY a z REPLACE;RENAME a x", "", b"");
    let before = client.call("DEBUG DIGEST").text();
    server.lose_pool();
    server.again();
    assert_eq!(server.client().call("DEBUG DIGEST").text(), before);
}
