//! Random bytes in random packets.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{Client, Running, contents, fuzz_seconds};

const PIECES: &[&[u8]] = &[
    b"get ",
    b"gets ",
    b"gat ",
    b"gats ",
    b"set ",
    b"add ",
    b"replace ",
    b"append ",
    b"prepend ",
    b"cas ",
    b"incr ",
    b"decr ",
    b"touch ",
    b"delete ",
    b"flush_all ",
    b"stats ",
    b"stats",
    b"verbosity ",
    b"version",
    b"quit",
    b"mg ",
    b"ms a 2\r\n",
    b"HTTP/1.1\r\n",
    b"a ",
    b"b ",
    b"c ",
    b"a",
    b"0 ",
    b"0 ",
    b"0 ",
    b"1 ",
    b"2 ",
    b"3",
    b"-1 ",
    b"1000 ",
    b"4294967296 ",
    b"mg ",
    b"ms ",
    b"md ",
    b"ma ",
    b"me ",
    b"mn\r\n",
    b"v ",
    b"k ",
    b"b ",
    b"q ",
    b"I ",
    b"Oabc ",
    b"N30 ",
    b"T0 ",
    b"MA ",
    b"C1 ",
    b"AAEC/v8= b ",
    b"lru ",
    b"slabs ",
    b"reassign ",
    b"18446744073709551616 ",
    b"99999999999999999999999999999999999999999 ",
    b"noreply",
    b" ",
    b"\r\n",
    b"\r\n",
    b"\r\n",
    b"\n",
    b"\r",
    b"\0",
    b"\x80",
    b"\xff\xfe",
    b"x\r\n",
    b"xx\r\n",
    b"xxx\r\n",
];

/// What a client might say who knows the protocol, hates it, or speaks another.
fn strange(rng: &mut fastrand::Rng) -> Vec<u8> {
    let mut said = Vec::new();
    for _ in 0..rng.usize(..60) {
        match rng.u8(..40) {
            0 => said.extend((0..rng.usize(..100)).map(|_| rng.u8(..))),
            1 => said.extend(std::iter::repeat_n(rng.u8(..), rng.usize(..5_000))),
            2 => {
                let (bytes, extra) = (rng.usize(..15_000), rng.usize(..3));
                said.extend_from_slice(format!("set {} 0 0 {bytes}\r\n", rng.u8(..)).as_bytes());
                said.extend(std::iter::repeat_n(b'v', bytes + extra));
                said.extend_from_slice(b"\r\n");
            }
            3 => {
                said.extend_from_slice(b"get");
                said.extend((0..rng.usize(..300)).flat_map(|i| format!(" {i}").into_bytes()));
                said.extend_from_slice(b"\r\n");
            }
            4 => said.extend_from_slice(b"set a 0 0 1\r\n1\r\nincr a 1\r\nget a\r\n"),
            _ => said.extend_from_slice(PIECES[rng.usize(..PIECES.len())]),
        }
    }
    said
}

/// Says all of it in packets of any size; returns the answer, or none if an end of the connection has cut it.
fn converse(server: &Running, rng: &mut fastrand::Rng, said: &[u8]) -> Option<Vec<u8>> {
    let mut client: Client = server.connect();
    let (largest, hangs_up) = (1 << rng.u32(..14), rng.u8(..8) == 0);
    let (mut rest, mut is_ended) = (said, false);
    while !rest.is_empty() {
        let (packet, later) = rest.split_at(rng.usize(1..=largest).min(rest.len()));
        // The server may end the connection at any time. Whoever is told so is told once: what is read behind that looks
        // like a whole answer.
        is_ended = client.say(packet).is_err();
        if is_ended {
            break;
        }
        rest = later;
        match rng.u8(..40) {
            0 => thread::sleep(Duration::from_micros(rng.u64(..500))),
            1 if hangs_up => return None,
            _ => {}
        }
    }
    let answer = client.rest_or_reset();
    let (answer, is_cut) = answer.unwrap_or_else(|| panic!("no end of {}", said.escape_ascii()));
    (!is_cut && !is_ended).then_some(answer)
}

