//! Numbers that a type does not hold, types that were guessed from one line, floats bit by bit.

use crate::support::{Place, code, ends_with, endura, endura_with, json, text, works};

/// The types of the map `main`.
fn types(pool: &str) -> [String; 2] {
    let info = json(&works(&["info", pool, "--json"]));
    ["key_type", "value_type"].map(|what| info["maps"][0][what].as_str().expect("a name").into())
}

fn imported(pool: &str, format: &str, more: &[&str], input: &[u8]) -> Result<(), String> {
    let arguments = [&["import", pool, "--format", format][..], more].concat();
    let output = endura_with(&arguments, input);
    match code(&output) {
        0 => Ok(()),
        3 => Err(text(&output.stderr).into()),
        other => panic!("{other}: {}", text(&output.stderr)),
    }
}

#[test]
fn numbers_of_more_than_64_bits_are_read_digit_by_digit() {
    let place = Place::new();
    let lines = "{\"key\":100000000000000000001,\"value\":123456789012345678901234567890}\n\
                 {\"key\":100000000000000000002,\"value\":1}\n";
    let (guessed, named) = (&*place.text("guessed"), &*place.text("named"));
    imported(guessed, "json", &[], lines.as_bytes()).expect("an import");
    assert_eq!(types(guessed), ["u128", "u128"]);
    let wide = ["--keys", "u128", "--values", "i128"];
    imported(named, "json", &wide, lines.as_bytes()).expect("an import");
    let expected = "100000000000000000001\t123456789012345678901234567890\n\
                    100000000000000000002\t1\n";
    for pool in [guessed, named] {
        assert_eq!(works(&["scan", pool]), expected);
        assert_eq!(works(&["get", pool, "100000000000000000002"]), "1\n");
    }
    // What is exported is read back.
    let exported = works(&["export", guessed, "--format", "json"]);
    let (again, wide) = (&*place.text("again"), ["--keys", "u128", "--values", "u128"]);
    imported(again, "json", &wide, exported.as_bytes()).expect("an import");
    assert_eq!(works(&["scan", again]), expected);
    let tuples = "{\"key\":[100000000000000000001,\"a\"],\"value\":1e400}\n\
                  {\"key\":[100000000000000000002,\"a\"],\"value\":340282366920938463463374607431768211456}\n";
    let fields = &*place.text("fields");
    imported(fields, "json", &[], tuples.as_bytes()).expect("an import");
    assert_eq!(types(fields), ["(u128, str)", "json"]);
    assert_eq!(works(&["get", fields, "[100000000000000000001,\"a\"]"]), "1e400\n");
    works(&["put", named, "--", "0xffffffffffffffffff", "-1_000_000_000_000_000_000_000"]);
    assert_eq!(works(&["get", named, "4722366482869645213695"]), "-1000000000000000000000\n");
}

#[test]
fn a_number_that_a_float_does_not_hold_is_an_error_on_its_line() {
    let place = Place::new();
    let pool = &*place.pool();
    let floats = ["--keys", "f64", "--values", "f64"];
    for bad in ["9007199254740993", "1e400", "-1e309", "1e-400"] {
        for (format, line) in [
            ("tsv", format!("1\t1\n{bad}\t1\n")),
            ("csv", format!("1,1\n2,{bad}\n")),
            ("json", format!("{{\"key\":1,\"value\":1}}\n{{\"key\":2,\"value\":{bad}}}\n")),
        ] {
            let complaint = imported(pool, format, &floats, line.as_bytes()).expect_err(bad);
            assert!(complaint.contains("line 2") && complaint.contains(bad), "{complaint}");
            assert!(place.names().is_empty(), "{bad}: {:?}", place.names());
        }
    }
    works(&["put", pool, "0.1", "1e300", "--keys", "f64", "--values", "f64"]);
    for arguments in [
        &["put", pool, "9007199254740993", "1"][..],
        &["put", pool, "1", "1e400"],
        &["get", pool, "9007199254740993"],
        &["del", pool, "1e400"],
        &["scan", pool, "--from", "9007199254740993"],
    ] {
        ends_with(2, arguments);
    }
    // The nearest, as everywhere: printf writes 0.1 as the first, and a person pi as the second.
    works(&["put", pool, "0.10000000000000001", "3.14159265358979323846"]);
    assert_eq!(works(&["scan", pool]), "0.1\t3.141592653589793\n");
}

