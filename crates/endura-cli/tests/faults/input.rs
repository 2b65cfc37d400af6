//! Numbers, marks and names that are almost right.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::process::Command;

use crate::support::{Place, code, ends_with, endura, endura_with, json, program, text, works};

#[test]
fn what_is_almost_a_number_is_none() {
    let place = Place::new();
    let pool = &*place.pool();
    works(&["put", pool, "0X10", "0xfF", "--keys", "u64", "--values", "u64"]);
    works(&["put", pool, "1_000", "\"7\""]);
    assert_eq!(works(&["scan", pool]), "16\t255\n1000\t7\n");
    for bad in ["1,5", "1,000", "1,,,2", "_1_", "1__0", "\"\"7", "7\"", "0x+5", "0x", "+5", "0x_"] {
        for arguments in [["put", pool, bad, "1"], ["put", pool, "1", bad]] {
            let complaint = ends_with(2, &arguments);
            assert!(complaint.contains("is not a number"), "{bad}: {complaint}");
        }
        let line = format!("{bad}\t1\n");
        assert_eq!(code(&endura_with(&["import", pool], line.as_bytes())), 3, "{bad}");
    }
    assert_eq!(works(&["scan", pool]), "16\t255\n1000\t7\n");
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_first_key() {
    let place = Place::new();
    for (format, file) in [
        ("tsv", "\u{feff}a\tb\n"),
        ("csv", "\u{feff}a,b\n"),
        ("csv", "\u{feff}\"a\",b\n"),
        ("json", "\u{feff}{\"key\":\"a\",\"value\":\"b\"}\n"),
        ("mdb", "\u{feff}VERSION=3\nformat=print\ntype=btree\nHEADER=END\n a\n b\nDATA=END\n"),
    ] {
        let pool = &*place.pool();
        place.remove_pool("pool");
        let output =
            endura_with(&["import", pool, "--map", "roart", "--format", format], file.as_bytes());
        assert_eq!(code(&output), 0, "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains("byte order mark"), "{format}");
        assert_eq!(works(&["scan", pool, "--map", "roart"]), "a\tb\n", "{format}");
    }
    for (format, input, mark) in [
        ("tsv", &b"\xff\xfe1\0\t\0"[..], "FF FE"),
        ("auto", b"\xfe\xff\x001\0\t", "FE FF"),
        ("csv", b"\xff\xfek\0,\0v\0\n\0", "FF FE"),
        ("csv", b"\xfe\xff\0k\0,\0v\0\n", "FE FF"),
        ("json", b"\xff\xfe{\0", "FF FE"),
    ] {
        let utf16 = endura_with(&["import", &place.text("new"), "--format", format], input);
        let said = text(&utf16.stderr);
        let expected = format!("the file is UTF-16 (it begins with {mark}): convert it to UTF-8");
        assert!(code(&utf16) == 3 && said.contains(&expected), "{said}");
    }
    assert_eq!(place.names(), ["pool"]);
}

/// A key may still begin with the bytes of such a mark.
#[test]
fn keys_that_begin_with_a_mark_come_back() {
    let place = Place::new();
    let pool = &*place.pool();
    let bytes = ["put", pool, "\\xff\\xfek\\0", "\\0v", "--map", "utf16", "--keys", "bytes"];
    works(&[&bytes[..], &["--values", "bytes"]].concat());
    let csv = endura(&["export", pool, "--map", "utf16", "--format", "csv"]);
    let types = ["--format", "csv", "--keys", "bytes", "--values", "bytes"];
    let again = &*place.text("utf16.pool");
    let done = endura_with(&[&["import", again][..], &types].concat(), &csv.stdout);
    assert_eq!(code(&done), 0, "{}", text(&done.stderr));
    assert_eq!(works(&["scan", again]), "\\xff\\xfek\\x00\t\\x00v\n");
    works(&["put", pool, "\\xef\\xbb\\xbfa", "", "--map", "roart"]);
    for format in ["tsv", "csv", "json", "mdb", "lines"] {
        let out = endura(&["export", pool, "--map", "roart", "--format", format]);
        let again = &*place.text(&format!("{format}.pool"));
        let done =
            endura_with(&["import", again, "--map", "roart", "--format", format], &out.stdout);
        assert_eq!(code(&done), 0, "{format}: {}", text(&done.stderr));
        let key = endura(&["get", again, "\\xef\\xbb\\xbfa", "--map", "roart"]);
        assert_eq!(code(&key), 0, "{format}: the key is gone");
    }
    let headed = endura(&["export", pool, "--map", "roart", "--format", "csv", "--header"]);
    assert_eq!(headed.stdout, b"key,value\n\xef\xbb\xbfa,\n");
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let place = Place::new();
    let pool = &*place.pool();
    let name = "a\x1b[2Jb\u{202e}";
    works(&["put", pool, "1", "2", "--map", name]);
    for arguments in [
        &["info", pool][..],
        &["check", pool],
        &["count", pool],
        &["get", pool, "1"],
        &["get", pool, "1", "--map", "x\x1b[0m"],
        &["put", pool, "1", "1", "--map", name, "--kind", "roart"],
        &["put", pool, "1", "\x1b[2J", "--map", name],
        &["rename", pool, name, name],
        &["export", pool, "--all", &place.text("all")],
        &["drop", pool, "\x1b"],
    ] {
        let output = endura(arguments);
        let all = [&output.stdout[..], &output.stderr].concat();
        assert!(
            !all.contains(&0x1b) && !text(&all).contains('\u{202e}'),
            "{arguments:?}: {output:?}"
        );
    }
    assert_eq!(json(&works(&["info", pool, "--json"]))["maps"][0]["name"], name);
}

/// Terminals obey the control characters behind ASCII as well: U+009B begins what ESC and a bracket do.
#[test]
fn no_control_character_of_an_entry_reaches_the_terminal() {
    let place = Place::new();
    let pool = &*place.pool();
    let controls: String = ('\0'..='\u{a0}').filter(|c| c.is_control()).collect();
    let field = serde_json::Value::from(&*controls).to_string();
    let types = [
        ("(str, u8)", format!("[{field},1]")),
        ("Option<bytes>", field),
        ("char", "\u{9b}".into()),
    ];
    for (map, (kind, key)) in ["a", "b", "c"].into_iter().zip(types) {
        works(&["put", pool, &key, "1", "--map", map, "--keys", kind]);
        for form in [&[][..], &["--json"]] {
            let lines = works(&[&["scan", pool, "--map", map], form].concat());
            assert!(!lines.contains(|c: char| c.is_control() && !"\t\n".contains(c)), "{lines:?}");
        }
        assert_eq!(works(&["get", pool, &key, "--map", map]), "1\n");
    }
}

#[test]
fn a_path_may_be_any_bytes() {
    let place = Place::new();
    let path = OsString::from_vec([place.path("").as_os_str().as_bytes(), b"\xff\x1b"].concat());
    let run = |arguments: &[&OsStr]| {
        let output = Command::new(program()).args(arguments).output().expect("the command runs");
        assert_eq!(code(&output), 0, "{}", text(&output.stderr));
        output.stdout
    };
    let word = OsStr::new;
    run(&[word("put"), &path, word("1"), word("2")]);
    for command in ["info", "check"] {
        let found = json(text(&run(&[word(command), &path, word("--json")])));
        assert!(
            found["pool"]["hex"].as_str().is_some_and(|digits| digits.ends_with("ff1b")),
            "{found}"
        );
        assert!(!run(&[word(command), &path]).contains(&0x1b), "{command}");
    }
}

/// Longer than any key, so that a line is looked at before all of it is read.
#[test]
fn long_values_come_back_in_every_format() {
    let place = Place::new();
    let pool = &*place.pool();
    let value: String = (0..120_000).map(|i| format!("{i:x}\" ,")).collect();
    std::fs::write(place.path("value"), &value).expect("a file");
    works(&["put", pool, "k", "--file", &place.text("value"), "--map", "roart"]);
    for format in ["tsv", "csv", "json", "mdb", "mdb-print"] {
        let (file, again) = (place.text("file"), place.text(format));
        works(&["export", pool, &file, "--map", "roart", "--format", format]);
        works(&["import", &again, &file, "--map", "roart", "--format", format]);
        assert!(works(&["get", &again, "k", "--map", "roart", "--raw"]) == value, "{format}");
    }
}

#[test]
fn hints_suit_what_is_read() {
    let place = Place::new();
    let pool = &*place.pool();
    let long = "a".repeat(500_000);
    for (input, format, hint) in [
        ("1;2\n", "auto", "--format"),
        (&long, "auto", "--format"),
        (&long, "json", "an object"),
        ("\u{feff}\n", "json", ""),
        ("VERSION=2222\n", "auto", "VERSION=3"),
        (
            "VERSION=3\nformat=print\ntype=btree\nHEADER=END\n \\zz\n a\nDATA=END\n",
            "auto",
            "hexadecimal",
        ),
    ] {
        let output = endura_with(&["import", pool, "--format", format], input.as_bytes());
        let said = text(&output.stderr);
        assert!(said.contains(hint), "{input:.20}: {said}");
        let may_be_a_header = format == "auto" && input.len() < 10;
        assert_eq!(said.contains("--header"), may_be_a_header, "{said}");
    }
    let utf16 = endura_with(&["import", pool], b"\xff\xfe1\0\t\0");
    assert!(!text(&utf16.stderr).contains("--header"), "{}", text(&utf16.stderr));
    assert!(place.names().is_empty());
}

/// What is wrong is with the pool, and no correction of the file helps.
#[test]
fn a_full_pool_is_no_fault_of_the_file() {
    let place = Place::in_memory();
    let pool = &*place.pool();
    let lines: String = (0..300_000).map(|i| format!("{i}\t{i}\n")).collect();
    let output = endura_with(&["import", pool, "--max-size", "4M"], lines.as_bytes());
    let said = text(&output.stderr);
    assert_eq!(code(&output), 3, "{said}");
    assert!(
        said.contains(&format!("{pool}: the pool has reached")) && !said.contains("correct"),
        "{said}"
    );
    assert!(said.contains("standard input, line ") && said.contains("nothing was"), "{said}");
    assert!(place.names().is_empty(), "a new pool stays without its entries");
    works(&["put", pool, "0", "7"]);
    let output = endura_with(&["import", pool, "--max-size", "4M"], lines.as_bytes());
    let said = text(&output.stderr);
    assert!(code(&output) == 3 && said.contains(" added"), "{said}");
    assert!(endura(&["check", pool]).status.success());
}

/// Neither takes all memory, and then the shell's word for it.
#[test]
fn what_does_not_end_is_refused() {
    let place = Place::new();
    let pool = &*place.pool();
    let long = std::fs::File::create(place.path("long")).expect("a file");
    long.set_len(2 << 30).expect("a hole");
    let complaint =
        ends_with(3, &["put", pool, "k", "--file", &place.text("long"), "--map", "roart"]);
    assert!(complaint.contains("/long is longer than a value"), "{complaint}");

    let script = "ulimit -v 400000; (printf 'k\\t'; head -c 500000000 /dev/zero | tr '\\0' a) | \"$0\" import \"$1\" \
                  --map roart";
    let output = Command::new("sh").args(["-c", script]).arg(program()).arg(pool).output();
    let output = output.expect("a shell");
    let said = text(&output.stderr);
    assert!(code(&output) == 3 && said.contains("standard input: out of memory"), "{said}");
    assert_eq!(place.names(), ["long"]);
}
