//! The child whose instructions are counted.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use endura_bench::contender::Contender;
use endura_bench::instructions::{count, work};
use endura_bench::report::Counter;

use super::contenders::contender;
use crate::outcome::{Answer, Result};

#[derive(clap::Args)]
pub(crate) struct Args {
    #[arg(long, value_parser = contender())]
    store: Contender,
    #[arg(long)]
    operation: Option<String>,
    #[arg(long)]
    keys: u64,
    #[arg(long)]
    dir: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result {
    work(args.store, args.operation.as_deref(), args.keys, &args.dir)?;
    Ok(Answer::Yes)
}

/// Counts the instructions of all operations, by children of this program.
pub(super) fn all(
    keys: u64,
    dir: &Path,
    observe: impl FnMut(&str),
) -> endura_bench::Result<Counter> {
    let program = std::env::current_exe().map_err(|source| endura_bench::Error::Io {
        doing: "cannot find this program's own file".into(),
        source,
    })?;
    let arguments = |store: Contender, operation: Option<&str>, keys: u64| {
        let mut arguments: Vec<OsString> = vec!["bench".into(), "instructions-child".into()];
        let mut add = |name: &str, value: OsString| arguments.extend([name.into(), value]);
        add("--store", store.argument().into());
        add("--keys", keys.to_string().into());
        add("--dir", dir.into());
        if let Some(operation) = operation {
            add("--operation", operation.into());
        }
        arguments
    };
    count(&program, keys, arguments, observe)
}