/// A format, two lines of which the second is not what the first seems to be, what the complaint names, and the types
/// that take both.
const GUESSES: &[(&str, &[u8], &str, [&str; 2])] = &[
    ("csv", b"1000,1\n00501,2\n", "--keys str", ["str", "u64"]),
    ("csv", b"1000,1\n1_000,2\n", "--keys str", ["str", "u64"]),
    ("csv", b"1000,1\n0x3e8,2\n", "--keys str", ["str", "u64"]),
    ("csv", b"1000,1\n\" 7\",2\n", "--keys str", ["str", "u64"]),
    ("csv", b"1000,1\nAB12,2\n", "--keys str", ["str", "u64"]),
    ("csv", b"1000,1\n-1,2\n", "--keys str", ["i64", "u64"]),
    ("csv", b"1000,1\n18446744073709551616,2\n", "--keys str", ["u128", "u64"]),
    ("csv", b"a,75001\nb,01001\n", "--values str", ["str", "str"]),
    ("csv", b"a,1\nb,1.5\n", "--values str", ["str", "f64"]),
    ("csv", b"a,\nb,x\n", "--values str", ["str", "str"]),
    ("tsv", b"1000\t1\n00501\t2\n", "--keys str", ["str", "u64"]),
    ("tsv", b"a\t-1\nb\t-0\n", "--values str", ["str", "str"]),
    ("tsv", b"a\t1\nb\t+5\n", "--values str", ["str", "str"]),
    ("tsv", b"a\t1\nb\t\\xff\n", "--values bytes", ["str", "bytes"]),
    ("auto", b"1000,1\n00501,2\n", "--keys str", ["u64", "u64"]),
    ("lines", b"1000\n00501\n", "--keys str", ["str", "()"]),
    (
        "json",
        b"{\"key\":1,\"value\":1.5}\n{\"key\":2,\"value\":0.10000000000000001}\n",
        "--values json",
        ["u64", "json"],
    ),
    (
        "json",
        b"{\"key\":1,\"value\":1.5}\n{\"key\":2,\"value\":9007199254740993}\n",
        "--values json",
        ["u64", "json"],
    ),
    (
        "json",
        b"{\"key\":1,\"value\":100000000000000000001}\n{\"key\":2,\"value\":\"0x10\"}\n",
        "--values json",
        ["u64", "u128"],
    ),
    (
        "json",
        b"{\"key\":0.5,\"value\":1}\n{\"key\":0.10000000000000001,\"value\":1}\n",
        "--keys 'f64' stores that",
        ["f64", "u64"],
    ),
    (
        "json",
        b"{\"key\":1,\"value\":1}\n{\"key\":100000000000000000001,\"value\":1}\n",
        "--keys u128 takes",
        ["u128", "u64"],
    ),
    (
        "json",
        b"{\"key\":-1,\"value\":1}\n{\"key\":0.5,\"value\":1}\n",
        "--keys f64 takes",
        ["f64", "u64"],
    ),
    (
        "mdb",
        b"VERSION=3\nformat=bytevalue\ntype=btree\nintegerkey=1\nHEADER=END\n \
          0100000000000000\n 0200000000000000\n 0300000000000000\n 04000000\nDATA=END\n",
        "--values bytes",
        ["u64", "bytes"],
    ),
    (
        "mdb",
        b"VERSION=3\nformat=bytevalue\ntype=btree\nintegerkey=1\nHEADER=END\n \
          01000000\n 02000000\n 03000000\n 0400000000000000\nDATA=END\n",
        "--values bytes",
        ["u32", "u64"],
    ),
];

