//! Names of faults that stay what they are when the source is edited.
//!
//! A name says the folder, the function, the use of the medium, what is called, and which of the calls of
//! that name in the function it is. Functions keep their names when they move to another file of the
//! folder, and nothing depends on variables, lines or layout. A method has its type before it; functions
//! of one folder that are still called alike are numbered, in the order of files and lines.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fmt, fs};

use super::source::Source;
use crate::mutant::{Call, Mutant, Use};
use crate::site::Site;
use crate::subject::Finding;

/// A folder of the product whose calls are faulted.
#[derive(Debug, Clone, Copy)]
pub struct Area {
    /// Its name, wherever it lies.
    pub folder: &'static str,
    /// Fewer faults than these mean that the campaign does not see them.
    pub least: usize,
}

/// Files and folders in the product that are no part of it.
const TESTS: [&str; 3] = ["tests", "tests.rs", "loom.rs"];

/// Where the sources of the product begin.
const PRODUCT: &str = "crates/endura-engine/src/";

impl Area {
    /// Whether a source lies in it.
    pub(super) fn holds(self, file: &str) -> bool {
        let inside = file.strip_prefix(PRODUCT);
        inside.is_some_and(|path| format!("/{path}").contains(&format!("/{}/", self.folder)))
    }
}

/// What a fault is called.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name {
    /// The folder.
    pub folder: String,
    /// The function, behind its type.
    pub function: String,
    /// What is wrong with the call: `without Store`.
    pub fault: String,
    /// What is called, and which of those calls it is.
    pub call: String,
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}, {}, {}", self.folder, self.function, self.fault, self.call)
    }
}

impl Name {
    /// What [`Display`](fmt::Display) wrote.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(", ").map(str::to_owned);
        let mut part = || parts.next().filter(|part| !part.is_empty());
        let name = Self { folder: part()?, function: part()?, fault: part()?, call: part()? };
        parts.next().is_none().then_some(name)
    }

    /// The function without its type and its number.
    pub(super) fn own_function(&self) -> &str {
        let last = self.function.rsplit("::").next().unwrap_or_default();
        last.split(' ').next().unwrap_or_default()
    }
}

/// The word for a kind of fault.
fn kind(mutant: Mutant) -> &'static str {
    match mutant {
        Mutant::Drop(_) => "without",
        Mutant::Weaken(_) => "relaxed",
        Mutant::Stale(_) => "stale",
    }
}

fn word(what: Use) -> String {
    format!("{what:?}")
}

/// The sources of some folders.
pub struct Names {
    /// Each file by its path from the root, with the folder it lies in.
    files: BTreeMap<PathBuf, (Area, Source)>,
    /// The numbers of functions that are called like one before.
    numbers: BTreeMap<(PathBuf, usize), usize>,
}

impl Names {
    /// Reads the folders that lie below `root`, from which the compiler's paths start.
    ///
    /// # Errors
    ///
    /// What cannot be read, and excuses that are none.
    pub fn read(root: &Path, areas: &[Area]) -> Result<Self, Finding> {
        let (mut paths, mut texts) = (Vec::new(), Vec::new());
        sources(root, Path::new(PRODUCT), &mut paths)?;
        for path in paths {
            let text = fs::read_to_string(root.join(&path));
            texts.push((text.map_err(|error| format!("{}: {error}", path.display()))?, path));
        }
        Self::of(texts, areas)
    }

    /// From texts with the paths of their files.
    fn of(mut texts: Vec<(String, PathBuf)>, areas: &[Area]) -> Result<Self, Finding> {
        texts.sort_by(|one, other| one.1.cmp(&other.1));
        let (mut files, mut numbers) = (BTreeMap::new(), BTreeMap::new());
        let mut met = BTreeMap::<(&str, String), usize>::new();
        for (text, path) in texts {
            let is_a_test = path.iter().any(|part| TESTS.iter().any(|tests| part == *tests));
            let area = areas.iter().find(|area| area.holds(&path.to_string_lossy()));
            let Some(&area) = area.filter(|_| !is_a_test) else { continue };
            let wrong = |error| format!("{}: {error}", path.display());
            let source = Source::of(&text).map_err(wrong)?;
            for (i, function) in source.functions().iter().enumerate() {
                let before = met.entry((area.folder, function.name.clone())).or_default();
                *before += 1;
                numbers.insert((path.clone(), i), *before);
            }
            files.insert(path, (area, source));
        }
        Ok(Self { files, numbers })
    }

