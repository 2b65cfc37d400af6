//! Which file of a crate uses which: every path in the sources, followed through `use` and
//! `pub use` to the file that defines the name.
//!
//! A type's methods may be spread over files. A method that is called on `self`, or as `Self::method`, counts as a use of
//! the file that defines it. Calls of methods on anything else name no path, and are not seen: which type they are of
//! only the compiler knows.
//!
//! What is compiled for tests or models alone (`cfg(test)`, `cfg(loom)`, `cfg(doctest)`) is left out.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use syn::visit::Visit;
use syn::{Attribute, Item, UseTree};

/// A module's path from the root of its crate.
type ModulePath = Vec<String>;

/// A crate as its files name each other.
#[derive(Default)]
pub(crate) struct Crate {
    modules: BTreeMap<ModulePath, Module>,
    /// Files, relative to `src`, whose text holds more than declarations and `use`.
    pub(crate) with_items: BTreeSet<String>,
}

#[derive(Default)]
struct Module {
    file: String,
    items: BTreeSet<String>,
    /// What `use` brings in: the name here, and the path that it stands for.
    bindings: Vec<(String, Vec<String>)>,
    /// What `use path::*` brings in.
    globs: Vec<Vec<String>>,
    /// Every path of more than one segment.
    paths: Vec<Vec<String>>,
    /// The methods that it defines, each with the name of its type.
    methods: BTreeSet<(String, String)>,
    /// Those that it calls on its own type.
    calls: BTreeSet<(String, String)>,
}

/// That one file uses a name of another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Edge {
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) name: String,
}

/// Where a path leads.
enum Target {
    File(String),
    Module(ModulePath),
}

impl Crate {
    /// The crate whose root is `root` (`lib.rs`, `main.rs`), of files named relative to `src`.
    pub(crate) fn read(root: &str, sources: &BTreeMap<String, String>) -> Self {
        let mut read = Self::default();
        read.file(root, Vec::new(), sources);
        read
    }

    fn file(&mut self, file: &str, module: ModulePath, sources: &BTreeMap<String, String>) {
        let text = sources.get(file).unwrap_or_else(|| panic!("{file} is declared and not there"));
        let parsed = syn::parse_file(text).unwrap_or_else(|why| panic!("{file}: {why}"));
        self.module(file, module, &parsed.items, sources);
    }

    fn module(
        &mut self,
        file: &str,
        path: ModulePath,
        items: &[Item],
        sources: &BTreeMap<String, String>,
    ) {
        let mut module = Module { file: file.to_owned(), ..Module::default() };
        for item in items.iter().filter(|item| !is_for_tests(attributes(item))) {
            match item {
                Item::Mod(inner) => {
                    let mut below = path.clone();
                    below.push(inner.ident.to_string());
                    match &inner.content {
                        Some((_, items)) => self.module(file, below, items, sources),
                        None => {
                            let file = file_of(&below, sources);
                            self.file(&file, below, sources);
                        }
                    }
                }
                Item::Use(used) => module.bring_in(&used.tree, &mut Vec::new()),
                // What is not supported is said where the crate begins.
                Item::Macro(called) if called.mac.path.is_ident("compile_error") => {}
                other => {
                    module.items.extend(name_of(other));
                    self.with_items.insert(file.to_owned());
                    Paths { module: &mut module, own: None }.visit_item(other);
                }
            }
        }
        self.modules.insert(path, module);
    }

    /// Every use of another file's name, once for each pair and name.
    pub(crate) fn edges(&self) -> BTreeSet<Edge> {
        let mut edges = BTreeSet::new();
        for (at, module) in &self.modules {
            let bound = module.bindings.iter().map(|(_, path)| path);
            for path in bound.chain(&module.globs).chain(&module.paths) {
                let Some(Target::File(to)) = self.resolve(at, path, 0) else { continue };
                if to != module.file {
                    let name = path.last().cloned().unwrap_or_default();
                    edges.insert(Edge { from: module.file.clone(), to, name });
                }
            }
            for call in &module.calls {
                if let Some(to) = self.definer(&module.file, call) {
                    let name = format!("{}::{}", call.0, call.1);
                    edges.insert(Edge { from: module.file.clone(), to, name });
                }
            }
        }
        edges
    }

    /// The file that defines a method which `from` calls on its own type. Of several types of one name that is meant
    /// whose file is nearest; `None` if it is this file, or cannot be told.
    fn definer(&self, from: &str, call: &(String, String)) -> Option<String> {
        let near = |file: &str| {
            let folders = from.split('/').zip(file.split('/'));
            let shared = folders.take_while(|(ours, theirs)| ours == theirs).count();
            (shared, Reverse(file.split('/').count()))
        };
        let definers: BTreeSet<&str> = self
            .modules
            .values()
            .filter(|module| module.methods.contains(call))
            .map(|module| module.file.as_str())
            .collect();
        if definers.contains(from) {
            return None;
        }
        let nearest = definers.iter().map(|file| near(file)).max()?;
        let mut nearest = definers.iter().filter(|file| near(file) == nearest);
        nearest.next().filter(|_| nearest.next().is_none()).map(|&file| file.to_owned())
    }

