//! Random commands in random packets.

use std::io::Read;
use std::net::SocketAddr;

use super::answers::{are_equal, comparable, without_last_use};
use super::{Memcached, shown, start};
use crate::support::{Client, from_environment};

/// How many packets each server gets.
fn packets() -> u64 {
    from_environment("ENDURA_PACKETS", 100_000)
}

const FLAGS: &[&str] = &["0", "0", "5", "4294967295", "-1", "x", "1x", "+3"];
/// No time comes while the test runs.
const TIMES: &[&str] = &["0", "0", "0", "-1", "100000", "3000000", "2100000000", "x", "1x"];
// Numbers from 2^63 on are left to the dialogues: memcached looks for a minus sign behind the end of such a number, and
// takes it for none if the memory there has one.
const DELTAS: &[&str] = &["1", "2", "10", "4294967295", "18446744073709551616", "-1", "x"];
const NUMBERS: &[&str] = &["0", "1", "99", "4294967295", "x", "", " 7", "12 ", "00"];
const STORES: &[&str] = &["set", "set", "add", "replace", "append", "prepend"];
/// No `flush_all 1000`: with memcached it brings back what an earlier `flush_all` has killed.
const LINES: &[&str] = &[
    "",
    " ",
    "end",
    "get",
    "gat 1",
    "set s1",
    "flush_all",
    "flush_all 0",
    "flush_all x",
    "verbosity 1",
    "delete s1 0",
    "delete s1 1",
    "delete",
    "incr n1",
    "touch s1",
    "cas s1 0 0 1",
    "mn",
    "mg",
    "md",
    "ma s1 Mx",
    "ms s1",
    "ms s1 x",
    "mx",
    "me s1",
    "me n1",
    "slabs automove 1",
    // memcached drops the replies that it has not sent. One `mn` is not data of a command before.
    "mn\r\nmn\r\nmn\r\nmn\r\nmn\r\nmn\r\nPOST / HTTP/1.1",
    "quit",
];
/// Keys as a client writes them, and whether in base64. Those in base64 have any bytes but those that no line can have.
const KEYS: &[(&str, &str)] =
    &[("s0", ""), ("s1", ""), ("s2", ""), ("czA=", " b"), ("AQL/gA==", " b"), ("c\x013", "")];

fn pick<'t>(rng: &mut fastrand::Rng, of: &[&'t str]) -> &'t str {
    of[rng.usize(..of.len())]
}

/// A random command, mostly a good one.
fn command(rng: &mut fastrand::Rng, said: &mut Vec<u8>) {
    let text = match rng.u8(..24) {
        0..10 => return classic(rng, said),
        10..15 => mg(rng),
        15..18 => return ms(rng, said),
        18..20 => md(rng),
        20..23 => ma(rng),
        _ => pick(rng, LINES).to_owned(),
    };
    said.extend_from_slice(text.as_bytes());
    said.extend_from_slice(b"\r\n");
}

/// The key of a command that shows the item. memcached holds an item until its reply is sent. An `incr` until then makes
/// another item in its place, which has lost its marks, so an `mn` has the reply sent.
const RELEASE: &str = "\r\nmn";

fn classic(rng: &mut fastrand::Rng, said: &mut Vec<u8>) {
    let tail = match rng.u8(..10) {
        0..2 => " noreply",
        2 => " other",
        _ => "",
    };
    let string = format!("s{}", rng.u8(..4));
    let number = format!("n{}", rng.u8(..3));
    let either = if rng.bool() { &string } else { &number };
    let line = match rng.u8(..11) {
        0..2 => format!("get {string} {number} s9{RELEASE}"),
        2 => format!("gets {either}{RELEASE}"),
        3 => format!("{} {} {either}{RELEASE}", pick(rng, &["gat", "gats"]), pick(rng, TIMES)),
        4 => format!("touch {either} {}{tail}", pick(rng, TIMES)),
        5 => format!("delete {either}{tail}"),
        6 => format!("{} {number} {}{tail}", pick(rng, &["incr", "decr"]), pick(rng, DELTAS)),
        7 => {
            let data = pick(rng, NUMBERS);
            format!("set {number} 0 0 {}{tail}\r\n{data}", data.len())
        }
        _ => {
            let (data, announced) = data(rng);
            let (how, flags, time) = (pick(rng, STORES), pick(rng, FLAGS), pick(rng, TIMES));
            let cas = if rng.u8(..8) == 0 { " 1" } else { "" };
            let how = if cas.is_empty() { how } else { "cas" };
            let head = format!("{how} {string} {flags} {time} {announced}{cas}{tail}\r\n");
            said.extend_from_slice(head.as_bytes());
            said.extend_from_slice(&data);
            String::new()
        }
    };
    said.extend_from_slice(line.as_bytes());
    said.extend_from_slice(b"\r\n");
}

/// Data, and its length as it is announced, which is rarely wrong.
fn data(rng: &mut fastrand::Rng) -> (Vec<u8>, usize) {
    let data: Vec<u8> = (0..rng.usize(..12)).map(|_| b"ab \r\n\0"[rng.usize(..6)]).collect();
    let announced = if rng.u8(..10) == 0 { rng.usize(..14) } else { data.len() };
    (data, announced)
}

/// A key and the flag that it needs, if any.
fn key(rng: &mut fastrand::Rng) -> (&'static str, &'static str) {
    KEYS[rng.usize(..KEYS.len())]
}

