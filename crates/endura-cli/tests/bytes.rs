//! Maps of byte strings as scripts see them: any bytes in and out, in every format.

#![allow(clippy::expect_used, reason = "a test fails by a panic")]

mod support;

use serde_json::{Value, json};
use support::{Place, code, ends_with, endura, endura_with, text, works};

#[test]
fn put_get_del_of_any_bytes() {
    let place = Place::new();
    let pool = &*place.pool();
    works(&["put", pool, "user:1", "Ada", "--keys", "bytes", "--values", "bytes"]);
    works(&["put", pool, "größe\\t\\x00\\xff", "\\\\a\\nb\\xC3"]);
    works(&["put", pool, "", ""]);
    assert_eq!(works(&["get", pool, "user:1"]), "Ada\n");
    assert_eq!(works(&["get", pool, "größe\\t\\0\\xff"]), "\\\\a\\nb\\xc3\n");
    assert_eq!(works(&["get", pool, ""]), "\n");
    assert_eq!(ends_with(1, &["get", pool, "user:"]), "");
    let raw = endura(&["get", pool, "größe\\t\\x00\\xff", "--raw"]);
    assert_eq!(raw.stdout, b"\\a\nb\xc3");
    let got: Value = json_of(&["get", pool, "größe\\t\\x00\\xff", "--json"]);
    assert_eq!(
        got,
        json!({ "key": { "hex": "6772c3b6c39f650900ff" }, "value": { "hex": "5c610a62c3" } })
    );
    ends_with(1, &["put", pool, "user:1", "Eve", "--new"]);
    let put = json_of(&["put", pool, "user:1", "Grace", "--json"]);
    assert_eq!(put, json!({ "key": "user:1", "stored": true, "previous": "Ada" }));
    works(&["del", pool, "user:1"]);
    ends_with(1, &["del", pool, "user:1"]);
    let complaint = ends_with(2, &["put", pool, "C:\\dir", "1"]);
    assert!(complaint.contains("`\\d`") && complaint.contains("\\\\"), "{complaint}");
}

fn json_of(arguments: &[&str]) -> Value {
    serde_json::from_str(&works(arguments)).expect("JSON")
}

#[test]
fn a_value_comes_from_a_file() {
    let place = Place::new();
    let (pool, path) = (&*place.pool(), place.path("value").display().to_string());
    let value: Vec<u8> = (0..300_000_u32).flat_map(|i| i.wrapping_mul(i).to_le_bytes()).collect();
    std::fs::write(&path, &value).expect("a file");
    works(&["put", pool, "big", "--file", &path, "--map", "roart"]);
    assert_eq!(endura(&["get", pool, "big", "--raw", "--map", "roart"]).stdout, value);
    let put = endura_with(&["put", pool, "big", "--file", "-", "--map", "roart"], b"\xff\n");
    assert_eq!(code(&put), 0);
    assert_eq!(works(&["get", pool, "big", "--map", "roart"]), "\\xff\\n\n");
    ends_with(3, &["put", pool, "big", "--file", "/nowhere", "--map", "roart"]);
    let long = "k".repeat(65_537);
    let complaint = ends_with(3, &["put", pool, &long, "v", "--map", "roart"]);
    assert!(complaint.contains("65536"), "{complaint}");
}

#[test]
fn a_map_is_opened_as_what_it_is() {
    let place = Place::new();
    let pool = &*place.pool();
    works(&["put", pool, "user:1", "Ada", "--map", "people"]);
    works(&["put", pool, "7", "8", "--map", "few", "--kind", "nbtree"]);
    works(&["put", pool, "1", "2"]);
    let info = json_of(&["info", pool, "--json"]);
    let kinds: Vec<_> = info["maps"].as_array().expect("maps").iter().map(|m| &m["kind"]).collect();
    assert_eq!(kinds, ["NbTree", "FastFair", "Roart"]);
    assert!(!works(&["info", pool]).contains("unknown"));
    assert_eq!(works(&["get", pool, "user:1", "--map", "people"]), "Ada\n");
    let complaint = ends_with(3, &["put", pool, "1", "1", "--map", "people", "--kind", "nbtree"]);
    assert!(complaint.contains("is a"), "{complaint}");
    ends_with(3, &["put", pool, "1", "1", "--kind", "roart"]);
    let checked = json_of(&["check", pool, "--json"]);
    assert_eq!(checked["sound"], true);
}