    /// Where `path`, written in the module `at`, leads; `None` out of the crate. `depth` ends
    /// what names itself.
    fn resolve(&self, at: &ModulePath, path: &[String], depth: u32) -> Option<Target> {
        let mut here = at.clone();
        let mut rest = path;
        let mut rooted = false;
        while let Some((first, others)) = rest.split_first() {
            match first.as_str() {
                "crate" => here.clear(),
                "self" => {}
                "super" => drop(here.pop()?),
                _ => break,
            }
            rooted = true;
            rest = others;
        }
        let Some((first, others)) = rest.split_first() else { return Some(Target::Module(here)) };
        // A name that nothing here explains is another crate's.
        match (self.lookup(&here, first, depth), rooted) {
            (Some(Target::Module(module)), _) if !others.is_empty() => {
                let mut below = vec!["self".to_owned()];
                below.extend_from_slice(others);
                self.resolve(&module, &below, depth + 1)
            }
            (found, _) => found,
        }
    }

    /// What `name` is in the module `at`.
    fn lookup(&self, at: &ModulePath, name: &str, depth: u32) -> Option<Target> {
        let module = self.modules.get(at)?;
        let mut below = at.clone();
        below.push(name.to_owned());
        if self.modules.contains_key(&below) {
            return Some(Target::Module(below));
        }
        if module.items.contains(name) {
            return Some(Target::File(module.file.clone()));
        }
        if depth > 16 {
            return None;
        }
        let bound = module.bindings.iter().filter(|(here, path)| here == name && path[0] != name);
        let from_globs = module.globs.iter().map(|path| {
            let mut path = path.clone();
            path.push(name.to_owned());
            path
        });
        bound
            .map(|(_, path)| path.clone())
            .chain(from_globs)
            .find_map(|path| self.resolve(at, &path, depth + 1))
    }
}

impl Module {
    fn bring_in(&mut self, tree: &UseTree, prefix: &mut Vec<String>) {
        match tree {
            UseTree::Path(path) => {
                prefix.push(path.ident.to_string());
                self.bring_in(&path.tree, prefix);
                prefix.pop();
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.bring_in(tree, prefix);
                }
            }
            UseTree::Glob(_) => self.globs.push(prefix.clone()),
            UseTree::Name(name) => self.bind(&name.ident.to_string(), None, prefix),
            UseTree::Rename(name) => {
                self.bind(&name.ident.to_string(), Some(name.rename.to_string()), prefix);
            }
        }
    }

    fn bind(&mut self, name: &str, rename: Option<String>, prefix: &[String]) {
        let mut path = prefix.to_vec();
        if name != "self" || path.is_empty() {
            path.push(name.to_owned());
        }
        let here = rename.or_else(|| path.last().cloned()).unwrap_or_default();
        self.bindings.push((here, path));
    }
}

/// Collects the paths of a module, and what it calls of its own types.
struct Paths<'a> {
    module: &'a mut Module,
    /// The type whose `impl` is being read.
    own: Option<String>,
}

impl<'ast> Visit<'ast> for Paths<'_> {
    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let own = match &*item.self_ty {
            syn::Type::Path(named) => named.path.segments.last().map(|part| part.ident.to_string()),
            _ => None,
        };
        if let (None, Some(own)) = (&item.trait_, &own) {
            let methods = item.items.iter().filter_map(|item| match item {
                syn::ImplItem::Fn(method) => Some((own.clone(), method.sig.ident.to_string())),
                _ => None,
            });
            self.module.methods.extend(methods);
        }
        let outer = std::mem::replace(&mut self.own, own);
        syn::visit::visit_item_impl(self, item);
        self.own = outer;
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let on_self =
            matches!(&*call.receiver, syn::Expr::Path(path) if path.path.is_ident("self"));
        if let (true, Some(own)) = (on_self, &self.own) {
            self.module.calls.insert((own.clone(), call.method.to_string()));
        }
        syn::visit::visit_expr_method_call(self, call);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.segments.len() > 1 && path.leading_colon.is_none() {
            let parts: Vec<_> = path.segments.iter().map(|part| part.ident.to_string()).collect();
            match (&self.own, &parts[..]) {
                (Some(own), [first, method]) if first == "Self" => {
                    self.module.calls.insert((own.clone(), method.clone()));
                }
                _ => self.module.paths.push(parts),
            }
        }
        syn::visit::visit_path(self, path);
    }

    fn visit_item_use(&mut self, used: &'ast syn::ItemUse) {
        self.module.bring_in(&used.tree, &mut Vec::new());
    }

    /// What stands in a macro's braces is text to the parser: its paths are found by their `::`.
    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        let text = called.tokens.to_string();
        let words: Vec<&str> = text.split_whitespace().collect();
        let mut at = 0;
        while at < words.len() {
            let mut path = vec![words[at].trim_matches(|c: char| !is_of_a_name(c)).to_owned()];
            while words.get(at + 1) == Some(&"::") && at + 2 < words.len() {
                let next = words[at + 2];
                path.push(next.chars().take_while(|&c| is_of_a_name(c)).collect());
                at += 2;
            }
            if path.len() > 1 && path.iter().all(|part| !part.is_empty()) {
                self.module.paths.push(path);
            }
            at += 1;
        }
        syn::visit::visit_macro(self, called);
    }
}

fn is_of_a_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The file of a module that is declared with `mod name;`.
fn file_of(module: &[String], sources: &BTreeMap<String, String>) -> String {
    let path = module.join("/");
    let alone = format!("{path}.rs");
    if sources.contains_key(&alone) { alone } else { format!("{path}/mod.rs") }
}

/// Whether this is left out of an ordinary build.
fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let syn::Meta::List(list) = &attribute.meta else { return false };
        let condition = list.tokens.to_string();
        list.path.is_ident("cfg")
            && !condition.starts_with("not")
            && ["test", "loom", "doctest"]
                .iter()
                .any(|word| condition.split(|c| !is_of_a_name(c)).any(|part| part == *word))
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn name_of(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}
