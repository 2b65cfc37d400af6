//! `endura.h` says what the library exports, and the tests call all of it.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod prototype;
mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use prototype::{HEADER, constants, prototypes};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let (mut folders, mut found) = (vec![root().join(folder)], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|found| found == ending) {
                found.push(path);
            }
        }
    }
    assert!(!found.is_empty(), "{folder} has .{ending}");
    found
}

#[test]
fn each_prototype_is_that_of_its_function() {
    let (declared, mut defined) = (prototypes(HEADER), source::functions(&files("src", "rs")));
    assert!(declared.len() > 80, "{} only", declared.len());
    for prototype in &declared {
        let Some(function) = defined.remove(&prototype.name) else {
            panic!("no function `{}`", prototype.name);
        };
        assert_eq!(prototype.signature(), function, "{}", prototype.name);
    }
    assert!(defined.is_empty(), "not in the header: {defined:?}");
}

#[test]
fn a_wrong_prototype_is_noticed() {
    let of = |text: &str| prototypes(text).pop().unwrap().signature();
    let right = of("endura_status endura_len(endura_map map, uint64_t *len);");
    assert_eq!(right, "(map: MapHandle, len: *mut u64) -> Status");
    for wrong in [
        "endura_status endura_len(endura_map map, uint32_t *len);",
        "endura_status endura_len(endura_map map, const uint64_t *len);",
        "endura_status endura_len(endura_pool map, uint64_t *len);",
        "uint32_t endura_len(endura_map map, uint64_t *len);",
        "endura_status endura_len(uint64_t *len, endura_map map);",
    ] {
        assert_ne!(of(wrong), right, "{wrong}");
    }
}

#[test]
fn each_constant_has_its_number() {
    let mut declared = constants(HEADER);
    declared.remove("STATUS_INT_");
    let statuses: BTreeMap<String, i64> = endura_c::statuses()
        .map(|(status, name)| {
            let name = name.to_str().unwrap().to_uppercase();
            (if status < 0 { format!("E_{name}") } else { name }, status.into())
        })
        .collect();
    let flags = source::constants(&files("src", "rs"), "u32");
    let all: BTreeMap<_, _> = statuses.into_iter().chain(flags).collect();
    assert_eq!(declared, all);
    let named = source::constants(&files("src", "rs"), "Status");
    for (name, number) in named {
        assert_eq!(declared.get(&name), Some(&number), "{name}");
    }
}

#[test]
fn each_error_of_the_library_has_a_status() {
    let source = root().join("../endura-engine/src/error/error.rs");
    let source = fs::read_to_string(source).unwrap();
    let (_, codes) = source.split_once("pub fn code(&self)").unwrap();
    let codes: BTreeSet<&str> = codes
        .lines()
        .map_while(|line| if line.starts_with("    }") { None } else { Some(line) })
        .filter_map(|line| line.split_once("=> \"")?.1.strip_suffix("\","))
        .collect();
    assert!(codes.len() > 30 && codes.contains("io"), "{codes:?}");
    let known: BTreeSet<&str> =
        endura_c::statuses().map(|(_, name)| name.to_str().unwrap()).collect();
    let without: Vec<_> = codes.difference(&known).collect();
    assert!(without.is_empty(), "no status: {without:?}");
    let numbers: BTreeSet<_> = endura_c::statuses().map(|(status, _)| status).collect();
    assert_eq!(numbers.len(), endura_c::statuses().count(), "a number names two statuses");
}

#[test]
fn each_function_is_called_by_a_test() {
    let mut called = String::new();
    for file in files("tests", "rs").into_iter().chain(files("tests", "c")) {
        if !file.to_str().unwrap().contains("tests/header/") {
            called.push_str(&fs::read_to_string(file).unwrap());
        }
    }
    let is_called = |name: &str| {
        called.match_indices(name).any(|(at, _)| {
            let (before, after) = (&called[..at], &called[at + name.len()..]);
            after.starts_with('(') && !before.ends_with(|c: char| c.is_alphanumeric() || c == '_')
        })
    };
    let without: Vec<_> =
        prototypes(HEADER).into_iter().map(|p| p.name).filter(|name| !is_called(name)).collect();
    assert!(without.is_empty(), "no test calls {without:?}");
}

/// The shared library, as Cargo has built it for this test.
fn library() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let places = program.ancestors().skip(1).take(3);
    let places = places.flat_map(|folder| [folder.to_owned(), folder.join("deps")]);
    let newest = places.map(|folder| folder.join("libendura_c.so")).filter_map(|path| {
        let time = fs::metadata(&path).and_then(|meta| meta.modified()).ok()?;
        Some((time, path))
    });
    newest.max().expect("the library is built beside its tests").1
}

#[test]
fn the_library_exports_the_header_and_nothing_else() {
    let listed = Command::new("nm").args(["-D", "--defined-only"]).arg(library()).output();
    let Ok(listed) = listed else {
        println!("skipped: there is no `nm`");
        return;
    };
    assert!(listed.status.success(), "{listed:?}");
    let listed = String::from_utf8(listed.stdout).unwrap();
    let exported: BTreeSet<_> = listed.lines().filter_map(|line| line.split(' ').nth(2)).collect();
    let declared = prototypes(HEADER);
    let declared: BTreeSet<_> = declared.iter().map(|prototype| &*prototype.name).collect();
    assert_eq!(exported, declared);
}

#[test]
fn the_header_has_the_version_of_the_package() {
    let part = |name: &str| {
        let line = format!("#define ENDURA_VERSION_{name} ");
        let (_, rest) = HEADER.split_once(&line).unwrap();
        rest.lines().next().unwrap().parse::<u32>().unwrap()
    };
    let version = part("MAJOR") << 16 | part("MINOR") << 8 | part("PATCH");
    assert_eq!(version, endura_c::endura_version());
}
