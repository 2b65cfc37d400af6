//! No sentence that a client or the log gets has a word of Rust, of the command or of another server, or two
//! pieces of advice.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::{fs, iter};

use endura::{Error, Kind, Pool, SpaceLimit};

use super::{in_words, sentence};
use crate::store::Failure;

/// Words of Rust, of the command and of other servers.
const FOREIGN: [&str; 18] = [
    "max_size",
    "--",
    "-m ",
    "lock_timeout",
    "last_failure",
    "limbo_bytes",
    "`sizes`",
    "::",
    "accept_unclean",
    "must_exist",
    "allow_any",
    "`Auto`",
    "the event",
    "`put`",
    "on_event",
    "this build",
    "`checkpoints`",
    "read_only",
];

/// What of this kind a sentence may have: the command is the tool for a pool that no server has open, and the others
/// are programs of the system.
const OWN: [&str; 4] = [
    "endura check --accept",
    "endura restore POOL --from CHECKPOINT",
    "cp --reflink=never",
    "cp --sparse=never",
];

/// The first word of others in a sentence.
fn foreign(text: &str) -> Option<&'static str> {
    let rest = OWN.iter().fold(text.to_owned(), |text, own| text.replace(own, ""));
    FOREIGN.into_iter().find(|word| rest.contains(word))
}

/// One error of each variant, with the longest texts where there are several.
fn errors() -> Vec<Error> {
    let name = || "redis:map:2".to_owned();
    let path = || PathBuf::from("/srv/data.endura");
    let source = || "no number".into();
    let kinds = [
        ErrorKind::NotFound,
        ErrorKind::AlreadyExists,
        ErrorKind::PermissionDenied,
        ErrorKind::ReadOnlyFilesystem,
        ErrorKind::StorageFull,
        ErrorKind::FileTooLarge,
        ErrorKind::OutOfMemory,
        ErrorKind::Other,
    ];
    let io = kinds.into_iter().map(|kind| Error::io("opening /srv/data.endura", kind));
    let folder = tempfile::tempdir().unwrap();
    let pool = Pool::open(folder.path().join("p")).unwrap();
    pool.map::<u64, u64>("numbers").unwrap();
    let types = pool.map::<str, str>("numbers").unwrap_err();
    let kind = pool.map_with::<u64, u64>("numbers", endura::MapOptions::new().kind(Kind::NbTree));
    let mut all = vec![
        types,
        kind.unwrap_err(),
        Error::Corrupt { offset: 4096, what: "a span without a header" },
        Error::Full { need: 4096, free: 28_672, limit: SpaceLimit::MaxSize, pool: None },
        Error::Locked,
        Error::Forked,
        Error::NeedsRecovery,
        Error::NeedsRestore { reason: "the machine went down", checkpoint: None },
        Error::BadCheckpoint { path: path(), what: "it is damaged; move it away" },
        Error::Displaced { path: path(), now: None },
        Error::Displaced { path: path(), now: Some(Path::new("/srv/other").into()) },
        Error::Version { found: 2, want: 3 },
        Error::UnknownFeatures { bits: 8 },
        Error::NotAPool { pool: None, what: "it is a folder", checkpoint: None },
        Error::NotAPool { pool: None, what: "the file is empty", checkpoint: None },
        Error::Truncated { have: 1, need: 2, checkpoint: None },
        Error::KeyTooLong { len: 2, max: 1 },
        Error::ValueTooLong { len: 2, max: 1 },
        Error::OtherNodes { name: name() },
        Error::Encode { type_name: name(), source: source() },
        Error::Decode { type_name: name(), source: source() },
        Error::Write(io::Error::other("no")),
        Error::ShortValue { len: 2, written: 1 },
        Error::UnknownNodes { name: name() },
        Error::BadName,
        Error::BadTypeName { name: name() },
        Error::NoSuchMap { name: name() },
        Error::MapExists { name: name() },
        Error::Poisoned,
        Error::Dropped,
        Error::Closed { pool: None },
        Error::ReclaimStalled { waiting: 110_032 },
        Error::RecursiveUpdate { runs: 3 },
        Error::InsideOperation,
        Error::WritersStay { threads: 1, thread: 7 },
        Error::ReadOnly,
        Error::Unsupported { what: "the kernel lacks membarrier(2)" },
    ];
    all.extend(io.into_iter().chain(of_batches()));
    all
}

fn of_batches() -> [Error; 4] {
    [
        Error::Unmet { index: 3 },
        Error::BatchTooLarge { operations: 1 << 21, bytes: 5 },
        Error::OtherPool,
        Error::Contended { runs: 3 },
    ]
}

#[test]
fn each_error_is_in_the_words_of_the_module() {
    let errors = errors();
    let codes: std::collections::BTreeSet<_> = errors.iter().map(Error::code).collect();
    assert_eq!(codes.len(), 40, "a variant is missing here, or new: {codes:?}");
    for error in errors {
        let text = sentence(&error);
        assert_eq!(foreign(&text), None, "{text}, from {error:?}");
        assert!(!text.contains("; or ") && text.matches("; ").count() < 2, "two advices: {text}");
        let text = Failure::from(error).text();
        assert!(text.starts_with("ERR endura: ") || text.starts_with("OOM endura: "), "{text}");
    }
}

#[test]
fn a_full_pool_is_the_error_that_clients_know() {
    for error in [
        Error::Full { need: 1, free: 0, limit: SpaceLimit::DiskFull, pool: None },
        Error::ReclaimStalled { waiting: 1 },
    ] {
        assert!(Failure::from(error).text().starts_with("OOM endura: the "));
    }
}

/// The string literals of a file, without its comments and its tests.
fn literals(source: &str) -> Vec<String> {
    let code = source.split("#[cfg(test)]\nmod").next().unwrap_or_default();
    let code: Vec<_> = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let code = code.join("\n").replace("'\"'", "");
    let mut characters = code.chars().peekable();
    let mut all = Vec::new();
    while characters.any(|character| character == '"') {
        let literal = iter::from_fn(|| match characters.next()? {
            '"' => None,
            '\\' => match characters.next()? {
                '\n' => {
                    while characters.next_if(|character| character.is_whitespace()).is_some() {}
                    Some(String::new())
                }
                escaped => Some(escaped.to_string()),
            },
            other => Some(other.to_string()),
        });
        all.push(literal.collect());
    }
    all
}

/// The reasons within errors, and warnings, are constants of the library.
#[test]
fn each_sentence_of_the_library_is_in_the_words_of_the_module() {
    let engine = Path::new(env!("CARGO_MANIFEST_DIR")).join("../endura-engine/src");
    let mut folders: Vec<_> =
        ["checkpoint", "session", "space", "media", "os"].map(|name| engine.join(name)).into();
    let (mut seen, mut wrong) = (0, Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("tests") {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") && !path.ends_with("tests.rs")
            {
                let source = fs::read_to_string(&path).unwrap();
                for text in literals(&source).iter().filter(|text| text.matches(' ').count() > 4) {
                    seen += 1;
                    let ours = in_words(text);
                    wrong.extend(foreign(&ours).map(|word| format!("{word} in: {ours}")));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen > 100, "{seen} sentences");
}