    fn find(&self, site: Site) -> Result<(&Path, Area, &Source, usize), Finding> {
        let path = Path::new(site.file());
        let found = self.files.get_key_value(path);
        let (path, (area, source)) = found.ok_or_else(|| format!("{site}: not read"))?;
        let at = source.at(site.line(), site.column());
        Ok((path, *area, source, at.ok_or_else(|| format!("{site}: the source ends before"))?))
    }

    /// The name of a fault.
    ///
    /// # Errors
    ///
    /// A call that does not stand in the sources that were read.
    pub fn name(&self, mutant: Mutant) -> Result<Name, Finding> {
        let site = mutant.call().site;
        let (path, area, source, at) = self.find(site)?;
        let fault = format!("{} {}", kind(mutant), word(mutant.call().what));
        let (function, call) =
            self.call(path, source, at).ok_or_else(|| format!("{site}: no call in a function"))?;
        Ok(Name { folder: area.folder.to_owned(), function, fault, call })
    }

    /// The function around a place, and the call there.
    fn call(&self, path: &Path, source: &Source, at: usize) -> Option<(String, String)> {
        let number = source.function_at(at)?;
        let function = source.functions()[number].name.clone();
        let function = match self.numbers.get(&(path.to_owned(), number)) {
            None | Some(1) => function,
            Some(nth) => format!("{function} (number {nth})"),
        };
        let (callee, nth) = source.callee(at)?;
        Some((function, format!("{callee} {nth}")))
    }

    /// The reasons of those faults that a comment at the call excuses.
    ///
    /// # Errors
    ///
    /// A comment that is about no fault, or about two.
    pub fn excused(&self, mutants: &[Mutant]) -> Result<BTreeMap<Mutant, String>, Finding> {
        let mut reasons = BTreeMap::new();
        let mut places = Vec::new();
        for &mutant in mutants {
            let (path, _, _, at) = self.find(mutant.call().site)?;
            places.push((path, at, mutant));
        }
        for (path, (_, source)) in &self.files {
            for excuse in &source.excuses {
                let is_about = |(of, at, mutant): &&(&Path, usize, Mutant)| {
                    let what = word(mutant.call().what);
                    *of == path && excuse.is_about(*at, kind(*mutant), &what)
                };
                let about: Vec<Mutant> =
                    places.iter().filter(is_about).map(|(.., mutant)| *mutant).collect();
                let [mutant] = about[..] else {
                    let (file, line, count) = (path.display(), excuse.line, about.len());
                    return Err(format!(
                        "{file}:{line}: the comment must be about one fault, not {count}: {about:?}"
                    ));
                };
                if reasons.insert(mutant, excuse.reason.clone()).is_some() {
                    return Err(format!("{}: {mutant} is excused twice", path.display()));
                }
            }
        }
        Ok(reasons)
    }
}

impl Names {
    /// Calls of a medium in the sources that are not among `calls`, and no comment says why.
    ///
    /// # Errors
    ///
    /// Those, and comments on calls that are among them.
    pub fn all_are_made<'a>(
        &self,
        calls: impl IntoIterator<Item = &'a Call>,
    ) -> Result<(), Finding> {
        let mut made = BTreeSet::new();
        for call in calls {
            let (path, _, _, at) = self.find(call.site)?;
            made.insert((path, at));
        }
        let mut wrong = Vec::new();
        for (path, (_, source)) in &self.files {
            let mut told = BTreeSet::new();
            let is_meant = |folder: &String| self.files.values().any(|of| of.0.folder == folder);
            let unreached: Vec<_> =
                source.unreached.iter().filter(|of| of.of.iter().all(is_meant)).collect();
            for at in source.media_calls() {
                let excuse = unreached.iter().find(|of| of.covers.contains(&at));
                told.extend(excuse.map(|of| of.line));
                if made.contains(&(path.as_path(), at)) == excuse.is_some() {
                    let line = source.line_of(at);
                    let what = if excuse.is_some() { "a part makes" } else { "no part makes" };
                    wrong.push(format!("{}:{line}: {what} this call", path.display()));
                }
            }
            let idle = unreached.iter().filter(|of| !told.contains(&of.line));
            wrong.extend(idle.map(|of| format!("{}:{}: about no call", path.display(), of.line)));
        }
        match wrong.is_empty() {
            true => Ok(()),
            false => Err(format!(
                "`// no mutant: …` says why no part makes a call:\n{}",
                wrong.join("\n")
            )),
        }
    }
}

/// The sources in a folder and those in it, by their paths from the root.
pub(super) fn sources(root: &Path, folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), Finding> {
    let wrong = |error| format!("{}: {error}", folder.display());
    for entry in fs::read_dir(root.join(folder)).map_err(wrong)? {
        let path = folder.join(entry.map_err(wrong)?.file_name());
        if root.join(&path).is_dir() {
            sources(root, &path, found)?;
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