#[test]
fn scans_of_prefixes_and_ranges() {
    let place = Place::new();
    let pool = &*place.pool();
    let lines = "a\t1\nab\t2\nab\\x00\t3\nab\\xff\t4\nb\t5\n";
    let import = endura_with(&["import", pool, "--keys", "bytes"], lines.as_bytes());
    assert_eq!(code(&import), 0, "{}", text(&import.stderr));
    assert_eq!(works(&["scan", pool]), lines);
    assert_eq!(works(&["scan", pool, "--prefix", "ab"]), "ab\t2\nab\\x00\t3\nab\\xff\t4\n");
    let reverse = ["scan", pool, "--prefix", "ab", "--reverse", "--limit", "2"];
    assert_eq!(works(&reverse), "ab\\xff\t4\nab\\x00\t3\n");
    let range = ["scan", pool, "--from", "ab\\x00", "--to", "b"];
    assert_eq!(works(&range), "ab\\x00\t3\nab\\xff\t4\nb\t5\n");
    assert_eq!(works(&["scan", pool, "--prefix", "", "--limit", "1"]), "a\t1\n");
    let line = works(&["scan", pool, "--prefix", "ab\\xff", "--json"]);
    assert_eq!(line, "{\"key\":{\"hex\":\"6162ff\"},\"value\":4}\n");
    ends_with(2, &["scan", pool, "--from", "b", "--to", "a"]);
    ends_with(2, &["scan", pool, "--from", "b", "--prefix", "a"]);
    let mut reversed: Vec<&str> = lines.lines().collect();
    reversed.reverse();
    assert_eq!(works(&["scan", pool, "--reverse"]).lines().collect::<Vec<_>>(), reversed);
}

/// Entries with every byte, of every length that matters to a format.
fn awkward() -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut rng = fastrand::Rng::with_seed(4);
    let mut entries: Vec<(Vec<u8>, Vec<u8>)> = vec![
        (vec![], vec![]),
        (b"\n".to_vec(), b"\r\n".to_vec()),
        (b"\"".to_vec(), b"\"\",\"".to_vec()),
        (b"\\x41\\".to_vec(), b" \t ".to_vec()),
        (b"VERSION=3".to_vec(), b"DATA=END".to_vec()),
        (b"{\"hex\":\"00\"}".to_vec(), "{\"key\":1}\u{2028}".as_bytes().to_vec()),
        (vec![0; 511], vec![0xFF; 70_000]),
        (vec![b'k'; 65_536], vec![b'"'; 3]),
    ];
    entries.extend((0..=255).map(|byte| (vec![b'b', byte], vec![byte; 3])));
    for _ in 0..3000 {
        let mut bytes = |most| {
            let length = rng.usize(..most);
            let sharp = b"\\\",\t\r\n x0\0\xff\xc3\xa4";
            let mut byte = || if rng.bool() { rng.u8(..) } else { sharp[rng.usize(..sharp.len())] };
            (0..length).map(|_| byte()).collect::<Vec<u8>>()
        };
        entries.push((bytes(12), bytes(40)));
    }
    entries.sort();
    entries.dedup_by(|a, b| a.0 == b.0);
    entries
}

/// Fills the map `roart` of a pool with `entries`, by the library.
fn fill(pool: &str, entries: &[(Vec<u8>, Vec<u8>)]) {
    let pool = endura::Pool::options().create_new(pool).expect("a pool");
    let map = pool.map::<[u8], [u8]>("roart").expect("a map");
    for (key, value) in entries {
        map.insert(key, value).expect("an insert");
    }
}

fn contents(pool: &str) -> Vec<(Vec<u8>, Vec<u8>)> {
    let pool = endura::Pool::options().read_only(true).open_existing(pool).expect("the pool");
    let map = pool.map::<[u8], [u8]>("roart").expect("a map");
    map.iter().collect::<endura::Result<_>>().expect("entries")
}

#[test]
fn any_bytes_go_through_every_format_and_come_back() {
    let place = Place::new();
    let (pool, entries) = (&*place.pool(), awkward());
    fill(pool, &entries);
    for (format, ending) in
        [("tsv", "tsv"), ("csv", "csv"), ("json", "jsonl"), ("mdb", "dump"), ("mdb-print", "txt")]
    {
        let path = place.path(&format!("out.{ending}")).display().to_string();
        works(&["export", pool, &path, "--map", "roart", "--format", format]);
        let other = place.path(format).display().to_string();
        let other_pool = format!("{other}.pool");
        // The format is found by the ending of the name, a dump by its first line.
        let types = ["--keys", "bytes", "--values", "bytes"];
        let import = ["import", &other_pool, &path, "--map", "roart", "--json"];
        let done = json_of(&[&import[..], &types].concat());
        assert_eq!(done["added"], entries.len(), "{format}");
        assert!(contents(&other_pool) == entries, "{format}: other entries came back");
        // And the same bytes once more, through a pipe.
        let out = endura(&["export", &other_pool, "--map", "roart", "--format", format]);
        let written = std::fs::read(&path).expect("the file");
        let is_dump = format.starts_with("mdb");
        let after = |bytes: &[u8]| {
            bytes
                .split(|&b| b == b'\n')
                .skip(if is_dump { 7 } else { 0 })
                .map(<[u8]>::to_vec)
                .collect::<Vec<_>>()
        };
        assert!(after(&out.stdout) == after(&written), "{format}: other bytes");
        let again = endura_with(
            &["import", &other_pool, "--map", "roart", "--format", format, "--keep", "--json"],
            &written,
        );
        let again: Value = serde_json::from_slice(&again.stdout).expect("JSON");
        assert_eq!(again["kept"], entries.len(), "{format}");
    }
}

