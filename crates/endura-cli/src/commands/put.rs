//! `endura put`: one entry.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write, stdout};
use std::path::{Path, PathBuf};

use endura::LONGEST_VALUE;
use serde_json::json;

use crate::pool::pool_args::{NewMapArgs, Sort, about, parse};
use crate::values::datum::Datum;
use crate::values::entries::{Entries, on_map};
use crate::values::escape::NOTATION;
use endura_console::outcome::{Answer, Failure, Result};

#[derive(clap::Args)]
#[command(after_help = NOTATION)]
pub(crate) struct Args {
    #[command(flatten)]
    map: NewMapArgs,
    /// The key
    #[arg(allow_negative_numbers = true)]
    key: OsString,
    /// The value
    #[arg(allow_negative_numbers = true, required_unless_present = "file")]
    value: Option<OsString>,
    /// The value is all that this file holds, as it is; `-` is standard input
    #[arg(long, conflicts_with = "value")]
    file: Option<PathBuf>,
    /// Only if the key is absent; exit code 1 if it is present
    #[arg(long)]
    new: bool,
    /// Print {"key":K,"stored":true,"previous":V}, with null if the key was absent
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result {
    let content = args.file.as_deref().map(read).transpose()?;
    let kind = args.map.kind()?;
    // Before anything is made for it.
    match Sort::of(kind) {
        Sort::Numbers => checked::<u64>(args, content.as_ref())?,
        Sort::Bytes => checked::<Vec<u8>>(args, content.as_ref())?,
    }
    let (mut writing, map) = args.map.open(kind)?;
    let answer = on_map!(&map, map => store(args, content, map));
    if answer.is_ok() {
        writing.keep();
    }
    drop(map);
    writing.close()?;
    answer.map_err(|failure| about(&args.map.pool, failure))
}

/// Fails unless the arguments are a key and a value of such a map.
fn checked<D: Datum>(args: &Args, content: Option<&Vec<u8>>) -> Result<()> {
    let key: D = parse(&args.key)?;
    let value = value(args, content.cloned())?;
    D::check_lengths(&key, &value).map_err(|error| about(&args.map.pool, error.into()))
}

fn value<D: Datum>(args: &Args, content: Option<Vec<u8>>) -> Result<D> {
    match (content, &args.value) {
        (Some(bytes), _) => D::parse_plain(bytes).map_err(Failure::Message),
        (None, argument) => parse(argument.as_deref().unwrap_or_default()),
    }
}

/// What is in a file, or a little more of it than a value can have: some have no end.
fn read(path: &Path) -> Result<Vec<u8>> {
    let failure = |error: io::Error| Failure::io(format!("cannot read {}", path.display()), &error);
    let mut bytes = Vec::new();
    let (most, mut length) = (LONGEST_VALUE as u64 + 1, 0);
    let read = if path == Path::new("-") {
        io::stdin().lock().take(most).read_to_end(&mut bytes)
    } else {
        let file = File::open(path).map_err(failure)?;
        let facts = file.metadata().map_err(failure)?;
        length = if facts.is_file() { facts.len() } else { 0 };
        if length < most { file.take(most).read_to_end(&mut bytes) } else { Ok(0) }
    };
    read.map_err(failure)?;
    if length.max(bytes.len() as u64) >= most {
        return Err(Failure::Message(format!(
            "{} is longer than a value can be, which has at most {LONGEST_VALUE} bytes",
            path.display()
        )));
    }
    Ok(bytes)
}

fn store<E: Entries>(args: &Args, content: Option<Vec<u8>>, map: &E) -> Result {
    let key: E::Datum = parse(&args.key)?;
    let value: E::Datum = value(args, content)?;
    let previous = if args.new { map.insert_new(&key, &value) } else { map.insert(&key, &value) }?;
    let stored = !args.new || previous.is_none();
    if args.json {
        let previous = previous.as_ref().map(Datum::json);
        let line = json!({ "key": key.json(), "stored": stored, "previous": previous });
        writeln!(stdout(), "{line}")?;
    }
    Ok(Answer::yes_if(stored))
}
