//! Where `unsafe` may stand, how long a file may be, and that no notes to do something are left.

use std::fs;
use std::path::{Path, PathBuf};

/// The doors for `unsafe`, relative to the root of the workspace: those of the library, and what
/// other crates and tests cannot do without.
const UNSAFE_DOORS: [&str; 28] = [
    // Media that record their stores, or watch what passes through.
    "crates/endura-variants/src/media/",
    "crates/endura-sim/src/sim/medium.rs",
    "crates/endura-sim/src/owned.rs",
    "crates/endura-engine/src/cpu/",
    "crates/endura-engine/src/media/",
    "crates/endura-engine/src/os/",
    "crates/endura-engine/src/runtime/",
    // Tests that fork, or limit what a process may do.
    "crates/endura-tests/tests/batches/views.rs",
    "crates/endura-tests/tests/faults/",
    "crates/endura-tests/tests/files/",
    "crates/endura-tests/tests/locks.rs",
    "crates/endura-engine/tests/engine/nesting/forked.rs",
    // A medium that is watched, and an allocator that counts.
    "crates/endura-engine/tests/engine/support/watched.rs",
    "crates/endura-engine/tests/engine/space/memory.rs",
    // `heed` asks its caller to promise that no other process truncates the file.
    "crates/endura-bench/src/store/peers/lmdb.rs",
    // RocksDB is a library of C functions.
    "crates/endura-bench/src/store/peers/rocksdb/ffi.rs",
    // So is the API of Redis; and what Redis calls.
    "crates/endura-redis/src/redis/",
    "crates/endura-redis/src/commands/acl.rs",
    "crates/endura-redis/src/commands/table.rs",
    "crates/endura-redis/src/keys/events.rs",
    "crates/endura-redis/src/keys/fork.rs",
    "crates/endura-redis/src/keys/methods.rs",
    "crates/endura-redis/src/load.rs",
    // Every function of `endura.h` takes pointers of C; its tests call them as C does.
    "crates/endura-c/src/",
    "crates/endura-c/tests/",
    // A buffer of Python is a pointer and a length; and calls of it that may not come back.
    "crates/endura-python/src/convert/encoded.rs",
    "crates/endura-python/src/call.rs",
    "crates/endura-python/src/module.rs",
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
            found.push(format!("{at}: `unsafe` outside its doors"));
        }
    }
    found
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

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

pub(crate) fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
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
fn the_sources_keep_their_doors_and_lengths() {
    let root = root();
    let mut files = Vec::new();
    sources(&root.join("crates"), &mut files);
    let mut all = Vec::new();
    for file in &files {
        let path = file.strip_prefix(&root).unwrap().to_str().unwrap();
        if path != "crates/endura/tests/architecture/rules.rs" {
            all.extend(complaints(path, &fs::read_to_string(file).unwrap()));
        }
    }
    assert!(files.len() > 20, "the sources were found");
    assert!(all.is_empty(), "\n{}", all.join("\n"));
}

/// A check that cannot fail is none: small bad samples, and good ones that look like them.
#[test]
fn bad_samples_are_noticed() {
    let bad = [
        ("crates/endura-engine/src/tree/mod.rs", "unsafe { media.load(0) }"),
        ("crates/endura-engine/src/tree/mod.rs", "pub unsafe fn load() {}"),
        ("crates/endura-cli/src/main.rs", "    unsafe { libc::kill(1, 9) };"),
        ("crates/endura-engine/src/media/mod.rs", "// TODO: later"),
        ("crates/endura/tests/x.rs", "/* FIXME */"),
    ];
    for (path, text) in bad {
        assert_eq!(complaints(path, text).len(), 1, "{path}: {text}");
    }
    assert_eq!(complaints("crates/endura-bench/src/a.rs", &"\n".repeat(501)).len(), 1);
    let good = [
        ("crates/endura-engine/src/media/heap.rs", "unsafe impl Media for Heap {}"),
        ("crates/endura-engine/src/tree/mod.rs", "#![deny(unsafe_code)] // nothing unsafe here"),
        ("crates/endura-cli/src/main.rs", "use endura::Pool; use crate::store::x;"),
    ];
    for (path, text) in good {
        assert_eq!(complaints(path, text), Vec::<String>::new());
    }
}
