//! Each public item of the crate has an example, or a reason why it has none.

use std::collections::BTreeSet;
use std::{fs, iter};

use crate::rules;

/// Items without an example, by the reason.
const WITHOUT: [(&str, &[&str]); 7] = [
    (
        "the type that it belongs to has one",
        &[
            "MapOptions::new",
            "MapOptions::kind",
            "MapOptions::create",
            "Pool::map_with",
            "Pool::options",
            "PoolOptions::open",
            "PoolOptions::create_new",
            "PoolOptions::max_size",
            "PoolOptions::read_only",
        ],
    ),
    (
        "its neighbour has one that shows both",
        &[
            "Map::last_key_value",
            "Map::pop_last",
            "Map::pop_last_key",
            "Map::is_empty",
            "Map::approximate_len",
            "Map::iter",
            "Range::keys",
            "Range::values",
            "Range::visit_rev",
            "Keys",
            "Keys::skip_prefix",
            "Keys::skip_to",
            "Values",
            "Pool::backup_with",
        ],
    ),
    (
        "it returns a fact",
        &["Map::name", "Map::kind", "Pool::path", "Pool::restored", "PoolOptions::settings"],
    ),
    (
        "a setting, which the guide explains beside the others",
        &[
            "MapOptions::node_layout",
            "PoolOptions::media",
            "PoolOptions::accept_unclean",
            "PoolOptions::checkpoints",
            "PoolOptions::restore",
            "PoolOptions::allow_any_filesystem",
            "PoolOptions::read_mostly",
            "PoolOptions::recovery_threads",
            "Pool::recover_leaks",
        ],
    ),
    (
        "the example of `Batch` shows it, or it does what its name says, as in a `Vec`",
        &[
            "Batch::clear",
            "Batch::commit",
            "Batch::delete",
            "Batch::is_empty",
            "Batch::len",
            "Batch::put",
        ],
    ),
    (
        "the examples of `Pool::transact`, here and in the guide, show it",
        &[
            "Transaction",
            "Transaction::contains_key",
            "Transaction::delete",
            "Transaction::get",
            "Transaction::put",
        ],
    ),
    (
        "programs name it only in bounds; `examples/generic.rs` and `examples/newtypes.rs` do",
        &["Key", "Value", "KeyBound", "KeyRange", "PrefixKey", "Visit"],
    ),
];

/// The public items of a source, each with whether its documentation has code.
fn items(source: &str) -> Vec<(String, bool)> {
    let (mut found, mut of, mut docs, mut is_hidden) =
        (Vec::new(), String::new(), String::new(), false);
    for line in source.lines() {
        let word = |text: &str| -> String {
            text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
        };
        if line.starts_with("impl") {
            let after = line
                .split_once("> ")
                .filter(|_| line.starts_with("impl<"))
                .map_or(line, |(_, rest)| rest);
            of = word(after.trim_start_matches("impl ").trim_start());
        }
        let line = line.trim();
        let item = ["pub fn ", "pub struct ", "pub trait ", "pub enum "].iter().find_map(|start| {
            let name = word(line.strip_prefix(start)?);
            Some(if *start == "pub fn " { format!("{of}::{name}") } else { name })
        });
        match item {
            _ if line.starts_with("///") => docs += line,
            _ if line.starts_with("#[doc(hidden)]") => is_hidden = true,
            _ if line.starts_with("#[")
                || (!docs.is_empty() && !line.is_empty() && item.is_none()) => {}
            Some(name) if !is_hidden && name != "Sealed" => {
                found.push((name, docs.contains("```")))
            }
            _ => {}
        }
        if line.is_empty() || line.ends_with(['{', ';', '}']) {
            (docs, is_hidden) = (String::new(), false);
        }
    }
    found
}

#[test]
fn each_public_item_has_an_example_or_a_reason() {
    let mut files = Vec::new();
    rules::sources(&rules::root().join("crates/endura/src"), &mut files);
    let files =
        files.iter().filter(|file| !file.components().any(|part| part.as_os_str() == "dynamic"));
    let all: Vec<_> = files.flat_map(|file| items(&fs::read_to_string(file).unwrap())).collect();
    let without: BTreeSet<_> =
        all.iter().filter(|(_, has)| !has).map(|(name, _)| name.as_str()).collect();
    let excused: BTreeSet<_> =
        WITHOUT.iter().flat_map(|(_, names)| names.iter().copied()).collect();
    println!("{} public items, {} of them with an example", all.len(), all.len() - without.len());
    assert!(all.len() > 80, "{} items only", all.len());
    let wrong: Vec<_> = without.symmetric_difference(&excused).collect();
    assert!(wrong.is_empty(), "without an example or a reason, or with both: {wrong:?}");
}

#[test]
fn an_item_without_an_example_is_noticed() {
    let source = "impl<K: Key> Map<K> {\n/// Text.\n/// ```\n#[must_use]\npub fn a() {\n}\n\n/// Text.\npub fn b<R>(\n    c: R,\n) {\n}\n}\n\
                  #[doc(hidden)]\npub fn c() {}\nimpl Pool {\n    /// Text.\n    pub fn d(self) -> Self {\n}\n}\n";
    let found: Vec<_> = items(source);
    let expected = [("Map::a", true), ("Map::b", false), ("Pool::d", false)];
    assert!(found.iter().map(|(name, has)| (name.as_str(), *has)).eq(expected), "{found:?}");
    assert_eq!(iter::once(items("pub struct A;")).flatten().count(), 1);
}
