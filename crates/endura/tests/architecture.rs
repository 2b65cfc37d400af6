//! The shape of the code, checked: which layer may import which, where `unsafe` may stand, and
//! how long a file may be.
//!
//! Data flows one way: volatile, then media, then pool, then tree, then store, then `lab`,
//! the door of tests and experiments, and the faces.
//! `error` and `sync` lie below all of them.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

/// The modules of the library with their height. A module imports only what lies lower, or itself;
/// `store` and `check` are one layer.
const LAYERS: [(&str, u32); 9] = [
    ("error", 0),
    ("sync", 0),
    ("volatile", 1),
    ("media", 2),
    ("pool", 3),
    ("tree", 4),
    ("store", 5),
    ("check", 5),
    ("lab", 6),
];

/// The doors for `unsafe`, relative to the root of the workspace: two of the library, and what
/// other crates and tests cannot do without.
const UNSAFE_DOORS: [&str; 11] = [
    // Media that record their stores.
    "crates/endura-sim/src/sim.rs",
    "crates/endura-sim/src/owned.rs",
    "crates/endura/src/media/",
    "crates/endura/src/volatile/",
    // Tests that fork, or limit what a process may do.
    "crates/endura/tests/faults/",
    "crates/endura/tests/locks.rs",
    "crates/endura/tests/engine/forked.rs",
    // A medium that is watched, and an allocator that counts.
    "crates/endura/tests/engine/watched.rs",
    "crates/endura/tests/engine/memory.rs",
    // `heed` asks its caller to promise that no other process truncates the file.
    "crates/endura-bench/src/store/lmdb.rs",
    // RocksDB is a library of C functions.
    "crates/endura-bench/src/store/rocksdb/ffi.rs",
];

const LONGEST_FILE: usize = 500;

/// What is wrong with the file at `path` (relative to the root of the workspace).
fn complaints(path: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let lines = text.lines().count();
    if lines > LONGEST_FILE {
        found.push(format!("{path}: {lines} lines, at most {LONGEST_FILE}"));
    }
    for (number, line) in text.lines().enumerate() {
        let at = format!("{path}:{}", number + 1);
        if mentions(line, "TODO") || mentions(line, "FIXME") {
            found.push(format!("{at}: a note to do something belongs into the issue tracker"));
        }
        let code = without_comment(line);
        if mentions(code, "unsafe") && !UNSAFE_DOORS.iter().any(|door| path.starts_with(door)) {
            found.push(format!("{at}: `unsafe` outside media/ and volatile/"));
        }
    }
    found.extend(upward_imports(path, text));
    found
}

/// Uses of `crate::` (or `super::` out of the module) that go up, or sideways between `media` and
/// `volatile`.
fn upward_imports(path: &str, text: &str) -> Vec<String> {
    let Some(from) = module(path) else { return Vec::new() };
    let Some(height) = height(from) else {
        return match path {
            "crates/endura/src/lib.rs" => Vec::new(),
            _ => vec![format!("{path}: the module `{from}` is in no layer")],
        };
    };
    let code: Vec<&str> = text.lines().map(without_comment).collect();
    let code = code.join("\n");
    let to_the_root = "super::".repeat(depth(path));
    let mut imported = modules_after(&code, "crate::");
    imported.extend(modules_after(&code, &to_the_root));
    let upward = |name: &&String| match self::height(name) {
        Some(other) => other >= height && layer(name) != layer(from) && other != 0,
        None => false,
    };
    imported
        .iter()
        .filter(upward)
        .map(|name| format!("{path}: `{from}` imports `{name}`, which does not lie below it"))
        .collect()
}

/// The module of the library that a file belongs to.
fn module(path: &str) -> Option<&str> {
    let inside = path.strip_prefix("crates/endura/src/")?;
    let first = inside.split('/').next()?;
    Some(first.strip_suffix(".rs").unwrap_or(first))
}

/// How many steps of `super` lead from a file to the root of its crate.
fn depth(path: &str) -> usize {
    path.matches('/').count()
        - "crates/endura/src".matches('/').count()
        - usize::from(path.ends_with("/mod.rs"))
}

/// The layer of a module: itself, but for the one that stands beside another.
fn layer(name: &str) -> &str {
    if name == "check" { "store" } else { name }
}

fn height(name: &str) -> Option<u32> {
    LAYERS.iter().find(|(module, _)| *module == name).map(|&(_, height)| height)
}