/// What LMDB 0.9.70's `mdb_dump` wrote of an environment with these three entries (`-p` the second
/// time).
const DUMP: &str = "VERSION=3\nformat=bytevalue\ntype=btree\nmapsize=1048576\nmaxreaders=126\n\
                    db_pagesize=4096\nHEADER=END\n 61\n 5c200a\n 62ff\n \n 6b6579\n 76616c7565\nDATA=END\n";
const PRINTED: &str = "VERSION=3\nformat=print\ntype=btree\nmapsize=1048576\nmaxreaders=126\n\
                       db_pagesize=4096\nHEADER=END\n a\n \\\\ \\0a\n b\\ff\n \n key\n value\nDATA=END\n";

#[test]
fn dumps_of_lmdb_are_read_and_written() {
    let place = Place::new();
    for (name, dump, format) in [("hex", DUMP, "mdb"), ("print", PRINTED, "mdb-print")] {
        let pool = &*place.path(name).display().to_string();
        let done = endura_with(&["import", pool, "--map", "roart"], dump.as_bytes());
        assert_eq!(code(&done), 0, "{}", text(&done.stderr));
        assert_eq!(works(&["scan", pool, "--map", "roart"]), "a\t\\\\ \\n\nb\\xff\t\nkey\tvalue\n");
        let out = works(&["export", pool, "--map", "roart", "--format", format]);
        let rest = |text: &str| {
            text.lines()
                .filter(|l| !l.starts_with("mapsize="))
                .map(str::to_string)
                .collect::<Vec<_>>()
        };
        assert_eq!(rest(&out), rest(dump));
    }
    // Numbers are LMDB's integer keys.
    let pool = &*place.path("numbers").display().to_string();
    works(&["put", pool, "258", "7"]);
    let dump = works(&["export", pool, "--format", "mdb"]);
    assert!(dump.contains("integerkey=1\n"), "{dump}");
    assert!(dump.contains(" 0201000000000000\n 0700000000000000\n"), "{dump}");
    let other = &*place.path("others").display().to_string();
    assert_eq!(code(&endura_with(&["import", other], dump.as_bytes())), 0);
    assert_eq!(works(&["scan", other]), "258\t7\n");
}

/// A format, a file of it, a part of the complaint, and what it adds to a map that is there.
type Bad<'a> = (&'a str, String, &'a str, &'a str);

