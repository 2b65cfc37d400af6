//! Which room of the house may use which: layers of the library, circles in every folder, and
//! `lib.rs` and `mod.rs` that hold nothing but declarations.
//!
//! Data flows one way: cpu and os, then media and runtime, then space, then checkpoint and tree, then index, session, encoding, pool and
//! map, then dynamic, then the faces.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::circles::{Knot, knots};
use super::names::{Crate, Edge};
use super::rules;

/// The modules of the library, which are those of two crates, each above those that it may use; what stands in one row may not
/// use its neighbours.
pub(super) const LAYERS: [&[&str]; 15] = [
    &["kind", "numbered", "settings", "types"],
    &["error"],
    &["sync"],
    &["cpu"],
    &["os"],
    &["media", "runtime"],
    &["space"],
    &["checkpoint", "tree"],
    &["index"],
    &["session"],
    &["encoding"],
    &["pool"],
    &["map"],
    &["batch"],
    &["dynamic"],
];

/// The crates of the workspace, each with the files of its `src`, by their path in it.
fn crates() -> BTreeMap<String, BTreeMap<String, String>> {
    let folder = rules::root().join("crates");
    let mut crates = BTreeMap::new();
    for entry in fs::read_dir(&folder).unwrap() {
        let root = entry.unwrap().path();
        let (src, mut files) = (root.join("src"), Vec::new());
        rules::sources(&src, &mut files);
        let texts = files.iter().map(|file| {
            let path = file.strip_prefix(&src).unwrap().to_str().unwrap().to_owned();
            (path, fs::read_to_string(file).unwrap())
        });
        let name = root.file_name().unwrap().to_str().unwrap().to_owned();
        // A program in a folder of its own is a crate of its own.
        let (programs, rest): (BTreeMap<_, _>, _) =
            texts.partition(|(path, _)| path.starts_with("bin/"));
        crates.insert(name.clone(), as_folders(rest));
        for (path, text) in programs {
            let (program, inner) = path["bin/".len()..].split_once('/').unwrap_or(("", &path));
            let files = crates.entry(format!("{name} {program}")).or_default();
            files.insert(inner.to_owned(), text);
        }
    }
    assert!(crates.len() > 4, "the crates were found");
    crates
}

/// `name.rs` beside a folder `name` belongs into it, as its `mod.rs`; a folder of its tests alone is none.
fn as_folders(sources: BTreeMap<String, String>) -> BTreeMap<String, String> {
    let has_folder = |path: &str| {
        let folder = format!("{}/", path.trim_end_matches(".rs"));
        sources.keys().any(|other| other.starts_with(&folder) && !other.ends_with("tests.rs"))
    };
    let moved = |path: &String| match has_folder(path) {
        true => format!("{}/mod.rs", path.trim_end_matches(".rs")),
        false => path.clone(),
    };
    sources.iter().map(|(path, text)| (moved(path), text.clone())).collect()
}

/// The roots of a crate: its library, its program, or both.
fn read(sources: &BTreeMap<String, String>) -> Vec<Crate> {
    let roots = ["lib.rs", "main.rs"].into_iter().filter(|&root| sources.contains_key(root));
    roots.map(|root| Crate::read(root, sources)).collect()
}

fn edges(sources: &BTreeMap<String, String>) -> BTreeSet<Edge> {
    read(sources).iter().flat_map(Crate::edges).collect()
}

/// The library as one crate: its own files, and those of its engine.
fn library() -> BTreeMap<String, String> {
    let (mut all, mut crates) = (BTreeMap::new(), crates());
    let mut root = String::new();
    for name in ["endura-engine", "endura"] {
        for (path, text) in crates.remove(name).unwrap() {
            if path == "lib.rs" {
                root.push_str(&declarations(&text));
            } else {
                let text = text.replace("endura_engine::", "crate::");
                assert!(all.insert(path, text).is_none(), "a room of both crates");
            }
        }
    }
    all.insert("lib.rs".to_owned(), root);
    all
}

