//! `endura put`: stores one entry.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write, stdout};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use endura::{Error, LONGEST_VALUE, Types};

use crate::pool::made::Writing;
use crate::pool::pool_args::{NewMapArgs, about, parse_key, parse_value};
use crate::values::escape::NOTATION;
use crate::values::guess;
use crate::values::map::{Entry, OpenMap, Schema};
use crate::values::notation::{Notation, Written};
use crate::values::scalar::Reading;
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
    pub(crate) json: bool,
}

pub(crate) fn run(args: &Args) -> Result {
    let content = args.file.as_deref().map(read).transpose()?;
    let schema = args.map.schema_with_entry(|| guessed(args, content.as_deref()))?;
    // The entry is parsed before anything is created for it.
    let entry = (parse_key(&args.map.map, &schema, &args.key)?, value(args, &schema, content)?);
    let checked = Schema::check_lengths(&entry);
    checked.map_err(|error| about(&args.map.pool, error.into()))?;
    let (mut writing, map) = args.map.open(&schema)?;
    let answer = store(args, &entry, &map, &mut writing);
    drop(map);
    match answer {
        Err(failure) if !failure.is_closed_pipe() => {
            writing.abandon();
            Err(about(&args.map.pool, failure))
        }
        answer => {
            writing.keep();
            writing.close()?;
            answer
        }
    }
}

/// The types of a map of which this is the first entry. The contents of a file are bytes.
fn guessed(args: &Args, content: Option<&[u8]>) -> Result<Types> {
    let key = guess::key(Notation::Escaped, args.key.as_bytes(), false).map_err(Failure::Usage)?;
    let value = match content {
        Some(_) => "[u8]".into(),
        None => guess::value(Notation::Escaped, argument(args).as_bytes(), false),
    };
    Ok(Types { key, value })
}

fn argument(args: &Args) -> &OsStr {
    args.value.as_deref().unwrap_or_default()
}

fn value(args: &Args, schema: &Schema, content: Option<Vec<u8>>) -> Result<Vec<u8>> {
    match content {
        Some(bytes) => {
            let read = schema.value.read(Notation::Plain, &bytes, Reading::Lenient);
            read.map_err(Failure::Message)
        }
        None => parse_value(&args.map.map, schema, argument(args)),
    }
}

/// Returns the contents of a file. At most one byte more than a value can have is read, because some files have no end.
fn read(path: &Path) -> Result<Vec<u8>> {
    let failure = |error: io::Error| Failure::at_path("cannot read", path, &error);
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
        let too_long = Error::ValueTooLong { len: most, max: LONGEST_VALUE as u64 };
        let text = format!(
            "{} is longer than a value can be, which has at most {LONGEST_VALUE} bytes",
            path.display()
        );
        return Err(Failure::Pool { code: too_long.code(), text });
    }
    Ok(bytes)
}

fn store(args: &Args, entry: &Entry, map: &OpenMap, writing: &mut Writing) -> Result {
    let previous = if args.new { map.insert_new(entry) } else { map.insert(entry) }?;
    let stored = !args.new || previous.is_none();
    writing.begun();
    match told(args, &map.schema, &entry.0, previous.as_ref(), stored) {
        Err(failure) if stored && !failure.is_closed_pipe() => {
            Err(map.taken_back(&entry.0, previous, failure))
        }
        told => told.map(|()| Answer::yes_if(stored)),
    }
}

fn told(
    args: &Args,
    schema: &Schema,
    key: &[u8],
    previous: Option<&Vec<u8>>,
    stored: bool,
) -> Result<()> {
    if args.json {
        let (key, old) = (schema.key_json(key)?, schema.value_json(previous)?);
        let mut out = stdout().lock();
        writeln!(out, "{{\"key\":{key},\"stored\":{stored},\"previous\":{old}}}")?;
        out.flush()?;
    }
    Ok(())
}
