//! A command whose arguments are wrong changes nothing: all of them are checked before the first write.

use std::time::{Duration, Instant};

use super::keys::contents;
use super::support::{Client, Reply, Server};

/// One byte longer than a field can be.
const TOO_LONG: usize = 65_529;

/// Lines that fail, `LONG` being a field of that length. Keys: `ints` and `more`, of integers; `k`, of strings; `text`, a
/// string of Redis; no others.
const LINES: [&str; 34] = [
    "EN.SET ints 5 50 -3 30 007 1",
    "EN.SET ints 5 50 6 x",
    "EN.SET ints 8 1 007 2 NX",
    "EN.SET ints 1 8 007 2 XX",
    "EN.SET ints 20 1 21 2 NX XX",
    "EN.SET ints 20 1 21 2 GET 3",
    "EN.SET ints 20 1 21",
    "EN.SET ints 20 1 21 2 GET",
    "EN.SET ints 20 x NX GET",
    "EN.SET more 5 50 9223372036854775808 1",
    "EN.DEL ints 1 007",
    "EN.DEL ints 1 2 x",
    "EN.DEL k a LONG",
    "EN.SET k a 9 LONG v",
    "EN.SET k a 9 LONG v XX",
    "EN.SET k new 9 LONG v NX",
    "EN.SET k a 9 b",
    "EN.SET none a 9 LONG v",
    "EN.SET none LONG v GET",
    "EN.SET none a 9 b",
    "EN.SET text a 9",
    "EN.INCRBY ints 007 1",
    "EN.INCRBY ints 1 x",
    "EN.INCRBY k LONG 1",
    "EN.INCRBY none LONG 1",
    "EN.INCRBY none a 1x",
    "EN.CAS ints 1 1 x",
    "EN.CAS ints 1 other x",
    "EN.CAS ints x 1 2",
    "EN.CAS k LONG a b",
    "EN.POP k MIN -1",
    "EN.POP k MIN 1 2",
    "EN.CREATE none KIND other",
    "EN.CREATE k KIND nbtree",
];

fn ask(client: &mut Client, line: &str, long: &[u8]) -> Reply {
    let words: Vec<&[u8]> =
        line.split(' ').map(|word| if word == "LONG" { long } else { word.as_bytes() }).collect();
    client.ask(&words).unwrap()
}

#[test]
fn a_command_that_is_refused_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path(), &[]);
    let mut client = server.client();
    for line in [
        "EN.CREATE ints KIND nbtree",
        "EN.SET ints 1 1 2 2",
        "EN.CREATE more KIND fastfair",
        "EN.SET k a 1 b 2",
        "SET text x",
    ] {
        assert!(!client.call(line).is_error(), "{line}");
    }
    let (before, long) = (contents(&mut client), vec![b'x'; TOO_LONG]);
    for line in LINES {
        let answer = ask(&mut client, line, &long);
        assert!(answer.is_error(), "{line}: {answer:?}");
        assert_eq!(contents(&mut client), before, "{line}: {answer:?}");
        // The same in a transaction, whose other commands are carried out.
        client.call("MULTI");
        ask(&mut client, line, &long);
        client.call("EXEC");
        assert_eq!(contents(&mut client), before, "{line}, in MULTI");
    }
    assert_eq!(client.call("DBSIZE"), Reply::Integer(4));
    let answer = ask(&mut client, "EN.SET k LONG v", &long).text();
    assert_eq!(
        answer,
        "ERR endura: a field of 65529 bytes is longer than the 65528 that a key takes"
    );
    let script = b"redis.pcall('EN.SET',KEYS[1],'5','50','007','1')";
    client.ask(&[b"EVAL", script, b"1", b"ints"]).unwrap();
    assert_eq!(contents(&mut client), before);
    // The longest field that can be.
    assert_eq!(ask(&mut client, "EN.SET k LONG v", &long[1..]), Reply::Integer(1));
    assert_eq!(ask(&mut client, "EN.DEL k LONG", &long[1..]), Reply::Integer(1));
    server.kill_and_start();
    assert_eq!(contents(&mut server.client()), before);
}

/// There is not room for all fields of a new key: then it has none, and what it was given is swept.
#[test]
fn a_new_key_without_room_is_not_made() {
    let folder = tempfile::tempdir().unwrap();
    let module = ["data.endura", "max-size", "67108864"];
    let mut server = Server::start_with(folder.path(), 0, &module, &[]);
    let mut client = server.client();
    let value = vec![b'v'; 1 << 20];
    let fields: Vec<String> = (0..100).map(|number| format!("f{number}")).collect();
    let mut words: Vec<&[u8]> = vec![b"EN.SET", b"new"];
    fields.iter().for_each(|field| words.extend([field.as_bytes(), &value]));
    let answer = client.ask(&words).unwrap().text();
    assert!(answer.starts_with("OOM "), "{answer}");
    assert_eq!(client.call("EXISTS new"), Reply::Integer(0));
    let begin = Instant::now();
    // As soon as the thread that sweeps has come to it, there is room for fewer.
    while client.ask(&words[..42]).unwrap() != Reply::Integer(20) {
        assert!(begin.elapsed() < Duration::from_secs(30), "nothing was swept");
        std::thread::sleep(Duration::from_millis(10));
    }
    server.kill_and_start();
    assert_eq!(server.client().call("EN.COUNT new"), Reply::Integer(20));
}
