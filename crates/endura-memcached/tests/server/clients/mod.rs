//! What the clients of several languages say, and what memcached answered: each dialogue was recorded once, by `record.py`,
//! which says how. Here it is said again, to this server and to Debian's memcached, and the answers must be the same bytes.

use std::collections::HashMap;
use std::io::Read;
use std::net::SocketAddr;

use crate::beside::{Memcached, start};
use crate::support::Client;

/// The dialogues, by the name of the client.
const DIALOGUES: [(&str, &str); 5] = [
    ("dalli", include_str!("dalli.txt")),
    ("meta-memcache", include_str!("meta-memcache.txt")),
    ("pylibmc", include_str!("pylibmc.txt")),
    ("pymemcache", include_str!("pymemcache.txt")),
    ("python-memcached", include_str!("python-memcached.txt")),
];

/// The bytes of a line of a dialogue.
fn unescaped(text: &str) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::new(), text.bytes());
    while let Some(byte) = rest.next() {
        let special = if byte == b'\\' { rest.next() } else { None };
        bytes.push(match special {
            None => byte,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'\\') => b'\\',
            Some(b'x') => {
                let digits = [rest.next().unwrap(), rest.next().unwrap()];
                u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap()
            }
            Some(other) => panic!("\\{} in {text:?}", other as char),
        });
    }
    bytes
}

/// The numbers of stores, which each server gives by itself, by their names in the dialogue.
#[derive(Default)]
struct Numbers(HashMap<String, Vec<u8>>);

impl Numbers {
    /// What the client says, with the numbers that the server has given.
    fn fill(&self, said: &[u8]) -> Vec<u8> {
        let Some((before, name, after)) = split(said) else { return said.to_vec() };
        let number = self.0.get(name).map_or(&b"1"[..], Vec::as_slice);
        [before, number, &self.fill(after)].concat()
    }

    /// Whether a line of an answer is that of the dialogue. Notes the numbers of stores. Seconds that are left may be two
    /// less.
    fn take(&mut self, expected: &[u8], found: &[u8]) -> bool {
        let Some((before, name, after)) = split(expected) else {
            return expected == found || are_alike(expected, found);
        };
        let Some(rest) = found.strip_prefix(before) else { return false };
        if name == "*" {
            return rest.ends_with(after);
        }
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let number = self.0.entry(name.to_owned()).or_insert_with(|| rest[..digits].to_vec());
        *number == rest[..digits] && digits > 0 && self.take(after, &rest[digits..])
    }
}

/// The parts of a text before, in and after the first braces.
fn split(text: &[u8]) -> Option<(&[u8], &str, &[u8])> {
    let from = text.iter().position(|&byte| byte == b'{')?;
    let to = from + text[from..].iter().position(|&byte| byte == b'}')?;
    let name = std::str::from_utf8(&text[from + 1..to]).ok()?;
    let is_name = name == "*" || !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
    is_name.then_some((&text[..from], name, &text[to + 1..]))
}

fn are_alike(expected: &[u8], found: &[u8]) -> bool {
    let [expected, found] = [expected, found].map(|line| line.split(|&byte| byte == b' '));
    let seconds = |word: &[u8]| -> Option<i64> {
        let text = std::str::from_utf8(word.strip_prefix(b"t")?).ok()?;
        text.trim_end().parse().ok()
    };
    expected.clone().count() == found.clone().count()
        && expected.zip(found).all(|(expected, found)| {
            let both = seconds(expected).zip(seconds(found));
            expected == found || both.is_some_and(|(old, new)| (old - 2..=old).contains(&new))
        })
}

fn replay(name: &str, dialogue: &str, address: SocketAddr) {
    let (mut client, mut numbers) = (Client::connect(address).unwrap(), Numbers::default());
    for (number, line) in (1..).zip(dialogue.lines()) {
        let (mark, text) = line.split_at(line.len().min(2));
        match mark {
            "." => client = Client::connect(address).unwrap(),
            "> " => client.say(numbers.fill(&unescaped(text))).unwrap(),
            "< " => {
                let expected = unescaped(text);
                let mut found = Vec::new();
                while !found.ends_with(b"\n") {
                    let mut byte = [0];
                    let read = client.0.read_exact(&mut byte);
                    read.unwrap_or_else(|error| panic!("{name}, line {number}: {error}"));
                    found.push(byte[0]);
                }
                let is_same = numbers.take(&expected, &found);
                assert!(is_same, "{name}, line {number}: {line}: {}", found.escape_ascii());
            }
            _ => panic!("{name}, line {number}: {line:?}"),
        }
    }
    // Nothing follows.
    let _ = client.say("mn\r\n");
    let rest = client.line().unwrap_or_default();
    assert!(rest.is_empty() || rest == "MN", "{name}: {rest:?} after the last answer");
}

#[test]
fn clients_get_the_answers_that_memcached_gave() {
    let folder = tempfile::tempdir().unwrap();
    for (name, dialogue) in DIALOGUES {
        let server = start(&folder.path().join(name));
        replay(name, dialogue, server.address);
        server.terminate();
        if let Some(memcached) = Memcached::start() {
            replay(name, dialogue, memcached.address);
        }
    }
}

/// The binary protocol is refused by the end of the connection, so that the client reports an error at once.
#[test]
fn a_client_of_the_binary_protocol_is_turned_away() {
    let said: Vec<u8> = include_str!("bmemcached.txt")
        .lines()
        .filter_map(|line| line.strip_prefix("> "))
        .flat_map(unescaped)
        .collect();
    assert_eq!(said[0], 0x80);
    let folder = tempfile::tempdir().unwrap();
    let server = start(&folder.path().join("pool"));
    let mut client = server.connect();
    client.say(&said).unwrap();
    assert_eq!(client.rest().unwrap(), b"");
    server.terminate();
}
