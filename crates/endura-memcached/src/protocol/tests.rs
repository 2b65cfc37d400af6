//! Dialogues, in one piece and in many.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Instant;

use endura::Pool;

use super::{Connection, Context, Facts, TURN};
use crate::store::{Counters, Store, StoreOptions};

const NOW: u32 = 1_000_000_000;

struct Bed {
    _folder: tempfile::TempDir,
    context: Context,
}

fn bed() -> Bed {
    let folder = tempfile::tempdir().unwrap();
    let options =
        StoreOptions { pool: Pool::options().max_size(64 << 20), max_item: 5_000, evicts: true };
    let store = Arc::new(Store::open(&folder.path().join("pool"), &options, NOW).unwrap());
    let counters = Arc::new(Counters::default());
    let facts = Arc::new(Facts {
        store,
        counters: vec![Arc::clone(&counters)],
        connections: AtomicUsize::new(1),
        max_connections: 10,
        threads: 1,
        since: Instant::now(),
    });
    Bed { _folder: folder, context: Context { facts, counters, now: NOW } }
}

/// The replies of a new connection to these pieces, and whether it ends.
fn talk<'p>(bed: &Bed, pieces: impl IntoIterator<Item = &'p [u8]>) -> (Vec<u8>, bool) {
    let (mut connection, mut answer) = (Connection::default(), Vec::new());
    for piece in pieces {
        connection.receive(piece);
        loop {
            connection.work(&bed.context, &mut TURN.clone());
            let output = connection.output();
            answer.extend_from_slice(output);
            let sent = output.len();
            connection.has_sent(sent);
            if !connection.has_work() {
                break;
            }
        }
    }
    (answer, connection.ends())
}

fn says(bed: &Bed, said: &str, answer: &str) {
    let (found, _) = talk(bed, [said.as_bytes()]);
    assert_eq!(without_numbers(&found), answer, "to {said:?}");
}

/// An answer with `cas=C` in place of the number of a store.
fn without_numbers(answer: &[u8]) -> String {
    let text = String::from_utf8_lossy(answer);
    let Some((before, after)) = text.split_once("cas=") else { return text.into_owned() };
    let rest = after.trim_start_matches(|letter: char| letter.is_ascii_digit());
    format!("{before}cas=C{rest}")
}

