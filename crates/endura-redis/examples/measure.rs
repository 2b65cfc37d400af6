//! The module beside Redis' own types, by `redis-benchmark`: `.ci/redis --measure`.
//!
//! Two servers on sockets in one folder take turns, in one run: one without the module, with the append-only file that is
//! synced each second, one with the module and neither file. Nothing else should run on the machine.
//!
//! `--rounds` and `--fields` say how much; `--only restart` measures the time from SIGKILL to the first answer alone, with
//! a hash and a map of all fields; `--only copies` COPY, DUMP and RESTORE of these.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a program that ends by what is wrong")]

#[path = "../tests/server/support/mod.rs"]
mod support;

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use support::{Reply, Server};

/// What is measured: a name, how it is asked of Redis' own type, and of ours; how many times as many requests with
/// pipelining.
const PAIRS: [(&str, &str, &str, usize); 4] = [
    (
        "HSET, EN.SET",
        "HSET h field:__rand_int__ VALUE",
        "EN.SET h field:__rand_int__ VALUE",
        100_000,
    ),
    ("HGET, EN.GET", "HGET h field:__rand_int__", "EN.GET h field:__rand_int__", 100_000),
    (
        "ZRANGEBYLEX, EN.RANGE of 100",
        "ZRANGEBYLEX z [field:__rand_int__ + LIMIT 0 100",
        "EN.RANGE h [field:__rand_int__ + LIMIT 100 KEYS",
        20_000,
    ),
    (
        "ZRANGEBYLEX, EN.RANGE of 100 with values",
        "ZRANGEBYLEX z [field:__rand_int__ + LIMIT 0 100",
        "EN.RANGE h [field:__rand_int__ + LIMIT 100",
        20_000,
    ),
];

fn option(name: &str, default: usize) -> usize {
    let words: Vec<String> = std::env::args().collect();
    let at = words.iter().position(|word| word == name);
    at.map_or(default, |at| words[at + 1].parse().expect("a number"))
}

