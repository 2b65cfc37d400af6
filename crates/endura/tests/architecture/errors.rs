//! Every error is a sentence that says what to do, has a code of its own, and a row in the guide.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use endura::{Error, Kind, SpaceLimit, Types};
use syn::visit::{self, Visit};
use syn::{Expr, ExprLit, ExprStruct, Item, Lit};

use crate::rules;

/// What a text may tell its reader to do, behind what it says has happened.
const ACTS: &[&str] = &[
    "announce",
    "check",
    "choose",
    "close",
    "export",
    "free",
    "name",
    "give",
    "import",
    "leave",
    "let",
    "make",
    "mend",
    "open",
    "read",
    "raise",
    "reconfigure",
    "remove",
    "restore",
    "run",
    "see",
    "set",
    "shorten",
    "solve",
    "split",
    "store",
    "tried again",
    "use",
    "allow",
];

fn one_of_each() -> Vec<Error> {
    let types = || Box::new(Types { key: "str".into(), value: "u64".into() });
    let name = || String::from("users");
    let source = || io::Error::from(io::ErrorKind::NotFound);
    let wrong_kind =
        |found| Error::WrongKind { name: name(), types: types(), found, want: Kind::NbTree };
    vec![
        Error::Corrupt { offset: 1, what: "noise" },
        Error::Full { need: 1, free: 0, limit: SpaceLimit::MaxSize, pool: None },
        Error::Full { need: 1, free: 1 << 20, limit: SpaceLimit::DiskFull, pool: None },
        Error::Full { need: 1, free: 0, limit: SpaceLimit::Quota, pool: None },
        Error::Full { need: 1, free: 0, limit: SpaceLimit::FileSizeLimit, pool: None },
        Error::Full { need: 1, free: 0, limit: SpaceLimit::FileSystem, pool: None },
        Error::Full { need: 1, free: 0, limit: SpaceLimit::AddressSpace, pool: None },
        Error::Locked,
        Error::Forked,
        Error::NeedsRecovery,
        Error::NeedsRestore { reason: "a copy", checkpoint: None },
        Error::BadCheckpoint {
            path: "data.checkpoint".into(),
            what: "of another pool: give it a file of its own",
        },
        Error::Displaced { path: "data".into(), now: None },
        Error::Displaced { path: "data".into(), now: Some(Path::new("moved").into()) },
        Error::Version { found: 1, want: 2 },
        Error::UnknownFeatures { bits: 1 },
        Error::NotAPool { pool: None, what: "noise", checkpoint: None },
        Error::Truncated { have: 1, need: 2, checkpoint: None },
        Error::KeyTooLong { len: 2, max: 1 },
        Error::ValueTooLong { len: 2, max: 1 },
        Error::WrongTypes { name: name(), found: types(), want: types() },
        wrong_kind(None),
        wrong_kind(Some(Kind::Roart)),
        Error::OtherNodes { name: name() },
        Error::Encode { type_name: name(), source: "no".into() },
        Error::Decode { type_name: name(), source: "no".into() },
        Error::Write(source()),
        Error::ShortValue { len: 2, written: 1 },
        Error::UnknownNodes { name: name() },
        Error::BadName,
        Error::BadTypeName { name: name() },
        Error::NoSuchMap { name: name() },
        Error::MapExists { name: name() },
        Error::Poisoned,
        Error::Dropped,
        Error::Closed { pool: None },
        Error::ReclaimStalled { waiting: 1 },
        Error::RecursiveUpdate { runs: 9 },
        Error::Unmet { index: 3 },
        Error::BatchTooLarge { operations: 1 << 21, bytes: 5 },
        Error::OtherPool,
        Error::Contended { runs: 9 },
        Error::InsideOperation,
        Error::WritersStay { threads: 1, thread: 1 },
        Error::ReadOnly,
        Error::Unsupported { what: "this file system loses data: use another" },
        Error::Io { doing: "opening it".into(), source: source() },
        Error::Io { doing: "opening it".into(), source: io::Error::from(io::ErrorKind::TimedOut) },
    ]
}