/// Every line of an answer is one of the protocol's; data is as long as its line says.
fn is_well_formed(mut answer: &[u8]) -> bool {
    const STARTS: &[&str] = &[
        "END",
        "ERROR",
        "CLIENT_ERROR ",
        "SERVER_ERROR ",
        "STORED",
        "NOT_STORED",
        "EXISTS",
        "NOT_FOUND",
        "DELETED",
        "TOUCHED",
        "OK",
        "RESET",
        "STAT ",
        "VERSION ",
        "HD",
        "EN",
        "NS",
        "EX",
        "NF",
        "MN",
        "ME ",
        "SAME ",
        "BADCLASS ",
        "NOSPARE ",
        "MEMLIMIT_",
    ];
    while !answer.is_empty() {
        let Some(end) = answer.windows(2).position(|two| two == b"\r\n") else { return false };
        let (line, rest) = (&answer[..end], &answer[end + 2..]);
        answer = rest;
        if let Some(words) = line.strip_prefix(b"VALUE ") {
            let mut words = words.rsplit(|&byte| byte == b' ').take(2).map(|word| {
                std::str::from_utf8(word).ok().and_then(|word| word.parse::<usize>().ok())
            });
            // With a number of the store the length is the word before it.
            let lengths = [words.next().flatten(), words.next().flatten()];
            let data = lengths
                .into_iter()
                .flatten()
                .find(|&length| answer.get(length..).is_some_and(|rest| rest.starts_with(b"\r\n")));
            let Some(data) = data else { return false };
            answer = &answer[data + 2..];
        } else if let Some(words) = line.strip_prefix(b"VA ") {
            let length = words.split(|&byte| byte == b' ').next().unwrap_or_default();
            let length = std::str::from_utf8(length).ok().and_then(|word| word.parse().ok());
            let rest = length.and_then(|length: usize| answer.get(length..));
            let Some(rest) = rest.and_then(|rest| rest.strip_prefix(b"\r\n")) else { return false };
            answer = rest;
        } else {
            let is_number = !line.is_empty() && line.iter().all(u8::is_ascii_digit);
            if !is_number && !STARTS.iter().any(|start| line.starts_with(start.as_bytes())) {
                return false;
            }
        }
    }
    true
}

#[test]
fn no_line_is_too_strange() {
    let folder = tempfile::tempdir().unwrap();
    let pool = folder.path().join("pool");
    let options = ["--memory", "8M", "--max-item-size", "10000", "--threads", "2"];
    let mut server = Running::start(&pool, &options);
    let (seed, until) = (fastrand::u64(..), Instant::now() + fuzz_seconds());
    let count = AtomicU64::new(0);
    thread::scope(|scope| {
        for thread in 0..3 {
            let (server, count) = (&server, &count);
            scope.spawn(move || {
                let mut rng = fastrand::Rng::with_seed(seed ^ thread);
                while Instant::now() < until {
                    let said = strange(&mut rng);
                    let answer = converse(server, &mut rng, &said).unwrap_or_default();
                    let text = || format!("{}: {}", said.escape_ascii(), answer.escape_ascii());
                    assert!(is_well_formed(&answer), "seed {seed}: {}", text());
                    count.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert!(server.connect().ask("version\r\n").unwrap().starts_with("VERSION"));
    assert!(server.child.try_wait().unwrap().is_none(), "seed {seed}");
    let kib = server.status("RssAnon");
    assert!(kib < 60_000, "seed {seed}: {kib} KiB");
    server.kill();
    contents(&pool);
    assert!(count.into_inner() > 20, "a few dialogues are not enough");
}

#[test]
fn a_malformed_answer_is_noticed() {
    for good in
        ["", "END\r\n", "VALUE a 0 1\r\nx\r\nEND\r\n", "VALUE a 0 1 77\r\nx\r\nEND\r\n12\r\n"]
    {
        assert!(is_well_formed(good.as_bytes()), "{good}");
    }
    for bad in ["END", "\r\n", "VALUE a 0 2\r\nx\r\nEND\r\n", "VALU", "1x\r\n", "END\r\nx\r\n"] {
        assert!(!is_well_formed(bad.as_bytes()), "{bad}");
    }
}
