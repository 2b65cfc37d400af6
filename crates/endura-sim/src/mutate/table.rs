//! Which part of a campaign notices which fault, as lines `fault | part` of a file beside the test.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use super::name::Name;
use crate::subject::Finding;

/// A table and the file that it lies in.
#[derive(Debug, Clone)]
pub(super) struct Table {
    path: PathBuf,
    /// The part by the fault.
    pub(super) rows: BTreeMap<Name, String>,
}

impl Table {
    /// Reads a table.
    ///
    /// # Errors
    ///
    /// A file that is not there or empty, and what is no row.
    pub(super) fn read(path: &Path) -> Result<Self, Finding> {
        let text =
            fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let rows = parse(&text).map_err(|wrong| format!("{}: {wrong}", path.display()))?;
        Ok(Self { path: path.to_owned(), rows })
    }

    /// Writes the file anew.
    ///
    /// # Errors
    ///
    /// What cannot be written.
    pub(super) fn write(&self) -> Result<(), Finding> {
        let text = lines(&self.rows);
        fs::write(&self.path, text).map_err(|error| format!("{}: {error}", self.path.display()))
    }
}

fn parse(text: &str) -> Result<BTreeMap<Name, String>, String> {
    let mut rows = BTreeMap::new();
    for line in text.lines() {
        let (name, by) = line.split_once(" | ").ok_or_else(|| format!("no row: {line}"))?;
        let name = Name::parse(name).ok_or_else(|| format!("no name of a fault: {name}"))?;
        if rows.insert(name, by.to_owned()).is_some() {
            return Err(format!("a second row: {line}"));
        }
    }
    if rows.is_empty() { Err("no rows".to_owned()) } else { Ok(rows) }
}

/// The rows as lines, in the order of folders and functions.
pub(super) fn lines<'a>(rows: impl IntoIterator<Item = (&'a Name, &'a String)>) -> String {
    rows.into_iter().fold(String::new(), |mut text, (name, by)| {
        _ = writeln!(text, "{name} | {by}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::{lines, parse};

    #[test]
    fn a_table_is_read_as_it_was_written_and_nothing_else_is_one() {
        let text = "space, Pages::append, without Fence, fence 2 | Pool History(2, Adr)\n\
                    space, Pages::append, without Flush, flush 1 | Pool One(0, 0, Adr)\n";
        assert_eq!(parse(text).map(|rows| lines(&rows)).as_deref(), Ok(text));
        let twice = format!("{text}{text}");
        for wrong in ["", "\n", "space", "space, append, without Fence | Made", &twice] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
