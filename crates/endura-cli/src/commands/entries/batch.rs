//! `endura batch`: changes entries of several maps at once.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write, stdout};
use std::path::{Path, PathBuf};

use endura::{Batch, Error, Pool};

use crate::format::{Flaw, Lines};
use crate::pool::checkpoint_args::{CheckpointArgs, close};
use crate::pool::pool_args::{PoolArgs, must_exist};
use crate::pool::uncounted::count_unknown;
use crate::values::escape::{NOTATION, unescape};
use crate::values::map::{OpenMap, Schema};
use crate::values::notation::{Notation, Written};
use crate::values::scalar::Reading;
use endura_console::outcome::{Answer, Failure, Result};
use endura_console::text::{counted, printable};

const LINES: &str = "\
Each line is a part of the batch:

  put MAP KEY VALUE       the key gets this value
  delete MAP KEY          the key is removed, if it is there
  expect MAP KEY VALUE    the key has this value before, or nothing is changed
  expect MAP KEY          the key is absent before, or nothing is changed

Fields are separated by a tab; in a line without tabs by a space each, and what follows the key is the value. Empty lines, \
and lines that begin with #, are left out. The maps must exist. All lines are one unit: after an error, a crash or a \
condition that is not met, nothing is changed. (Only if the result cannot be printed, the changes are there, and the error \
says so.) If a condition is not met, its line is printed.";

#[derive(clap::Args)]
#[command(after_help = format!("{LINES}\n\n{NOTATION}"))]
pub(crate) struct Args {
    #[command(flatten)]
    pool: PoolArgs,
    /// The lines; `-` is standard input
    #[arg(default_value = "-")]
    file: PathBuf,
    /// Print one JSON object at the end, with "committed", and with "line" if a condition is not met
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    checkpoints: CheckpointArgs,
}

/// A line that is a part of the batch, and its number.
type Line = (u64, Vec<u8>);

/// A batch that is being read.
struct Reader<'a> {
    args: &'a Args,
    pool: &'a Pool,
    batch: Batch,
    maps: BTreeMap<String, OpenMap>,
    put: u64,
    deleted: u64,
    expected: u64,
}

pub(crate) fn run(args: &Args) -> Result {
    // All lines are read before the pool is opened: no other process has to wait because the input is slow.
    let lines = read(args)?;
    let pool = args.pool.open(args.checkpoints.choice())?;
    let answer = commit(args, &pool, &lines)?;
    let closed = count_unknown(&pool).and_then(|()| close(&pool, &args.pool.pool));
    closed.map_err(|error| args.pool.at(&error))?;
    Ok(answer)
}

/// The lines that are parts. No more than a batch can have are read, because some files have no end.
fn read(args: &Args) -> Result<Vec<Line>> {
    let failure = |error: io::Error| Failure::at_path("cannot read", &args.file, &error);
    let input: Box<dyn BufRead> = match args.file == Path::new("-") {
        true => Box::new(io::stdin().lock()),
        false => Box::new(BufReader::new(File::open(&args.file).map_err(failure)?)),
    };
    let (mut lines, mut parts) = (Lines::new(input), Vec::new());
    loop {
        let line = match lines.next(|start| (fields(start).len() < 4).then_some(TOO_LONG)) {
            Ok(Some(line)) => line.strip_suffix(b"\r").unwrap_or(line),
            Ok(None) => return Ok(parts),
            Err(Flaw::Io(error)) => return Err(failure(error)),
            Err(Flaw::Wrong(what)) => {
                return Err(at_line(args, lines.number, Failure::Message(what)));
            }
        };
        if line.is_empty() || line.starts_with(b"#") {
            continue;
        }
        let line = line.to_vec();
        if parts.len() == Batch::MOST_PARTS {
            let most = Batch::MOST_PARTS;
            let text = format!("a batch has at most {most} lines; make several smaller ones");
            return Err(at_line(args, lines.number, Failure::Message(text)));
        }
        parts.push((lines.number, line));
    }
}

const TOO_LONG: &str = "the line is longer than any key, and has no value";

fn commit(args: &Args, pool: &Pool, lines: &[Line]) -> Result {
    let (batch, maps) = (pool.batch(), BTreeMap::new());
    let mut reader = Reader { args, pool, batch, maps, put: 0, deleted: 0, expected: 0 };
    for (number, line) in lines {
        reader.add(line).map_err(|failure| at_line(args, *number, failure))?;
    }
    match reader.batch.commit() {
        Ok(()) => match reader.tell_done() {
            Err(failure) if !failure.is_closed_pipe() => Err(failure.noted(DONE)),
            _ => Ok(Answer::Yes),
        },
        Err(Error::Unmet { index }) => {
            reader.tell_unmet(&lines[index])?;
            Ok(Answer::No)
        }
        Err(error) => Err(args.pool.at(&error).noted(NOTHING)),
    }
}