const DIALOGUE: &[(&str, &str)] = &[
    ("get a\r\n", "END\r\n"),
    // From here on the server notes which items were fetched.
    ("mg a h\r\n", "EN\r\n"),
    ("set a 7 0 3\r\nabc\r\n", "STORED\r\n"),
    ("get a\r\n", "VALUE a 7 3\r\nabc\r\nEND\r\n"),
    ("get b a  a\n", "VALUE a 7 3\r\nabc\r\nVALUE a 7 3\r\nabc\r\nEND\r\n"),
    ("add a 0 0 1\r\nx\r\nreplace b 0 0 1\r\nx\r\n", "NOT_STORED\r\nNOT_STORED\r\n"),
    ("append a 0 0 1\r\nd\r\nprepend a 0 0 1\r\n_\r\n", "STORED\r\nSTORED\r\n"),
    ("get a\r\n", "VALUE a 7 5\r\n_abcd\r\nEND\r\n"),
    ("set e 0 0 0\r\n\r\nget e\r\n", "STORED\r\nVALUE e 0 0\r\n\r\nEND\r\n"),
    ("set n 0 0 2\r\n99\r\nincr n 1\r\ndecr n 200\r\n", "STORED\r\n100\r\n0\r\n"),
    ("incr a 1\r\n", "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n"),
    ("incr n x\r\n", "CLIENT_ERROR invalid numeric delta argument\r\n"),
    ("incr zz 1\r\ndecr zz 1\r\n", "NOT_FOUND\r\nNOT_FOUND\r\n"),
    ("set q 0 0 1 noreply\r\nq\r\nget q\r\n", "VALUE q 0 1\r\nq\r\nEND\r\n"),
    ("delete q noreply\r\ndelete q\r\ndelete a 0\r\n", "NOT_FOUND\r\nDELETED\r\n"),
    (
        "touch n 100\r\ntouch zz 1\r\ntouch n x\r\n",
        "TOUCHED\r\nNOT_FOUND\r\nCLIENT_ERROR invalid exptime argument\r\n",
    ),
    ("gat 50 n zz\r\n", "VALUE n 0 3\r\n0  \r\nEND\r\n"),
    ("set x 0 -1 1\r\nx\r\nget x\r\n", "STORED\r\nEND\r\n"),
    // Wrong lines.
    ("\r\nfoo\r\nget\r\nset a\r\nGET a\r\n", "ERROR\r\nERROR\r\nERROR\r\nERROR\r\nERROR\r\n"),
    ("set a x 0 1\r\n", "CLIENT_ERROR bad command line format\r\n"),
    ("set a 0 0 -1\r\n", "CLIENT_ERROR bad command line format\r\n"),
    ("set a 0 0 2147483646\r\n", "CLIENT_ERROR bad command line format\r\n"),
    ("set w x 0 1 noreply\r\nset w 0 0 1 other\r\nx\r\n", "STORED\r\n"),
    ("get a\0b\r\nstats x\r\n", "CLIENT_ERROR bad command line format\r\nERROR\r\n"),
    ("set a 0 0 3\r\nabcde\r\n", "CLIENT_ERROR bad data chunk\r\nERROR\r\n"),
    ("delete a b\r\n", "CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]\r\n"),
    ("cas a 0 0 1\r\n", "ERROR\r\n"),
    ("cas a 0 0 1 5\r\nx\r\n", "NOT_FOUND\r\n"),
    ("verbosity 1\r\nverbosity\r\n", "OK\r\nERROR\r\n"),
    ("flush_all x\r\n", "CLIENT_ERROR invalid exptime argument\r\n"),
    ("flush_all\r\nget n e\r\n", "OK\r\nEND\r\n"),
    // The meta protocol.
    ("mn\r\nmg m v k Ox\r\nmg m q\r\n", "MN\r\nEN km Ox\r\n"),
    ("ms m 2 F7 k Ox\r\nhi\r\nmg m v f t s k\r\n", "HD km Ox\r\nVA 2 f7 t-1 s2 km\r\nhi\r\n"),
    ("ms m 1 ME q\r\nx\r\nms m 1 MA q\r\n!\r\nmg m v\r\n", "NS\r\nVA 3\r\nhi!\r\n"),
    ("md m I q\r\nmg m\r\nmg m\r\nmd m k\r\nmd m q\r\n", "HD X W\r\nHD Z X\r\nHD km\r\nNF\r\n"),
    ("mg m N30 t\r\nmg m\r\nmd m q\r\n", "HD t30 W\r\nHD Z\r\n"),
    ("ma m N0 J9 v\r\nma m v\r\nma m MD D5 t k\r\n", "VA 1\r\n9\r\nVA 2\r\n10\r\nHD t-1 km\r\n"),
    ("ms AAo= 1 b k\r\nx\r\nmg AAo= b v k\r\n", "HD kAAo= b\r\nVA 1 kAAo= b\r\nx\r\n"),
    // A key that memcached would show with a line feed.
    (
        "mg IAo= b N30 k\r\nme IAo= b\r\n",
        "HD kIAo= b W\r\nME IAo= exp=-30 la=0 cas=C fetch=yes size=22\r\n",
    ),
    (
        "mg m\0x v\r\nme m\0\r\n",
        "CLIENT_ERROR bad command line format\r\nCLIENT_ERROR bad command line format\r\n",
    ),
    // The data of an `ms` that is refused is no command.
    (
        "ms m 9 Q\r\nflush_all\r\nms m\r\nmn\r\n",
        "CLIENT_ERROR invalid flag\r\nCLIENT_ERROR bad command line format\r\nMN\r\n",
    ),
    ("lru mode flat\r\nwatch\r\n", "OK\r\nCLIENT_ERROR watch commands not allowed\r\n"),
    (
        "set n 0 0 1\r\n1\r\nflush_all 10\r\nget n\r\n",
        "STORED\r\nOK\r\nVALUE n 0 1\r\n1\r\nEND\r\n",
    ),
];