/// Whether a text names an act in its last part.
fn names_an_act(text: &str) -> bool {
    let last = text.rsplit([':', ';', '?']).next().unwrap_or_default();
    let words: BTreeSet<_> = last.split(|c: char| !c.is_alphabetic()).collect();
    ACTS.iter().any(|act| words.contains(act) || act.contains(' ') && last.contains(act))
}

#[test]
fn every_error_says_what_to_do() {
    let source =
        std::fs::read_to_string(rules::root().join("crates/endura-engine/src/error/error.rs"))
            .unwrap();
    let file = syn::parse_file(&source).unwrap();
    let variants: BTreeSet<String> = file
        .items
        .iter()
        .filter_map(|item| match item {
            Item::Enum(item) if item.ident == "Error" => Some(item),
            _ => None,
        })
        .flat_map(|item| item.variants.iter().map(|variant| variant.ident.to_string()))
        .collect();
    let (mut codes, guide) = (BTreeSet::new(), include_str!("../../../../docs/guide.md"));
    for error in one_of_each() {
        let text = error.to_string();
        assert!(names_an_act(&text), "names no act: {text}");
        let code = error.code();
        let variant: String =
            code.split('_').map(|word| word[..1].to_uppercase() + &word[1..]).collect();
        assert!(variants.contains(&variant), "`{code}` is the code of no variant");
        let mut rows = guide.lines().filter(|line| line.starts_with("| `"));
        let has_row = rows.any(|row| {
            row.split(" | ").next().is_some_and(|cell| cell.contains(&format!("`{variant}`")))
        });
        assert!(has_row, "docs/guide.md has no row for `{variant}`");
        codes.insert(variant);
    }
    assert_eq!(codes, variants, "a variant without a code, or not tried here");
}

/// A path that the caller gave can be checked by the caller; what else fails has other causes.
#[test]
fn advice_about_a_path_is_for_the_callers_path() {
    let text = |doing: &str, kind| Error::io(doing, io::Error::from(kind)).to_string();
    let kinds = [io::ErrorKind::NotFound, io::ErrorKind::PermissionDenied];
    for kind in kinds {
        for doing in ["opening data.endura", "creating data.endura"] {
            assert!(text(doing, kind).contains("; check "), "{}", text(doing, kind));
        }
        for doing in ["syncing the pool's file", "reading /proc/sys/kernel/random/boot_id"] {
            let text = text(doing, kind);
            assert!(!text.contains("check") && names_an_act(&text), "{text}");
        }
    }
    let broken = text("syncing the pool's file", io::ErrorKind::ReadOnlyFilesystem);
    assert!(broken.contains("kernel's log") && names_an_act(&broken), "{broken}");
    let long = text("writing the pool's superblock", io::ErrorKind::FileTooLarge);
    assert!(long.contains("ulimit -f") && names_an_act(&long), "{long}");
}

/// The texts of `Error::Unsupported { what: "…" }`.
#[derive(Default)]
struct Unsupported(Vec<String>);

impl<'ast> Visit<'ast> for Unsupported {
    fn visit_expr_struct(&mut self, found: &'ast ExprStruct) {
        if found.path.segments.last().is_some_and(|segment| segment.ident == "Unsupported") {
            for field in &found.fields {
                if let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = &field.expr {
                    self.0.push(text.value());
                }
            }
        }
        visit::visit_expr_struct(self, found);
    }
}

/// What is missing is said where it is found: those texts name acts as well.
#[test]
fn what_is_not_supported_is_said_with_an_act() {
    let (mut files, mut found) = (Vec::new(), Unsupported::default());
    for name in ["endura", "endura-engine"] {
        rules::sources(&rules::root().join("crates").join(name).join("src"), &mut files);
    }
    for file in files {
        let source = std::fs::read_to_string(file).unwrap();
        found.visit_file(&syn::parse_file(&source).unwrap());
    }
    let Unsupported(texts) = found;
    assert!(texts.len() > 5, "{texts:?} only");
    texts.iter().for_each(|text| assert!(names_an_act(text), "names no act: {text}"));
}

#[test]
fn a_text_without_an_act_is_noticed() {
    assert!(!names_an_act("the map was dropped"));
    assert!(!names_an_act("open the pool: it stays away"));
    assert!(names_an_act("the map was dropped: open it again"));
}