/// A root without its head, and without what it shows of the engine.
fn declarations(root: &str) -> String {
    let lines =
        root.lines().filter(|line| !line.starts_with("//!")).map(|line| format!("{line}\n"));
    let text: String = lines.collect();
    match text.split_once("#[doc(inline)]\npub use endura_engine::{") {
        Some((before, rest)) => format!("{before}{}", rest.split_once("};").unwrap().1),
        None => text,
    }
}

/// The uses of files of the library by others.
pub(super) fn edges_of_library() -> BTreeSet<Edge> {
    edges(&library())
}

/// The uses of the library that do not go down.
fn upward(edges: &BTreeSet<Edge>) -> Vec<String> {
    let room = |path: &str| path.split(['/', '.']).next().unwrap_or_default().to_owned();
    let height = |room: &str| LAYERS.iter().position(|row| row.contains(&room));
    let goes_up = |edge: &&Edge| {
        let (from, to) = (room(&edge.from), room(&edge.to));
        let (below, above) = (height(&to), height(&from));
        from != to && from != "lib" && (below.is_none() || above.is_none() || below >= above)
    };
    let told = |edge: &Edge| format!("{} uses {} of {}", edge.from, edge.name, edge.to);
    edges.iter().filter(goes_up).map(told).collect()
}

#[test]
fn the_library_uses_only_what_lies_below() {
    let edges = edges_of_library();
    assert!(edges.len() > 400, "the uses were found: {}", edges.len());
    let found = upward(&edges);
    assert!(found.is_empty(), "not a use of what lies below:\n{}", found.join("\n"));
}

#[test]
fn no_folder_has_a_circle() {
    let mut found = Vec::new();
    for (name, sources) in crates() {
        for Knot { folder, entries, shortest } in knots(&edges(&sources)) {
            let entries: Vec<String> = entries.into_iter().collect();
            found.push(format!("{name} {folder}: {}\n    {shortest}", entries.join(" ")));
        }
    }
    assert!(found.is_empty(), "in a circle:\n{}", found.join("\n"));
}

#[test]
fn roots_hold_nothing_but_declarations() {
    let mut full = Vec::new();
    for (name, sources) in crates() {
        let with_items = read(&sources).into_iter().flat_map(|read| read.with_items);
        let roots = with_items.filter(|path| path == "lib.rs" || path.ends_with("mod.rs"));
        full.extend(roots.map(|path| format!("{name} {path}")));
    }
    assert!(full.is_empty(), "more than declarations:\n{}", full.join("\n"));
}

#[test]
fn every_room_of_the_library_has_a_layer() {
    for path in library().keys() {
        let room = path.split(['/', '.']).next().unwrap();
        assert!(room == "lib" || LAYERS.iter().any(|row| row.contains(&room)), "{path}");
    }
}

/// A crate of a few files.
fn sample(files: &[(&str, &str)]) -> BTreeMap<String, String> {
    files.iter().map(|&(path, text)| (path.to_owned(), text.to_owned())).collect()
}

/// A check that cannot fail is none: circles of every form are found, with the names that tie them.
#[test]
fn circles_are_found_through_every_form_of_a_use() {
    let lib = ("lib.rs", "mod a; mod b; pub use a::*; pub use b::B;");
    let forms = [
        // By name, by the root's re-export, by a glob, by a path in code, by a module, in a macro.
        "use crate::b::B; pub struct A(B);",
        "use crate::B; pub struct A(B);",
        "use super::{b::{self}}; pub struct A(b::B);",
        "pub struct A(crate::b::B);",
        "pub struct A; fn f() { println!(\"{}\", crate::b::B::new()); }",
        "pub struct A; fn f() { use crate::b::*; B::new(); }",
        "mod inner { use super::super::b::B as C; pub struct X(C); } pub struct A;",
    ];
    for form in forms {
        let files = [lib, ("a.rs", form), ("b.rs", "use crate::A; pub struct B(Box<A>);")];
        let found = knots(&edges(&sample(&files)));
        assert_eq!(found.len(), 1, "{form}");
        assert!(found[0].shortest.contains("b.rs uses A of a.rs"), "{}", found[0].shortest);
    }
}

