//! Ranges and counts on worker threads while their key is removed: they have all entries of the key.

use std::time::{Duration, Instant};

use super::support::{Client, Reply, Server};

const ENTRIES: usize = 20_000;
/// More than there are threads: the last of them are begun behind the removal.
const CLIENTS: usize = 5;

/// What removes the entries of `k`. `more` is another map, `text` a string, `DUMP` what RESTORE is given.
const REMOVALS: [&str; 13] = [
    "DEL k",
    "UNLINK k",
    "RENAME more k",
    "RENAME text k",
    "COPY more k REPLACE",
    "COPY text k REPLACE",
    "RESTORE k 0 DUMP REPLACE",
    "SET k x",
    "PEXPIREAT k 1",
    "FLUSHDB",
    "FLUSHALL ASYNC",
    "SWAPDB 0 1;SELECT 1;FLUSHDB SYNC;SELECT 0",
    "MOVE k 1;SELECT 1;DEL k;SELECT 0",
];

fn ask(client: &mut Client, line: &str, dump: &[u8]) {
    for line in line.split(';') {
        let words: Vec<&[u8]> = line
            .split(' ')
            .map(|word| if word == "DUMP" { dump } else { word.as_bytes() })
            .collect();
        let answer = client.ask(&words).unwrap();
        assert!(!answer.is_error(), "{line}: {answer:?}");
    }
}

/// Fills `k`, of integers or of strings, which sort alike.
fn fill(client: &mut Client, is_own: bool) -> Vec<String> {
    let fields: Vec<String> = (0..ENTRIES).map(|number| (100_000 + number).to_string()).collect();
    if is_own {
        client.call("EN.CREATE k KIND nbtree");
    }
    for fields in fields.chunks(1_000) {
        let mut words: Vec<&[u8]> = vec![b"EN.SET", b"k"];
        fields.iter().for_each(|field| words.extend([field.as_bytes(), b"7"]));
        assert_eq!(client.ask(&words).unwrap(), Reply::Integer(1_000));
    }
    fields
}

/// Several clients send the command, and then another one what removes the key, while the server sleeps: it begins all
/// ranges and removes the key in one turn, in this order. Returns the answers.
fn beside(server: &Server, command: &str, removal: &str, dump: &[u8]) -> Vec<Reply> {
    let (mut sleeper, mut remover) = (server.client(), server.client());
    let mut readers: Vec<Client> = (0..CLIENTS).map(|_| server.client()).collect();
    let words: Vec<&[u8]> = command.split(' ').map(str::as_bytes).collect();
    remover.call("PING");
    readers.iter_mut().for_each(|reader| drop(reader.call("PING")));
    sleeper.send(&[b"DEBUG", b"SLEEP", b"0.05"]).unwrap();
    std::thread::sleep(Duration::from_millis(10));
    readers.iter_mut().for_each(|reader| reader.send(&words).unwrap());
    ask(&mut remover, removal, dump);
    readers.iter_mut().map(|reader| reader.receive().unwrap()).collect()
}

fn is_swept(client: &mut Client) {
    let begin = Instant::now();
    while !client.call("INFO endura").text().contains("endura_keys_to_sweep:0") {
        assert!(begin.elapsed() < Duration::from_secs(30), "nothing is swept");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_range_is_whole_beside_the_removal_of_its_key() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let mut client = server.client();
    client.call("EN.SET more f v");
    let Reply::Bulk(dump) = client.call("DUMP more") else { panic!("no dump") };
    let commands = ["EN.RANGE k - + KEYS", "EN.RANGE k + - REV KEYS", "EN.PREFIX k 1 KEYS"];
    for (at, removal) in REMOVALS.iter().enumerate() {
        let is_own = at % 4 == 3;
        let command = commands[if is_own { at % 2 } else { at % 3 }];
        client.call("FLUSHALL");
        client.call("EN.SET more f v");
        client.call("SET text x");
        let mut fields = fill(&mut client, is_own);
        if command.contains("REV") {
            fields.reverse();
        }
        // Nothing else is in the way of the sweep.
        is_swept(&mut client);
        for answer in beside(&server, command, removal, &dump) {
            let found = answer.texts();
            assert!(found == fields, "{command} beside {removal}: {} entries", found.len());
        }
        // And then the entries go.
        is_swept(&mut client);
    }
    client.call("FLUSHALL");
    is_swept(&mut client);
    drop(client);
    let mut server = server;
    server.kill();
    let pool = endura::Pool::open(folder.path().join("data.endura")).unwrap();
    assert_eq!(pool.map::<[u8], [u8]>("redis:entries").unwrap().len().unwrap(), 0);
}

#[test]
fn a_count_is_right_beside_the_removal_of_its_key() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path(), &[]);
    for is_own in [false, true] {
        fill(&mut server.client(), is_own);
        // Which makes it unknown.
        server.kill_and_start();
        for answer in beside(&server, "EN.COUNT k", "DEL k", b"") {
            assert_eq!(answer, Reply::Integer(ENTRIES as i64));
        }
        is_swept(&mut server.client());
    }
}
