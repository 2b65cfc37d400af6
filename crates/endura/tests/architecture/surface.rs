//! What the library promises, one line an item, as `public-api.txt` has it: whoever changes that changes the file,
//! and whoever reviews it sees how.
//!
//! Read from the sources. What macros make is not seen: that the fixed types are keys and values is said by tests.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use syn::{Attribute, Fields, ImplItem, Item, ItemImpl, TraitItem, Type, UseTree, Visibility};

use crate::rules;

/// The text of some tokens, with spaces as one writes them.
macro_rules! text {
    ($tokens:expr) => {{
        let tokens = $tokens;
        spaced(&quote::ToTokens::to_token_stream(&tokens).to_string())
    }};
}

fn spaced(tokens: &str) -> String {
    let mut text = tokens.to_owned();
    for (from, to) in [
        (" :: ", "::"),
        (" ::", "::"),
        (":: ", "::"),
        (" <", "<"),
        ("< ", "<"),
        (" >", ">"),
        ("& ", "&"),
        (" ,", ","),
        (" (", "("),
        ("( ", "("),
        (" )", ")"),
        (" :", ":"),
        (" ;", ";"),
        ("[ ", "["),
        (" ]", "]"),
        ("->(", "-> ("),
        (",(", ", ("),
        ("? Sized", "?Sized"),
        (":(", ": ("),
        (":<", ": <"),
        ("=(", "= ("),
        ("- >", "->"),
        ("= >", "=>"),
    ] {
        text = text.replace(from, to);
    }
    text.replace(",)", ")").replace("->", " -> ").replace("  ", " ")
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn is_hidden(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("doc") && text!(attribute).contains("hidden")
            || attribute.path().is_ident("cfg") && text!(attribute).contains("test")
    })
}

/// The names that `lib.rs` exports.
fn exported(tree: &UseTree, names: &mut BTreeSet<String>) {
    match tree {
        UseTree::Path(path) => exported(&path.tree, names),
        UseTree::Name(name) => _ = names.insert(name.ident.to_string()),
        UseTree::Rename(name) => _ = names.insert(name.rename.to_string()),
        UseTree::Group(group) => group.items.iter().for_each(|item| exported(item, names)),
        UseTree::Glob(_) => panic!("the root of the library exports names one by one"),
    }
}

/// The public modules, which are the engine's.
const MODULES: [&str; 1] = ["settings"];

struct Surface {
    names: BTreeSet<String>,
    found: BTreeSet<String>,
    lines: BTreeSet<String>,
}

impl Surface {
    fn of_the_library() -> Self {
        let [src, engine] = ["endura", "endura-engine"]
            .map(|name| rules::root().join("crates").join(name).join("src"));
        let root = syn::parse_file(&fs::read_to_string(src.join("lib.rs")).unwrap()).unwrap();
        let mut names = BTreeSet::new();
        for item in &root.items {
            if let Item::Use(item) = item
                && is_public(&item.vis)
            {
                exported(&item.tree, &mut names);
            }
        }
        // What is no name of an item is a module of functions.
        let modules: Vec<_> = MODULES.into_iter().filter(|name| names.remove(*name)).collect();
        let mut surface = Self { names, found: BTreeSet::new(), lines: BTreeSet::new() };
        let mut files = Vec::new();
        rules::sources(&src, &mut files);
        rules::sources(&engine, &mut files);
        for file in files {
            // Names there that are the library's as well stand for other things.
            let inside = [src.join("dynamic")]
                .into_iter()
                .chain(["fast_fair", "nbtree", "roart"].map(|tree| engine.join("tree").join(tree)));
            if !inside.into_iter().any(|room| file.starts_with(room)) {
                let parsed = syn::parse_file(&fs::read_to_string(file).unwrap()).unwrap();
                parsed.items.iter().for_each(|item| surface.item(item));
            }
        }
        // What a public module has is reached by its name.
        for module in modules {
            let file = engine.join(format!("{module}.rs"));
            let parsed = syn::parse_file(&fs::read_to_string(file).unwrap()).unwrap();
            for item in &parsed.items {
                if let Item::Fn(item) = item
                    && is_public(&item.vis)
                {
                    surface.line(format!("{module}::{}", text!(&item.sig)));
                }
            }
        }
        surface
    }

    fn is_exported(&self, visibility: &Visibility, name: &syn::Ident) -> bool {
        is_public(visibility) && self.names.contains(&name.to_string())
    }

    fn line(&mut self, line: String) {
        self.lines.insert(line);
    }

    /// Notes an item with its generics.
    fn named(&mut self, what: &str, name: &syn::Ident, generics: &syn::Generics) {
        self.found.insert(name.to_string());
        let clause = generics.where_clause.as_ref().map_or(String::new(), |clause| text!(clause));
        let line = format!("{what} {name}{} {clause}", text!(generics));
        self.line(line.trim_end().to_owned());
    }

    fn derived(&mut self, of: &syn::Ident, attributes: &[Attribute]) {
        for attribute in attributes {
            match attribute.path() {
                path if path.is_ident("derive") => {
                    let all = attribute.meta.require_list().unwrap();
                    self.line(format!("{of}: {}", text!(&all.tokens)));
                }
                path if path.is_ident("non_exhaustive") => {
                    self.line(format!("{of}: non_exhaustive"));
                }
                _ => {}
            }
        }
    }