/// The methods of one type in two files that need each other, whoever calls them: by `self`, or by `Self`.
#[test]
fn circles_of_methods_are_found() {
    let lib = ("lib.rs", "mod t; mod a; mod b; mod c; pub use t::T;");
    let types = ("t.rs", "pub struct T;");
    let b = "use crate::T; impl T { pub fn b(&self) { self.a(); } }";
    // Another type of the same name, further away, is not meant.
    let other = ("c/mod.rs", "mod t; mod u;");
    let far = ("c/t.rs", "pub struct T; impl T { pub fn b(&self) {} }");
    let user = (
        "c/u.rs",
        "use super::t::T; pub trait A { fn u(&self); } impl A for T { fn u(&self) { self.b(); } }",
    );
    for a in ["self.b()", "Self::b(self)", "println!(\"{}\", 1); if true { self.b() }"] {
        let a = format!("use crate::T; impl T {{ pub fn a(&self) {{ {a} }} }}");
        let files = [lib, types, ("a.rs", &a), ("b.rs", b), other, far, user];
        let found = knots(&edges(&sample(&files)));
        assert_eq!(found.len(), 1, "{a} {found:?}");
        assert!(found[0].shortest.contains("b.rs uses T::a of a.rs"), "{}", found[0].shortest);
    }
    // Its own method, or one of something else, is no use of another file.
    let a =
        "use crate::T; impl T { pub fn a(&self, x: &str) { x.b(); self.own(); } fn own(&self) {} }";
    let files = [lib, types, ("a.rs", a), ("b.rs", b), other, far, user];
    assert_eq!(knots(&edges(&sample(&files))), Vec::new());
}

#[test]
fn a_circle_of_folders_counts_where_their_paths_part() {
    let files = [
        ("lib.rs", "mod x; mod y;"),
        ("x/mod.rs", "mod low; mod high; pub use low::Low; pub use high::High;"),
        ("x/low.rs", "pub struct Low;"),
        ("x/high.rs", "use crate::y::Y; pub struct High(Y);"),
        ("y.rs", "use crate::x::Low; pub struct Y(Low);"),
    ];
    let found = knots(&edges(&sample(&files)));
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].folder.as_str(), found[0].entries.len()), ("", 2));
}

#[test]
fn what_is_for_tests_or_goes_down_is_no_circle() {
    let files = [
        ("lib.rs", "mod a; mod b; #[cfg(test)] mod tests; pub use a::A; pub use b::B;"),
        ("a.rs", "pub struct A; #[cfg(all(test, not(loom)))] mod tests { use crate::B; }"),
        ("b.rs", "use std::b::A as C; use crate::A; pub struct B(A, C);"),
    ];
    assert_eq!(knots(&edges(&sample(&files))), Vec::new());
}

#[test]
fn uses_that_go_up_are_found() {
    let files = |media: &'static str, pool: &'static str| {
        let lib = (
            "lib.rs",
            "mod error; mod media; mod space; mod pool; mod volatile; pub use error::Error; pub use space::Space;",
        );
        let error = ("error.rs", "pub struct Error;");
        let room = ("space/mod.rs", "mod space; pub use space::Space;");
        let space = ("space/space.rs", "use crate::media; pub struct Space(media::Media);");
        let volatile = ("volatile.rs", "pub struct Slot;");
        let all = [lib, error, ("media.rs", media), room, space, ("pool.rs", pool), volatile];
        upward(&edges(&sample(&all)))
    };
    assert_eq!(files("pub struct Media(crate::Error);", "use crate::{Space, space};").len(), 0);
    for media in ["use crate::space::Space;", "use crate::Space;", "use super::{volatile::Slot};"] {
        assert_eq!(files(media, "").len(), 1, "{media}");
    }
}