const DONE: &str = "the batch is committed: all its changes are in the pool";
const NOTHING: &str = "nothing was changed";

fn name_of(args: &Args) -> String {
    match args.file == Path::new("-") {
        true => "standard input".into(),
        false => args.file.display().to_string(),
    }
}

/// A failure because of this line, before the commit.
fn at_line(args: &Args, number: u64, failure: Failure) -> Failure {
    let file = name_of(args);
    failure.reworded(|what| format!("{file}, line {number}: {what}")).noted(NOTHING)
}

/// The fields of a line. The last one has all that follows.
fn fields(line: &[u8]) -> Vec<&[u8]> {
    let separator = if line.contains(&b'\t') { b'\t' } else { b' ' };
    line.splitn(4, |&byte| byte == separator).collect()
}

const WRONG: &str = "a line is `put MAP KEY VALUE`, `delete MAP KEY`, or `expect MAP KEY [VALUE]`, with a tab or a space between";

impl Reader<'_> {
    /// The map of this name, as it is written.
    fn map(&mut self, written: &[u8]) -> Result<&OpenMap> {
        let name = unescape(written).map_err(Failure::Message)?;
        let name = String::from_utf8(name)
            .map_err(|_| Failure::Message("the name of a map is text".to_owned()))?;
        if !self.maps.contains_key(&name) {
            must_exist(self.pool, &self.args.pool.pool, &name, "")?;
            self.maps.insert(name.clone(), OpenMap::open(self.pool, &name)?);
        }
        match self.maps.get(&name) {
            Some(map) => Ok(map),
            None => unreachable!("opened above"),
        }
    }

    /// Adds a line to the batch.
    fn add(&mut self, line: &[u8]) -> Result<()> {
        let fields = fields(line);
        let (act, map, key, value) = match fields[..] {
            [act @ (b"put" | b"expect"), map, key, value] => (act, map, key, Some(value)),
            [act @ (b"delete" | b"expect"), map, key] => (act, map, key, None),
            _ => return Err(Failure::Message(WRONG.into())),
        };
        let open = self.map(map)?;
        let read = |kind: &endura::dynamic::Type, what: &str, text: &[u8]| {
            let read = kind.read(Notation::Escaped, text, Reading::Lenient);
            read.map_err(|error| {
                Failure::Message(format!("{error} ({what} of the map are `{kind}`)"))
            })
        };
        let key = read(&open.schema.key, "keys", key)?;
        let value = value.map(|value| read(&open.schema.value, "values", value)).transpose()?;
        let map = open.dynamic().clone();
        let (has_value, entry) = (value.is_some(), (key, value.unwrap_or_default()));
        Schema::check_lengths(&entry)?;
        let (key, value) = &entry;
        match (act, has_value) {
            (b"put", _) => {
                self.batch.put_encoded(&map, key, value)?;
                self.put += 1;
            }
            (b"delete", _) => {
                self.batch.delete_encoded(&map, key)?;
                self.deleted += 1;
            }
            _ => {
                self.batch.expect_encoded(&map, key, has_value.then_some(value))?;
                self.expected += 1;
            }
        }
        Ok(())
    }

    fn tell_done(&self) -> Result<()> {
        let mut out = stdout().lock();
        let Self { put, deleted, expected, .. } = self;
        if self.args.json {
            let whole = serde_json::json!({
                "committed": true, "put": put, "deleted": deleted, "expected": expected,
            });
            writeln!(out, "{whole}")?;
        } else {
            let met = counted(*expected, "condition");
            writeln!(out, "{put} put, {deleted} deleted, {met} met")?;
        }
        Ok(out.flush()?)
    }

    fn tell_unmet(&self, (number, line): &Line) -> Result<()> {
        let (mut out, text) = (stdout().lock(), String::from_utf8_lossy(line));
        if self.args.json {
            let whole = serde_json::json!({"committed": false, "line": number, "text": text});
            writeln!(out, "{whole}")?;
        } else {
            writeln!(out, "line {number} is not met, {NOTHING}: {}", printable(&text, false))?;
        }
        Ok(out.flush()?)
    }
}