#[test]
fn a_guess_holds_for_every_line_or_nothing_is_imported() {
    let place = Place::new();
    let (pool, other) = (&*place.text("new"), &*place.text("other"));
    works(&["put", other, "a", "b", "--map", "else"]);
    for (format, input, hint, types) in GUESSES {
        let input_text = input.escape_ascii();
        let complaint = imported(pool, format, &[], input).expect_err(hint);
        let line = if *format == "mdb" { "line 9" } else { "line 2" };
        assert!(complaint.contains(line) && complaint.contains(hint), "{input_text}: {complaint}");
        assert!(complaint.contains("nothing was imported"), "{input_text}: {complaint}");
        assert_eq!(place.names(), ["other"], "{input_text}");
        imported(other, format, &[], input).expect_err(hint);
        let maps = json(&works(&["info", other, "--json"]));
        assert_eq!(maps["maps"].as_array().map(Vec::len), Some(1), "{input_text}");
        let named = ["--keys", types[0], "--values", types[1]];
        imported(pool, format, &named, input).expect("the types that were named");
        assert_eq!(works(&["scan", pool]).lines().count(), 2, "{input_text}");
        place.remove_pool("new");
    }
    assert!(endura(&["check", other]).status.success());
}

/// The map says its types, and not that its numbers are written with zeros in front.
#[test]
fn a_later_file_is_held_to_the_same() {
    let place = Place::new();
    let pool = &*place.pool();
    imported(pool, "csv", &[], b"1000,1\n501,2\n").expect("an import");
    let complaint = imported(pool, "csv", &[], b"7,7\n00501,3\n").expect_err("00501");
    for part in ["line 2", "`00501` would be stored as 501", "--keys 'u64'", "1 added"] {
        assert!(complaint.contains(part), "{complaint}");
    }
    assert_eq!(works(&["scan", pool]), "7\t7\n501\t2\n1000\t1\n");
    imported(pool, "csv", &["--keys", "u64"], b"00501,3\n").expect("a named type");
    assert_eq!(works(&["get", pool, "501"]), "3\n");
    // Only one of the two was named.
    imported(pool, "csv", &["--keys", "u64"], b"00501,03\n").expect_err("03");
}

/// Every map of floats, whatever their bits, is the same after an export and an import.
#[test]
fn floats_come_back_bit_by_bit() {
    let place = Place::in_memory();
    let pool = &*place.pool();
    let mut rng = fastrand::Rng::with_seed(7);
    let usual: Vec<f64> = (0..5000).map(|_| f64::from_bits(rng.u64(..))).collect();
    let payloads = [0x7ff8_0000_0000_0000, 0x7ff8_0000_0000_0001, 0xfff8_0000_0000_0000_u64];
    let nans = payloads.into_iter().chain([0x7ff0_0000_0000_0001, u64::MAX]).map(f64::from_bits);
    let all: Vec<f64> = usual.into_iter().chain(nans).chain([0.0, -0.0, f64::INFINITY]).collect();
    let opened = endura::Pool::open(pool).expect("a pool");
    let (keys, fields) = (
        opened.map::<f64, f64>("main").expect("a map"),
        opened.map::<(f64, f32), f32>("fields").expect("a map"),
    );
    for &number in &all {
        keys.insert(number, -number).expect("an insert");
        let short = f32::from_bits(number.to_bits() as u32);
        fields.insert((number, short), short).expect("an insert");
    }
    drop((keys, fields));
    opened.close().expect("a close");
    for (map, types) in [("main", ["f64", "f64"]), ("fields", ["(f64, f32)", "f32"])] {
        let expected = works(&["scan", pool, "--map", map]);
        assert_eq!(expected.lines().count(), all.len(), "{map}");
        for format in ["tsv", "csv", "json", "mdb", "mdb-print"] {
            let out = endura(&["export", pool, "--map", map, "--format", format]);
            let again = &*place.text("again");
            let named = ["--keys", types[0], "--values", types[1]];
            imported(again, format, &named, &out.stdout).expect(format);
            // Their dumps have all bits.
            let dump = |pool, map| works(&["export", pool, "--map", map, "--format", "mdb"]);
            let data =
                |dump: String| dump.split_once("HEADER=END").map(|(_, data)| data.to_owned());
            let same = data(dump(again, "main")) == data(dump(pool, map));
            assert!(same, "{map} {format}: other bits");
            place.remove_pool("again");
        }
        // What a scan prints, a look finds.
        for line in expected.lines().step_by(all.len() / 20).chain(expected.lines().last()) {
            let (key, value) = line.split_once('\t').expect("a tab");
            assert_eq!(works(&["get", pool, "--map", map, "--", key]), format!("{value}\n"));
        }
    }
}