#[test]
fn a_dialogue_is_answered_as_by_memcached() {
    let bed = bed();
    for (said, answer) in DIALOGUE {
        says(&bed, said, answer);
    }
}

/// The network may cut the bytes of a client at any place.
#[test]
fn pieces_make_no_difference() {
    let all: String = DIALOGUE.iter().map(|(said, _)| *said).collect();
    let whole: String = DIALOGUE.iter().map(|(_, answer)| *answer).collect();
    for length in [1, 2, 3, 7, 64] {
        let (answer, _) = talk(&bed(), all.as_bytes().chunks(length));
        assert_eq!(without_numbers(&answer), whole, "pieces of {length}");
    }
}

#[test]
fn numbers_of_stores_decide() {
    let bed = bed();
    says(&bed, "set a 0 0 1\r\nx\r\n", "STORED\r\n");
    let cas = || {
        let (found, _) = talk(&bed, [&b"gets a\r\n"[..]]);
        let text = String::from_utf8(found).unwrap();
        text.lines().next().unwrap().rsplit(' ').next().unwrap().parse::<u64>().unwrap()
    };
    let first = cas();
    says(&bed, &format!("cas a 0 0 1 {first}\r\ny\r\n"), "STORED\r\n");
    says(&bed, &format!("cas a 0 0 1 {first}\r\nz\r\n"), "EXISTS\r\n");
    assert!(cas() > first);
    says(&bed, "touch a 100\r\nget a\r\n", "TOUCHED\r\nVALUE a 0 1\r\ny\r\nEND\r\n");
}

#[test]
fn what_is_too_long_is_refused() {
    let bed = bed();
    let (key, long) = ("k".repeat(250), "k".repeat(251));
    says(&bed, &format!("set {key} 0 0 1\r\nx\r\n"), "STORED\r\n");
    let refused = "CLIENT_ERROR bad command line format\r\n";
    says(&bed, &format!("get {long}\r\n"), refused);
    says(&bed, &format!("delete {long}\r\n"), refused);
    // The item that the client wanted to replace is gone.
    let data = "x".repeat(5_001);
    says(
        &bed,
        &format!("set {key} 0 0 5001\r\n{data}\r\nget {key}\r\n"),
        "SERVER_ERROR object too large for cache\r\nEND\r\n",
    );
    let line = vec![b'x'; 3_000];
    let (answer, ends) = talk(&bed, [&line[..]]);
    assert!(ends && answer == b"CLIENT_ERROR line too long\r\n");
    let (answer, ends) = talk(&bed, [&b"quit\r\nget a\r\n"[..]]);
    assert!(ends && answer.is_empty());
}

/// Nothing after such a line is a command: a browser sends what a web page wants.
#[test]
fn what_is_of_another_protocol_ends_the_connection() {
    let bed = bed();
    says(&bed, "set a 0 0 1\r\nx\r\n", "STORED\r\n");
    for line in ["POST / HTTP/1.1", "GET /a b c d e f g h HTTP/1.0", "OPTIONS *  HTTP/2  "] {
        let said = format!("get b\r\n{line}\r\nHost: a\r\n\r\nflush_all\r\ndelete a\r\n");
        for pieces in [1, 1_000] {
            let (answer, ends) = talk(&bed, said.as_bytes().chunks(pieces));
            assert!(ends && answer == b"END\r\n", "{line}: {}", answer.escape_ascii());
        }
    }
    says(&bed, "get a HTTP/1.1\r\n", "VALUE a 0 1\r\nx\r\nEND\r\n");
}