/// Each file is refused on its line. A new map goes with its pool; in a map that was there, what stood before that line
/// is kept.
fn complaints(cases: &[Bad<'_>]) {
    let place = Place::new();
    for (i, (format, input, part, kept)) in cases.iter().enumerate() {
        let pool = &*place.path(&i.to_string()).display().to_string();
        let arguments = ["import", pool, "--map", "roart", "--format", format];
        let import = || {
            let output = endura_with(&arguments, input.as_bytes());
            let complaint = text(&output.stderr).to_owned();
            assert_eq!(code(&output), 3, "case {i}: {complaint}");
            assert!(complaint.contains(part), "case {i}: {complaint}");
            complaint
        };
        let complaint = import();
        assert!(complaint.contains("nothing was imported"), "case {i}: {complaint}");
        assert!(!std::path::Path::new(pool).exists(), "case {i}: a pool was made");
        if !kept.is_empty() {
            let (keys, values) = match *format {
                "mdb" => ("bytes", "bytes"),
                "lines" => ("str", "()"),
                _ => ("str", "str"),
            };
            let types = ["--keys", keys, "--values", values];
            works(&[&["put", pool, "z", "", "--map", "roart"][..], &types].concat());
            let complaint = import();
            assert!(complaint.contains("1 added"), "case {i}: {complaint}");
            let all = works(&["scan", pool, "--map", "roart"]);
            assert_eq!(all, format!("{kept}z\t\n"), "case {i}");
        }
    }
}

#[test]
fn bad_lines_are_named_and_what_was_before_them_is_kept_in_a_map_that_was_there() {
    let json = |line: &str| format!("{{\"key\":\"a\",\"value\":\"b\"}}\n{line}\n");
    let long = format!("a\tb\n{}\tv\n", "k".repeat(65_537));
    complaints(&[
        ("tsv", "a\tb\nc\n".into(), "line 2: a tab", "a\tb\n"),
        ("tsv", "a\tb\nc,d\n".into(), "--format", "a\tb\n"),
        ("tsv", "a\tb\nc\td\te\n".into(), "line 2: one tab", "a\tb\n"),
        ("tsv", "a\tb\nC:\\dir\tv\n".into(), "line 2: the key: `\\d`", "a\tb\n"),
        ("tsv", "a\tb\nc\t\\x4\n".into(), "line 2: the value", "a\tb\n"),
        ("tsv", long, "line 2: a key of 65537 bytes", "a\tb\n"),
        ("csv", "a,b\nc\n".into(), "line 2: a comma", "a\tb\n"),
        ("csv", "a,b\nc,d,e\n".into(), "line 2: 2 fields", "a\tb\n"),
        ("csv", "a,b\n\"c,d\ne,f\n".into(), "opens on line 2 is never closed", "a\tb\n"),
        ("json", json("{\"key\":1,\"value\":\"\"}"), "write \"1\"", "a\tb\n"),
        ("json", json("[\"c\",\"d\"]"), "line 2: an object", "a\tb\n"),
        ("json", json("{\"key\":\""), "line 2: column", "a\tb\n"),
        ("lines", format!("a\n{}\n", "k".repeat(500_000)), "line 2: the line is longer", "a\t\n"),
    ]);
}

#[test]
fn bad_dumps_are_refused() {
    let head = "VERSION=3\nformat=bytevalue\ntype=btree\nHEADER=END\n";
    let dump = |rest: &str| format!("{head}{rest}");
    complaints(&[
        ("mdb", "VERSION=2\n".into(), "line 1: `VERSION=2`", ""),
        ("mdb", "a\tb\n".into(), "`VERSION=3` is expected", ""),
        ("mdb", head.replace("bytevalue", "json"), "line 2: `format=json`", ""),
        ("mdb", head.replace("btree", "hash"), "line 3: `type=hash`", ""),
        ("mdb", head.replace("type=btree\n", ""), "no `type`", ""),
        ("mdb", head.replace("HEADER", "duplicates=1\nHEADER"), "several values per key", ""),
        ("mdb", head.replace("HEADER", "mapsize=x\nHEADER"), "not a number", ""),
        ("mdb", head.replace("HEADER", "integerkey=1\nHEADER"), "cut off", ""),
        ("mdb", head.replace("HEADER=END\n", ""), "cut off", ""),
        ("mdb", dump(" 61\n 62\n"), "without `DATA=END`", "a\tb\n"),
        ("mdb", dump(" 61\n 62\n 63\n"), "without `DATA=END`", "a\tb\n"),
        ("mdb", dump(" 61\n 62\n 63\nDATA=END\n"), "has no value", "a\tb\n"),
        ("mdb", dump(" 61\n 62\n 6\n 61\n"), "the key: an even number", "a\tb\n"),
        ("mdb", dump(" 61\n 62\n63\n"), "line 7: a key is expected, behind a blank", "a\tb\n"),
        ("mdb", dump(" 61\n 62\nDATA=END\nVERSION=3\n"), "mdb_dump -s", "a\tb\n"),
        (
            "mdb",
            dump(" a\n b\n").replace("bytevalue", "print") + " \\6\n",
            "line 7: the key",
            "a\tb\n",
        ),
    ]);
}

#[test]
fn what_does_not_fit_the_map_or_the_format_is_refused() {
    let place = Place::new();
    let pool = &*place.pool();
    works(&["put", pool, "1", "1"]);
    let complaint = endura_with(&["import", pool], DUMP.as_bytes());
    assert!(text(&complaint.stderr).contains("byte strings"), "{}", text(&complaint.stderr));
    works(&["put", pool, "a\\nb", "", "--map", "roart"]);
    let dump = works(&["export", pool, "--format", "mdb"]);
    let complaint = endura_with(&["import", pool, "--map", "roart"], dump.as_bytes());
    assert!(text(&complaint.stderr).contains("integerkey=1"), "{}", text(&complaint.stderr));
    let complaint = endura_with(&["import", pool, "--format", "lines"], b"2\n");
    assert!(text(&complaint.stderr).contains("empty value"), "{}", text(&complaint.stderr));
    let complaint = ends_with(3, &["export", pool, "--map", "roart", "--format", "lines"]);
    assert!(complaint.contains("line end"), "{complaint}");
}
