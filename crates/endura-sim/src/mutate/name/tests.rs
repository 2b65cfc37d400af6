use std::path::{Path, PathBuf};

use super::{Area, Name, Names};

const AREAS: [Area; 2] =
    [Area { folder: "fast_fair", least: 1 }, Area { folder: "space", least: 1 }];

fn names(files: &[(&str, &str)]) -> Names {
    let of = |&(path, text): &(&str, &str)| {
        (text.to_owned(), PathBuf::from(format!("crates/endura-engine/src/{path}")))
    };
    Names::of(files.iter().map(of).collect(), &AREAS).unwrap_or_else(|wrong| panic!("{wrong}"))
}

/// The function and the call of all calls in a file.
fn calls(names: &Names, path: &str) -> Vec<(String, String)> {
    let path = PathBuf::from(format!("crates/endura-engine/src/{path}"));
    let (_, source) = &names.files[&path];
    source.media_calls().into_iter().filter_map(|at| names.call(&path, source, at)).collect()
}

fn owned(calls: &[(&str, &str)]) -> Vec<(String, String)> {
    calls.iter().map(|&(function, call)| (function.to_owned(), call.to_owned())).collect()
}

const SPLIT: &str = "impl Tree { fn split(&self) { m.fence(); words.flush(a, 1); m.fence(); } }";
const EDITED: &str = "impl<M> Tree<M> {
    /// It splits.
    fn split(&self) {
        let medium = self.medium();
        medium
            .fence();
        // Then.
        lines.flush(begin, 1); medium.fence();
    }
}";

#[test]
fn a_function_keeps_its_name_when_it_moves_and_when_what_it_does_is_written_otherwise() {
    let expected = owned(&[
        ("Tree::split", "fence 1"),
        ("Tree::split", "flush 1"),
        ("Tree::split", "fence 2"),
    ]);
    let before = names(&[("tree/fast_fair/split.rs", SPLIT)]);
    assert_eq!(calls(&before, "tree/fast_fair/split.rs"), expected);
    let moved = "index/fast_fair/write/split.rs";
    assert_eq!(calls(&names(&[(moved, EDITED)]), moved), expected);
}

#[test]
fn functions_of_one_name_in_a_folder_are_numbered_and_others_are_not() {
    let free = "fn word() { m.fence(); }";
    let names = names(&[
        ("space/b.rs", free),
        ("space/a/a.rs", free),
        ("space/tests/a.rs", free),
        ("tree/fast_fair/c.rs", free),
        ("pool/d.rs", free),
    ]);
    assert_eq!(names.files.len(), 3);
    assert_eq!(calls(&names, "space/a/a.rs"), owned(&[("word", "fence 1")]));
    assert_eq!(calls(&names, "space/b.rs"), owned(&[("word (number 2)", "fence 1")]));
    assert_eq!(calls(&names, "tree/fast_fair/c.rs"), owned(&[("word", "fence 1")]));
}

#[test]
fn a_name_is_read_as_it_was_written() {
    let text = "space, Page::word (number 2), without Fence, fence 1";
    let name = Name::parse(text).unwrap_or_else(|| panic!("{text}"));
    assert_eq!((name.to_string().as_str(), name.own_function()), (text, "word"));
    assert_eq!(Name::parse("space, word, without Fence"), None);
    assert_eq!(Name::parse("space, , without Fence, fence 1"), None);
}

#[test]
fn a_folder_is_found_wherever_it_lies_in_the_product() {
    let [area, space] = AREAS;
    assert!(area.holds("crates/endura-engine/src/fast_fair/node.rs"));
    assert!(area.holds("crates/endura-engine/src/tree/fast_fair/node/node.rs"));
    assert!(!area.holds("crates/endura-engine/src/tree/fast_fair.rs"));
    assert!(!area.holds("crates/endura-sim/src/fast_fair/node.rs"));
    assert!(space.holds("crates/endura-engine/src/space/maps.rs"));
    assert!(!space.holds("crates/endura-engine/src/session/open.rs"));
    assert!(!area.holds(Path::new("tree/fast_fair/node.rs").to_string_lossy().as_ref()));
}