/// The names that follow `prefix`: one, or all first names in a pair of braces.
fn modules_after(code: &str, prefix: &str) -> Vec<String> {
    let mut names = Vec::new();
    for (at, _) in code.match_indices(prefix) {
        let rest = &code[at + prefix.len()..];
        match rest.strip_prefix('{') {
            Some(list) => names.extend(first_names(list)),
            None => names.extend(first_name(rest)),
        }
    }
    names
}

fn first_name(text: &str) -> Option<String> {
    let name: String =
        text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    (!name.is_empty()).then_some(name)
}

/// The first name of each path in the list that starts here and ends with its closing brace.
fn first_names(list: &str) -> Vec<String> {
    let (mut depth, mut starts, mut names) = (0, true, Vec::new());
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                starts = true;
                continue;
            }
            _ => {}
        }
        if starts && !c.is_whitespace() {
            names.extend(first_name(&list[at..]));
            starts = false;
        }
    }
    names
}

fn without_comment(line: &str) -> &str {
    line.split("//").next().unwrap_or_default()
}

/// Whether `word` stands in the line as a word of its own.
fn mentions(line: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        !line[..at].chars().next_back().is_some_and(is_part)
            && !line[at + word.len()..].chars().next().is_some_and(is_part)
    })
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn the_sources_keep_their_layers_doors_and_lengths() {
    let root = root();
    let mut files = Vec::new();
    sources(&root.join("crates"), &mut files);
    let mut all = Vec::new();
    for file in &files {
        let path = file.strip_prefix(&root).unwrap().to_str().unwrap();
        if path != "crates/endura/tests/architecture.rs" {
            all.extend(complaints(path, &fs::read_to_string(file).unwrap()));
        }
    }
    assert!(files.len() > 20, "the sources were found");
    assert!(all.is_empty(), "\n{}", all.join("\n"));
}

#[test]
fn every_module_of_the_library_has_a_layer() {
    for entry in fs::read_dir(root().join("crates/endura/src")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let name = name.strip_suffix(".rs").unwrap_or(&name);
        assert!(name == "lib" || height(name).is_some(), "{name}");
    }
}

/// A check that cannot fail is none: small bad samples, and good ones that look like them.
#[test]
fn bad_samples_are_noticed() {
    let bad = [
        ("crates/endura/src/media/mod.rs", "use crate::pool::Space;"),
        ("crates/endura/src/media/mod.rs", "use crate::{Error, pool::Space};"),
        ("crates/endura/src/volatile/mod.rs", "use crate::media::Media;"),
        (
            "crates/endura/src/pool/alloc/mod.rs",
            "use crate::{\n    media::{self, Media},\n    tree,\n};",
        ),
        ("crates/endura/src/tree/fast_fair/read.rs", "let x = crate::store::Pool::options();"),
        ("crates/endura/src/pool/mod.rs", "use crate::check::Report;"),
        ("crates/endura/src/sync.rs", "use crate::media::Media;"),
        ("crates/endura/src/sync.rs", "use super::media::Media;"),
        ("crates/endura/src/pool/alloc/page.rs", "use super::super::super::tree::Tree;"),
        ("crates/endura/src/pool/mod.rs", "use super::tree::Tree;"),
        ("crates/endura/src/novel.rs", ""),
        ("crates/endura/src/tree/mod.rs", "unsafe { media.load(0) }"),
        ("crates/endura/src/tree/mod.rs", "pub unsafe fn load() {}"),
        ("crates/endura-cli/src/main.rs", "    unsafe { libc::kill(1, 9) };"),
        ("crates/endura/src/media/mod.rs", "// TODO: later"),
        ("crates/endura/tests/x.rs", "/* FIXME */"),
    ];
    for (path, text) in bad {
        assert_eq!(complaints(path, text).len(), 1, "{path}: {text}");
    }
    assert_eq!(complaints("crates/endura-bench/src/a.rs", &"\n".repeat(501)).len(), 1);
    let good = [
        ("crates/endura/src/media/heap.rs", "unsafe impl Media for Heap {}"),
        ("crates/endura/src/tree/mod.rs", "#![deny(unsafe_code)] // nothing unsafe here"),
        (
            "crates/endura/src/tree/mod.rs",
            "use crate::{Error, media::Media, pool::{Guard, Space}};",
        ),
        ("crates/endura/src/store/mod.rs", "use crate::store::Pool; use crate::tree;"),
        ("crates/endura/src/store/pool.rs", "use crate::check::{self, Report};"),
        ("crates/endura/src/pool/space.rs", "//! Trees (see crate::tree) use only this."),
        ("crates/endura-cli/src/main.rs", "use endura::Pool; use crate::store::x;"),
    ];
    for (path, text) in good {
        assert_eq!(complaints(path, text), Vec::<String>::new());
    }
}
