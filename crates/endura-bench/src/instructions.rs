//! Instructions per operation, counted by `perf` or by callgrind, whichever this machine has.
//!
//! A tool counts a whole process. So this program is run twice as a child: once it loads a store, once it
//! loads the same and does the operations; the difference is theirs.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use endura::Pool;

use crate::contender::Contender;
use crate::keys::{key, value};
use crate::report::{Counter, Instructions};
use crate::store::{Place, Shape};
use crate::{Error, Result};

/// The operations that are counted.
pub const OPERATIONS: [&str; 5] = ["insert", "get", "miss", "update", "remove"];

/// What counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// `perf stat -e instructions:u`: the processor counts.
    Perf,
    /// `valgrind --tool=callgrind`: each instruction is looked at, fifty times as slowly.
    Callgrind,
}

impl Tool {
    /// The first one that works here.
    pub fn find() -> Option<Self> {
        [Self::Perf, Self::Callgrind]
            .into_iter()
            .find(|tool| tool.run(Path::new("true"), &[]).is_some())
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Perf => "perf",
            Self::Callgrind => "callgrind",
        }
    }

    /// Instructions of a process, if the tool works and the process does.
    fn run(self, program: &Path, arguments: &[OsString]) -> Option<u64> {
        let mut command = match self {
            Self::Perf => {
                let mut perf = Command::new("perf");
                perf.args(["stat", "-x,", "-e", "instructions:u", "--"]);
                perf
            }
            Self::Callgrind => {
                let mut valgrind = Command::new("valgrind");
                valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
                valgrind
            }
        };
        let command = command.arg(program).args(arguments).stdin(Stdio::null()).env("LC_ALL", "C");
        let output = command.output().ok()?;
        let said = String::from_utf8_lossy(&output.stderr);
        output.status.success().then(|| self.parse(&said))?
    }

    fn parse(self, said: &str) -> Option<u64> {
        match self {
            Self::Perf => {
                let line = said.lines().find(|line| line.contains("instructions"))?;
                line.split(',').next()?.trim().parse().ok()
            }
            Self::Callgrind => {
                let (_, rest) = said.split_once("Collected :")?;
                rest.split_whitespace().next()?.parse().ok()
            }
        }
    }
}

/// Counts all operations of our indexes, so many of each on as many keys. `arguments` makes of an index, an
/// operation (or none) and the number of keys the arguments with which `program` calls [`work`].
///
/// # Errors
///
/// [`Error::Config`] where the tool does not count the child.
pub fn count(
    program: &Path,
    keys: u64,
    arguments: impl Fn(Contender, Option<&str>, u64) -> Vec<OsString>,
    mut observe: impl FnMut(&str),
) -> Result<Counter> {
    let Some(tool) = Tool::find() else {
        let why = "perf counts no instructions on this machine, and valgrind is not installed";
        return Ok(Counter::None(why.into()));
    };
    let mut counts = Vec::new();
    for contender in [Contender::FastFair, Contender::NbTree, Contender::Roart] {
        let run = |operation| {
            let counted = tool.run(program, &arguments(contender, operation, keys));
            counted.ok_or(Error::Config("the tool did not count the instructions of a child"))
        };
        observe(contender.name());
        let loaded = run(None)?;
        for operation in OPERATIONS {
            observe(&format!("{} {operation}", contender.name()));
            let count = run(Some(operation))?.saturating_sub(loaded) as f64 / keys.max(1) as f64;
            let (index, operation) = (contender.name().into(), operation.into());
            counts.push(Instructions { index, operation, count });
        }
    }
    let name = format!("{}, {keys} keys, the library's call included", tool.name());
    Ok(Counter::Tool(name, counts))
}

/// What a counted child does: loads `keys` keys, then as many operations.
///
/// # Errors
///
/// What the index says; [`Error::Config`] for an operation that is none of [`OPERATIONS`].
pub fn work(contender: Contender, operation: Option<&str>, keys: u64, dir: &Path) -> Result<()> {
    let failure =
        |source| Error::Io { doing: format!("cannot make a folder in {}", dir.display()), source };
    let folder = tempfile::tempdir_in(dir).map_err(failure)?;
    // A tool may have little room for reserved addresses.
    let pool = Pool::options().max_size(1 << 30);
    let place = Place { pool, ..Place::new(folder.path().to_path_buf(), Shape::WORDS, 2 * keys) };
    let store = contender.open(&place)?;
    let mut session = store.session()?;
    (0..keys).try_for_each(|i| session.insert(key(i), value(i)))?;
    (0..keys).try_for_each(|i| match operation {
        None => Ok(()),
        Some("insert") => session.insert(key(keys + i), value(i)),
        Some("get") => session.get(key(i)).map(drop),
        Some("miss") => session.get(key((1 << 48) + i)).map(drop),
        Some("update") => session.update(key(i), i).map(drop),
        Some("remove") => session.remove(key(i)).map(drop),
        Some(_) => Err(Error::Config("no such operation")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_tools_say_is_read() {
        let perf = "123456,,instructions:u,1000,100.00,,\n";
        assert_eq!(Tool::Perf.parse(perf), Some(123_456));
        assert_eq!(Tool::Perf.parse("<not supported>,,instructions:u,0,100.00,,\n"), None);
        let callgrind = "==1== Events    : Ir\n==1== Collected : 126635\n==1==\n";
        assert_eq!(Tool::Callgrind.parse(callgrind), Some(126_635));
        assert_eq!(Tool::Callgrind.parse("valgrind: not found"), None);
    }

    #[test]
    fn every_operation_is_done() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        for operation in OPERATIONS.into_iter().map(Some).chain([None]) {
            work(Contender::NbTree, operation, 100, dir.path()).expect("the work");
        }
        assert!(work(Contender::NbTree, Some("fly"), 1, dir.path()).is_err());
    }
}
