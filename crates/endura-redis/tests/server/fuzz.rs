//! Commands of any shape: errors in Redis' style, never a crash.

use std::time::{Duration, Instant};

use super::support::{Random, Reply, Server};

const NAMES: [&str; 34] = [
    "EN.SET",
    "EN.GET",
    "EN.MGET",
    "EN.DEL",
    "EN.INCRBY",
    "EN.CAS",
    "EN.RANGE",
    "EN.PREFIX",
    "EN.SCAN",
    "EN.POP",
    "EN.COUNT",
    "EN.CREATE",
    "EN.INFO",
    "EN.CHECKPOINT",
    "DEL",
    "UNLINK",
    "RENAME",
    "COPY",
    "MOVE",
    "EXPIRE",
    "PERSIST",
    "DUMP",
    "TYPE",
    "OBJECT",
    "MEMORY",
    "SET",
    "GET",
    "SWAPDB",
    "FLUSHDB",
    "MULTI",
    "EXEC",
    "DISCARD",
    "SELECT",
    "TOUCH",
];
const WORDS: [&str; 30] = [
    "",
    "-",
    "+",
    "[a",
    "(b",
    "[",
    "(",
    "0",
    "1",
    "-1",
    "9223372036854775807",
    "9223372036854775808",
    "1e5",
    "NX",
    "XX",
    "GET",
    "REV",
    "LIMIT",
    "KEYS",
    "VALUES",
    "COUNT",
    "MIN",
    "MAX",
    "KIND",
    "nbtree",
    "fastfair",
    "a",
    "b",
    "USAGE",
    "ENCODING",
];

fn word(random: &mut Random) -> Vec<u8> {
    match random.below(20) {
        0 => (0..random.below(300)).map(|_| random.next() as u8).collect(),
        1 => vec![random.next() as u8; random.below(140_000) as usize],
        2 | 3 => format!("k{}", random.below(4)).into_bytes(),
        4 | 5 => random.below(1_000).to_string().into_bytes(),
        _ => WORDS[random.below(WORDS.len() as u64) as usize].into(),
    }
}

#[test]
fn no_command_is_too_strange() {
    let seconds =
        std::env::var("ENDURA_FUZZ_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    let folder = tempfile::tempdir().unwrap();
    let options = ["--proto-max-bulk-len", "1mb"];
    let server =
        Server::start_with(folder.path(), 0, &["data.endura", "max-size", "268435456"], &options);
    let (mut client, mut random) = (server.client(), Random::new(std::process::id().into()));
    let (begin, mut answers, mut errors) = (Instant::now(), 0_u64, 0_u64);
    while begin.elapsed() < Duration::from_secs(seconds.unwrap_or(5)) {
        let name = NAMES[random.below(NAMES.len() as u64) as usize];
        let mut words = vec![name.as_bytes().to_vec()];
        if random.below(4) > 0 {
            words.push(format!("k{}", random.below(4)).into_bytes());
        }
        words.extend((0..random.below(7)).map(|_| word(&mut random)));
        let line: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        let shown = || {
            let texts = words
                .iter()
                .map(|word| String::from_utf8_lossy(&word[..word.len().min(40)]).into_owned());
            texts.collect::<Vec<_>>()
        };
        let answer = client.ask(&line).unwrap_or_else(|error| panic!("{error} at {:?}", shown()));
        answers += 1;
        if let Reply::Error(text) = &answer {
            errors += 1;
            let code = text.split(' ').next().unwrap();
            let is_code = code.len() > 2 && code.bytes().all(|byte| byte.is_ascii_uppercase());
            assert!(is_code && !text.contains("panicked"), "{:?}: {text}", shown());
        }
    }
    assert!(answers > errors && errors > 100, "{answers} {errors}");
    assert!(!server.log().contains("panicked"), "{}", server.log());
    drop(client);
    let mut server = server;
    server.kill();
    endura::Pool::open(folder.path().join("data.endura")).unwrap().verify().unwrap();
}