/// Some of these flags in a random order. Rarely one is there twice, or has a wrong argument.
fn flags(rng: &mut fastrand::Rng, of: &[&str]) -> String {
    let mut chosen: Vec<String> = Vec::new();
    for flag in of {
        if rng.u8(..4) == 0 {
            let argument = match flag.as_bytes()[0] {
                b'T' | b'N' => pick(rng, TIMES),
                b'R' => pick(rng, &["50000", "500000", "-1", "0", "x"]),
                b'F' => pick(rng, FLAGS),
                b'C' => pick(rng, &["0", "1", "x"]),
                b'D' => pick(rng, DELTAS),
                b'J' => pick(rng, &["0", "7", "13", "x"]),
                b'O' => pick(
                    rng,
                    &[
                        "",
                        "1",
                        "abc",
                        "1234567890123456789012345678901",
                        "12345678901234567890123456789012",
                    ],
                ),
                _ => &flag[1..],
            };
            chosen.push(format!(" {}{argument}", &flag[..1]));
        }
    }
    if rng.u8(..30) == 0 && !chosen.is_empty() {
        chosen.push(chosen[0].clone());
    }
    if rng.u8(..40) == 0 {
        chosen.push(pick(rng, &[" Q", " x", " \x7f", " MM"]).to_owned());
    }
    rng.shuffle(&mut chosen);
    chosen.concat()
}

fn mg(rng: &mut fastrand::Rng) -> String {
    if rng.u8(..3) == 0 {
        let flags = flags(rng, &["v", "s", "t", "c", "f", "k", "h", "u", "q", "O"]);
        return format!("mg n{}{flags}{RELEASE}", rng.u8(..3));
    }
    let (key, base64) = key(rng);
    let flags =
        flags(rng, &["v", "s", "t", "c", "f", "k", "h", "u", "q", "O", "N", "R", "T", "I", "F"]);
    format!("mg {key}{flags}{base64}")
}

fn ms(rng: &mut fastrand::Rng, said: &mut Vec<u8>) {
    let ((key, base64), (data, announced)) = (key(rng), data(rng));
    let mode = pick(rng, &["", "", "", " ME", " MA", " MP", " MR", " MS", " Mx"]);
    let flags = flags(rng, &["k", "c", "q", "O", "T", "F", "C", "I", "v"]);
    let head = format!("ms {key} {announced}{mode}{flags}{base64}\r\n");
    said.extend_from_slice(head.as_bytes());
    said.extend_from_slice(&data);
    said.extend_from_slice(b"\r\n");
}

fn md(rng: &mut fastrand::Rng) -> String {
    let (key, base64) = if rng.bool() { key(rng) } else { ("n1", "") };
    let invalid = pick(rng, &["", " I", " I"]);
    let flags = flags(rng, &["k", "q", "O", "T", "C", "v"]);
    format!("md {key}{invalid}{flags}{base64}")
}

/// No `T` beside a number that may become longer: memcached gives the time to the item that goes.
fn ma(rng: &mut fastrand::Rng) -> String {
    let number = format!("n{}", rng.u8(..3));
    if rng.u8(..4) == 0 {
        let flags = flags(rng, &["v", "t", "c", "k", "q", "O", "D", "T"]);
        return format!("ma {number} {}{flags}", pick(rng, &["MD", "M-"]));
    }
    let mode = pick(rng, &["", "", " MI", " M+", " MD", " M-", " Mx"]);
    let flags = flags(rng, &["v", "t", "c", "k", "q", "O", "D", "N", "J", "C"]);
    format!("ma {number}{mode}{flags}")
}

/// A client that stays, until the server ends the connection.
struct Stays {
    address: SocketAddr,
    client: Client,
}

impl Stays {
    fn new(address: SocketAddr) -> Self {
        Self { address, client: Client::connect(address).unwrap() }
    }

    /// The answer up to the reply that ends with these bytes.
    fn ask(&mut self, pieces: &[&[u8]], end: &[u8]) -> Vec<u8> {
        for piece in pieces {
            // The server may have ended the connection.
            let _ = self.client.say(piece);
        }
        let (mut answer, mut buffer) = (Vec::new(), [0; 4096]);
        while !answer.ends_with(end) {
            // After a reset, replies may be lost. memcached and this server read all that is there before they close.
            match self.client.0.get_mut().read(&mut buffer) {
                Ok(0) | Err(_) => {
                    answer.extend_from_slice(b"(closed)\n");
                    self.client = Client::connect(self.address).unwrap();
                    break;
                }
                Ok(bytes) => answer.extend_from_slice(&buffer[..bytes]),
            }
        }
        answer
    }
}

#[test]
fn random_packets_are_answered_as_by_memcached() {
    let Some(memcached) = Memcached::start_alone() else { return };
    let folder = tempfile::tempdir().unwrap();
    let server = start(&folder.path().join("pool"));
    let seed = from_environment("ENDURA_SEED", fastrand::u64(..));
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut both = [memcached.address, server.address].map(Stays::new);
    // No other item has the number of the first store, which the packets ask for: memcached counts from 1.
    let first = b"set first 0 0 1\r\n1\r\n";
    for client in &mut both {
        client.ask(&[first], b"STORED\r\n");
    }
    for number in 0..packets() {
        let mut said = Vec::new();
        for _ in 0..rng.usize(1..8) {
            command(&mut rng, &mut said);
        }
        // It completes every data block.
        said.extend_from_slice(&b"end\r\n".repeat(6));
        let end = format!("mg none O{number}\r\n");
        said.extend_from_slice(end.as_bytes());
        let (first, second) = said.split_at(rng.usize(..said.len()));
        let reply = format!("EN O{number}\r\n");
        let [theirs, ours] = both.each_mut().map(|client| {
            without_last_use(comparable(&client.ask(&[first, second], reply.as_bytes())))
        });
        assert!(
            are_equal(&theirs, &ours),
            "seed {seed}, packet {number}: {}\n  memcached {theirs:?}\n  endura    {ours:?}",
            shown(&said)
        );
    }
    server.terminate();
}