/// Thousand requests a second.
fn run(folder: &Path, line: &str, requests: usize, pipeline: usize, space: usize) -> f64 {
    let value = "v".repeat(100);
    let words = line.split(' ').map(|word| if word == "VALUE" { value.as_str() } else { word });
    let output = Command::new("redis-benchmark")
        .args(["-s", "socket", "-c", "50", "--csv"])
        .args(["-n", &requests.to_string(), "-P", &pipeline.to_string(), "-r", &space.to_string()])
        .args(words)
        .current_dir(folder)
        .output()
        .expect("redis-benchmark");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let last = text.lines().last().unwrap_or_default();
    let figure = last.split("\",\"").nth(1).and_then(|figure| figure.parse::<f64>().ok());
    figure.unwrap_or_else(|| panic!("{line}: {text}")) / 1_000.0
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn main() {
    let (rounds, space) = (option("--rounds", 5), option("--fields", 1_000_000));
    let folder = tempfile::tempdir_in(".").unwrap();
    let (redis, ours) = (folder.path().join("redis"), folder.path().join("endura"));
    let aof = ["--appendonly", "yes", "--appendfsync", "everysec"];
    let (mut peer, mut server) = (Server::plain(&redis, &aof), Server::start(&ours, &[]));
    let is_only = |name| std::env::args().any(|word| word == name);
    if is_only("restart") || is_only("copies") {
        println!("{rounds} rounds, {space} fields of 18 bytes, values of 100; medians");
        fill_in_order(&peer, "HSET", space);
        fill_in_order(&server, "EN.SET", space);
        if is_only("copies") {
            copies(&peer, &server, rounds);
            return;
        }
        memory(&peer, &server);
        restarts(&mut peer, &mut server, rounds);
        return;
    }
    println!(
        "{rounds} rounds, {space} fields of 18 bytes, values of 100; medians, thousand requests a second"
    );
    fill(&redis, &ours, space);
    for pipeline in [1, 16] {
        for (name, theirs, own, requests) in PAIRS {
            let requests = requests * if pipeline == 1 { 1 } else { 4 };
            let mut figures = (Vec::new(), Vec::new(), Vec::new());
            for _ in 0..rounds {
                let peer = run(&redis, theirs, requests, pipeline, space);
                let own = run(&ours, own, requests, pipeline, space);
                figures.0.push(peer);
                figures.1.push(own);
                figures.2.push(own / peer);
            }
            println!(
                "{name}, pipeline of {pipeline}: {:.1}, {:.1}, ratio {:.2}",
                median(figures.0),
                median(figures.1),
                median(figures.2)
            );
        }
    }
    memory(&peer, &server);
    restarts(&mut peer, &mut server, rounds);
    longest_ping(&server);
}

/// Both get the same fields.
fn fill(redis: &Path, ours: &Path, space: usize) {
    let requests = 3 * space;
    run(redis, "HSET h field:__rand_int__ VALUE", requests, 16, space);
    run(redis, "ZADD z 0 field:__rand_int__", requests, 16, space);
    run(ours, "EN.SET h field:__rand_int__ VALUE", requests, 16, space);
}

/// All fields, a thousand at a time, and behind them no rewriting of a file.
fn fill_in_order(server: &Server, command: &str, space: usize) {
    let (mut client, value) = (server.client(), "v".repeat(100));
    for from in (0..space).step_by(1_000) {
        let fields: Vec<String> =
            (from..space.min(from + 1_000)).map(|number| format!("field:{number:012}")).collect();
        let pairs = fields.iter().flat_map(|field| [field.as_bytes(), value.as_bytes()]);
        let line: Vec<&[u8]> = [command.as_bytes(), b"h"].into_iter().chain(pairs).collect();
        assert_eq!(client.ask(&line).unwrap(), Reply::Integer(fields.len() as i64));
    }
    assert!(server.saved());
}

fn memory(peer: &Server, server: &Server) {
    for (name, server) in [("Redis", peer), ("with the module", server)] {
        let info = server.client().call("INFO memory").text();
        let used = info.lines().find_map(|line| line.strip_prefix("used_memory_human:")).unwrap();
        let disk = Command::new("du").args(["-sm"]).arg(server.folder()).output().unwrap();
        let disk =
            String::from_utf8_lossy(&disk.stdout).split_whitespace().next().unwrap().to_owned();
        println!("{name}: {used} used memory, {disk} MB of files");
    }
}

/// From SIGKILL to the first right answer; beside an empty server.
fn restarts(peer: &mut Server, server: &mut Server, rounds: usize) {
    let folder = tempfile::tempdir_in(".").unwrap();
    let mut empty = Server::plain(folder.path(), &[]);
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    let field = |command: &str, server: &Server| {
        // Some field that is there.
        let mut client = server.client();
        (0..1_000)
            .map(|number| format!("field:{number:012}"))
            .find(|field| client.call(&format!("{command} h {field}")) != Reply::Nil)
            .unwrap()
    };
    let asked = [
        (format!("HGET h {}", field("HGET", peer)), 0),
        (format!("EN.GET h {}", field("EN.GET", server)), 1),
        ("PING".to_owned(), 2),
    ];
    for _ in 0..rounds {
        for ((line, at), server) in asked.iter().zip([&mut *peer, &mut *server, &mut empty]) {
            let begin = Instant::now();
            server.kill_and_start();
            loop {
                let answer = server.client().call(line);
                if !answer.is_error() && answer != Reply::Nil {
                    break;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            times[*at].push(begin.elapsed().as_secs_f64() * 1e3);
        }
    }
    let [aof, pool, none] = times.map(median);
    println!(
        "from SIGKILL to the first right answer: append-only file {aof:.0} ms, pool {pool:.0} ms, empty Redis {none:.0} ms"
    );
}

/// The times of COPY, DUMP and RESTORE, for which other clients wait. (MIGRATE is a DUMP here and a RESTORE there.)
fn copies(peer: &Server, server: &Server, rounds: usize) {
    let mut times = [const { [Vec::new(), Vec::new(), Vec::new()] }; 2];
    for _ in 0..rounds {
        for (server, times) in [peer, server].into_iter().zip(&mut times) {
            let mut client = server.client();
            let mut timed = |at: usize, words: &[&[u8]]| {
                let begin = Instant::now();
                let answer = client.ask(words).unwrap();
                times[at].push(begin.elapsed().as_secs_f64());
                assert!(!answer.is_error(), "{answer:?}");
                answer
            };
            timed(0, &[b"COPY", b"h", b"c"]);
            let Reply::Bulk(dump) = timed(1, &[b"DUMP", b"h"]) else { panic!("no dump") };
            timed(2, &[b"RESTORE", b"r", b"0", &dump]);
            client.call("DEL c r");
            while client.call("INFO endura").text().contains("endura_keys_to_sweep:") {
                if client.call("INFO endura").text().contains("endura_keys_to_sweep:0") {
                    break;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
    for (name, times) in ["hash", "map"].into_iter().zip(times) {
        let [copy, dump, restore] = times.map(median);
        println!("a {name}: COPY {copy:.2} s, DUMP {dump:.2} s, RESTORE {restore:.2} s");
    }
}

/// PING beside ranges over everything.
fn longest_ping(server: &Server) {
    let (mut reader, mut pinger) = (server.client(), server.client());
    let (mut longest, mut count) = (Duration::ZERO, 0_u32);
    for _ in 0..3 {
        reader.send(&[b"EN.RANGE", b"h", b"-", b"+"]).unwrap();
        let done = std::thread::scope(|scope| {
            let answer = scope.spawn(|| reader.receive().unwrap());
            while !answer.is_finished() {
                let begin = Instant::now();
                pinger.call("PING");
                longest = longest.max(begin.elapsed());
                count += 1;
            }
            answer.join().unwrap().texts().len() / 2
        });
        println!("a range of {done} entries; {count} PINGs so far, the longest {longest:.1?}");
    }
}
