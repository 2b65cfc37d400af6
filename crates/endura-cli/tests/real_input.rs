//! Files as large as people have them, with the strings that people have: what goes in comes out, in
//! the order of `LC_ALL=C sort -u`.

#![allow(clippy::expect_used, reason = "a test fails by a panic")]

mod support;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use support::{Place, json, works};

const HOSTS: [&str; 6] = [
    "https://www.example.org",
    "https://cdn.example.org/static/v2",
    "http://archiv.beispiel.de:8080",
    "https://en.wiki.example.net/wiki",
    "/usr/share/doc",
    "/home/ada/Projekte/größe",
];
const PARTS: [&str; 12] = [
    "articles",
    "2024",
    "images",
    "index.html",
    "api",
    "v1",
    "users",
    "Категория:Наука",
    "a%20b",
    "release-notes",
    "lib",
    "x",
];

/// Line number `i` of a crawl: a few sites, deep folders, numbers, queries; some come twice.
fn line(rng: &mut fastrand::Rng, out: &mut Vec<u8>) {
    // Some sites have most of the pages.
    let skewed = |rng: &mut fastrand::Rng, count: usize| {
        let most = rng.usize(1..=count);
        rng.usize(..most)
    };
    out.extend_from_slice(HOSTS[skewed(rng, HOSTS.len())].as_bytes());
    for _ in 0..rng.usize(1..6) {
        out.push(b'/');
        out.extend_from_slice(PARTS[skewed(rng, PARTS.len())].as_bytes());
    }
    let number = rng.u32(..) >> rng.u32(..24);
    let tail = match rng.u8(..4) {
        0 => format!("?page={number}&sort=asc"),
        1 => format!("/{number:08x}.jpg"),
        2 => format!("-{number}"),
        _ => format!("/{number}/"),
    };
    out.extend_from_slice(tail.as_bytes());
    out.push(b'\n');
}

fn crawl(path: &Path, count: usize) {
    let mut rng = fastrand::Rng::with_seed(11);
    let mut text = Vec::new();
    (0..count).for_each(|_| line(&mut rng, &mut text));
    fs::File::create(path).and_then(|mut file| file.write_all(&text)).expect("a file");
}

fn sorted(path: &Path) -> Vec<u8> {
    let output = Command::new("sort").env("LC_ALL", "C").arg("-u").arg(path).output();
    let output = output.expect("sort runs");
    assert!(output.status.success());
    output.stdout
}

/// Takes a file of keys through a pool and back, and what comes out through all formats.
fn goes_in_and_out(place: &Place, keys: &Path) -> u64 {
    let path = |name: &str| place.path(name).display().to_string();
    let (pool, out) = (path("pool"), path("keys.out"));
    let input = keys.display().to_string();
    let roart = ["--map", "roart"];
    let run = |arguments: &[&str]| works(&[arguments, &roart[..]].concat());
    let done = json(&run(&["import", &pool, &input, "--format", "lines", "--json"]));
    run(&["export", &pool, &out, "--format", "lines"]);
    let expected = sorted(keys);
    assert!(fs::read(&out).expect("the file") == expected, "not what sort -u makes of the keys");
    assert_eq!(done["added"], expected.split(|&byte| byte == b'\n').count() - 1);
    assert_eq!(json(&run(&["import", &pool, &out, "--format", "lines", "--json"]))["added"], 0);

    // With values: each key's is its own end.
    let table: Vec<u8> = expected
        .split_inclusive(|&byte| byte == b'\n')
        .flat_map(|line| {
            let key = &line[..line.len() - 1];
            let end = key.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
            [key, b"\t", end, b"\n"].concat()
        })
        .filter(|&byte| byte != b'\\')
        .collect();
    fs::write(place.path("table.tsv"), &table).expect("a file");
    let mut from = path("table.tsv");
    for format in ["csv", "json", "mdb", "mdb-print", "tsv"] {
        let (pool, to) = (path(&format!("{format}.pool")), path(&format!("{format}.out")));
        run(&["import", &pool, &from, "--keys", "str", "--values", "str"]);
        run(&["export", &pool, &to, "--format", format]);
        // Dumps are recognised by their first line, the others by the ending.
        let ending = if format.starts_with("mdb") { "out" } else { format };
        from = path(&format!("table.{ending}"));
        fs::rename(&to, &from).expect("renamed");
        fs::remove_file(&pool).expect("removed");
        // Of it the next import would make the pool again.
        let _ = fs::remove_file(format!("{pool}.checkpoint"));
    }
    assert!(fs::read(&from).expect("the file") == table, "other bytes after all formats");
    done["added"].as_u64().expect("a number")
}

#[test]
fn fifty_thousand_addresses_go_in_and_out() {
    let place = Place::in_memory();
    crawl(&place.path("urls"), 50_000);
    let entries = goes_in_and_out(&place, &place.path("urls"));
    assert!(entries > 40_000, "{entries}");
}

#[test]
#[ignore = "a minute: docs/testing.md has the command"]
fn a_million_addresses_go_in_and_out() {
    let place = Place::in_memory();
    crawl(&place.path("urls"), 1_500_000);
    let entries = goes_in_and_out(&place, &place.path("urls"));
    assert!(entries >= 1_000_000, "{entries}");
    println!("{entries} different addresses");
}

#[test]
#[ignore = "needs /usr/share/dict/words, as Debian's wamerican brings it: .ci/run installs that"]
fn the_word_list_of_the_system_goes_in_and_out() {
    let place = Place::in_memory();
    let entries = goes_in_and_out(&place, Path::new("/usr/share/dict/words"));
    assert!(entries > 50_000, "{entries}");
}