/// A reply that is longer than the output may become is sent in pieces.
#[test]
fn a_get_of_many_keys_is_answered_as_it_is_read() {
    let bed = bed();
    let data = "d".repeat(4_900);
    says(&bed, &format!("set a 0 0 4900\r\n{data}\r\n"), "STORED\r\n");
    let mut connection = Connection::default();
    connection.receive(format!("get{}\r\nversion\r\n", " a".repeat(1_000)).as_bytes());
    let (mut answer, mut most) = (Vec::new(), 0);
    while connection.has_work() {
        connection.work(&bed.context, &mut TURN.clone());
        let output = connection.output();
        most = most.max(output.len());
        answer.extend_from_slice(output);
        let sent = output.len();
        connection.has_sent(sent);
    }
    assert!(most < 2 << 20, "{most}");
    let text = String::from_utf8(answer).unwrap();
    assert_eq!(text.matches("VALUE a 0 4900\r\n").count(), 1_000);
    let end = format!("END\r\nVERSION 1.6.18-endura-{}\r\n", env!("CARGO_PKG_VERSION"));
    assert!(text.ends_with(&end) && text.matches("END\r\n").count() == 1);
}

/// A client that reads, but never all, does not make the output grow.
#[test]
fn what_was_sent_is_not_kept() {
    let bed = bed();
    let data = "d".repeat(4_900);
    says(&bed, &format!("set a 0 0 4900\r\n{data}\r\n"), "STORED\r\n");
    let mut connection = Connection::default();
    connection.receive(b"get a\r\n");
    connection.work(&bed.context, &mut TURN.clone());
    for _ in 0..10_000 {
        connection.receive(b"get a\r\n");
        connection.work(&bed.context, &mut TURN.clone());
        connection.has_sent(connection.output().len() - 1);
    }
    assert!(connection.kept() < 1 << 20, "{} bytes", connection.kept());
}

/// The turn of a client ends after a number of keys, so that others have theirs. Input waits until the work is done.
#[test]
fn a_turn_ends() {
    let bed = bed();
    let mut connection = Connection::default();
    let line = format!("get{}\r\n", " missing".repeat(10));
    connection.receive(line.repeat(10).as_bytes());
    let mut turns = 0;
    while connection.has_work() {
        assert!(!connection.wants_input() && !connection.output().ends_with(b"x"));
        connection.work(&bed.context, &mut 7);
        turns += 1;
    }
    assert!(turns > 14, "{turns} turns for 100 keys");
    assert!(connection.wants_input());
    assert_eq!(connection.output(), "END\r\n".repeat(10).as_bytes());
}

/// A line that comes byte by byte is searched once.
#[test]
fn a_long_line_in_small_packets_takes_linear_time() {
    let bed = bed();
    let mut connection = Connection::default();
    let begun = Instant::now();
    connection.receive(b"get ");
    for _ in 0..1_000_000 {
        connection.receive(b"a");
        connection.work(&bed.context, &mut TURN.clone());
    }
    assert!(begun.elapsed().as_secs() < 10 && !connection.ends());
    connection.receive(&[b'a'; 100_000]);
    connection.work(&bed.context, &mut TURN.clone());
    assert!(connection.ends());
}

/// Any bytes, and those that are nearly commands.
#[test]
fn nonsense_is_answered_by_lines() {
    let bed = bed();
    let mut rng = fastrand::Rng::with_seed(7);
    let words: &[&[u8]] = &[
        b"get ",
        b"gets ",
        b"set ",
        b"cas ",
        b"incr ",
        b"gat ",
        b"touch ",
        b"flush_all ",
        b"mg ",
        b"ms ",
        b"md ",
        b"ma ",
        b"me ",
        b"v ",
        b"b ",
        b"N30 ",
        b"I ",
        b"MA ",
        b"a ",
        b"b ",
        b"0 ",
        b"1 ",
        b"-1 ",
        b"18446744073709551616 ",
        b"noreply",
        b"\r\n",
        b"\n",
        b"\r",
        b"\0",
        b"x",
    ];
    for _ in 0..5_000 {
        let mut said = Vec::new();
        for _ in 0..rng.usize(0..30) {
            match rng.u8(0..8) {
                0 => said.push(rng.u8(..)),
                _ => said.extend_from_slice(words[rng.usize(0..words.len())]),
            }
        }
        let (answer, _) = talk(&bed, said.chunks(rng.usize(1..20)));
        assert!(answer.is_empty() || answer.ends_with(b"\r\n"), "{said:?}: {answer:?}");
    }
}