    fn item(&mut self, item: &Item) {
        match item {
            Item::Struct(item) if self.is_exported(&item.vis, &item.ident) => {
                self.named("struct", &item.ident, &item.generics);
                self.derived(&item.ident, &item.attrs);
                for field in item.fields.iter().filter(|field| is_public(&field.vis)) {
                    let name = field.ident.as_ref().map_or(String::new(), ToString::to_string);
                    self.line(format!("{}.{name}: {}", item.ident, text!(&field.ty)));
                }
            }
            Item::Enum(item) if self.is_exported(&item.vis, &item.ident) => {
                self.named("enum", &item.ident, &item.generics);
                self.derived(&item.ident, &item.attrs);
                for variant in &item.variants {
                    let fields = fields(&variant.fields);
                    self.line(format!("{}::{}{fields}", item.ident, variant.ident));
                }
            }
            Item::Trait(item) if self.is_exported(&item.vis, &item.ident) => {
                let above = text!(&item.supertraits);
                self.named(&format!("trait ({above})"), &item.ident, &item.generics);
                item.items.iter().for_each(|part| self.trait_item(&item.ident, part));
            }
            Item::Type(item) if self.is_exported(&item.vis, &item.ident) => {
                self.named("type", &item.ident, &item.generics);
                self.line(format!("{} = {}", item.ident, text!(&item.ty)));
            }
            Item::Const(item) if self.is_exported(&item.vis, &item.ident) => {
                self.found.insert(item.ident.to_string());
                self.line(format!("const {}: {}", item.ident, text!(&item.ty)));
            }
            Item::Fn(item) if self.is_exported(&item.vis, &item.sig.ident) => {
                self.found.insert(item.sig.ident.to_string());
                self.line(text!(&item.sig));
            }
            Item::Impl(item) => self.implementation(item),
            _ => {}
        }
    }

    fn trait_item(&mut self, of: &syn::Ident, item: &TraitItem) {
        match item {
            TraitItem::Fn(item) if !is_hidden(&item.attrs) => {
                let provided = if item.default.is_some() { " { .. }" } else { "" };
                self.line(format!("{of}::{}{provided}", text!(&item.sig)));
            }
            TraitItem::Type(item) if !is_hidden(&item.attrs) => {
                let (generics, bounds) = (text!(&item.generics), text!(&item.bounds));
                self.line(format!("{of}::type {}{generics}: {bounds}", item.ident));
            }
            TraitItem::Const(item) if !is_hidden(&item.attrs) => {
                self.line(format!("{of}::const {}: {}", item.ident, text!(&item.ty)));
            }
            _ => {}
        }
    }

    fn implementation(&mut self, item: &ItemImpl) {
        let Type::Path(path) = &*item.self_ty else { return };
        let Some(name) = path.path.segments.last() else { return };
        if !self.names.contains(&name.ident.to_string()) || is_hidden(&item.attrs) {
            return;
        }
        let of = text!(&*item.self_ty);
        if let Some((_, of_trait, _)) = &item.trait_ {
            self.line(format!("impl {} for {of}", text!(of_trait)));
            return;
        }
        for part in &item.items {
            if let ImplItem::Fn(part) = part
                && is_public(&part.vis)
                && !is_hidden(&part.attrs)
            {
                self.line(format!("{of}::{}", text!(&part.sig)));
            }
        }
    }
}

fn fields(fields: &Fields) -> String {
    let all = fields.iter().map(|field| match &field.ident {
        Some(name) => format!("{name}: {}", text!(&field.ty)),
        None => text!(&field.ty),
    });
    match fields {
        Fields::Unit => String::new(),
        Fields::Named(_) => format!(" {{ {} }}", all.collect::<Vec<_>>().join(", ")),
        Fields::Unnamed(_) => format!("({})", all.collect::<Vec<_>>().join(", ")),
    }
}

fn file() -> PathBuf {
    rules::root().join("crates/endura/public-api.txt")
}

#[test]
fn the_surface_is_the_one_that_was_reviewed() {
    let surface = Surface::of_the_library();
    assert_eq!(surface.found, surface.names, "names that lib.rs exports are looked for by these");
    let text: String = surface.lines.iter().map(|line| format!("{line}\n")).collect();
    if std::env::var_os("ENDURA_BLESS").is_some() {
        fs::write(file(), &text).unwrap();
    }
    let known = fs::read_to_string(file()).unwrap();
    let (known, now) = (known.lines().collect::<BTreeSet<_>>(), text.lines().collect());
    let gone = known.difference(&now).map(|line| format!("- {line}"));
    let new = now.difference(&known).map(|line| format!("+ {line}"));
    let changes: Vec<String> = gone.chain(new).collect();
    assert!(
        changes.is_empty(),
        "the public API has changed; `ENDURA_BLESS=1 cargo test -p endura --test architecture surface` writes it \
         down:\n{}",
        changes.join("\n")
    );
}

#[test]
fn the_lines_are_written_as_one_writes_them() {
    let signature: syn::Signature = syn::parse_str(
        "fn get<'a>(&self, key: K::Ref<'_>, f: impl FnMut(&u8) -> (u8, &str)) -> Result<Option<V::Owned>>",
    )
    .unwrap();
    assert_eq!(
        text!(&signature),
        "fn get<'a>(&self, key: K::Ref<'_>, f: impl FnMut(&u8) -> (u8, &str)) -> Result<Option<V::Owned>>"
    );
}
