//! `endura batch`: changes entries of several maps at once.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write, stdout};
use std::path::{Path, PathBuf};

use endura::{Batch, Error, Pool};

use crate::pool::checkpoint_args::{CheckpointArgs, close};
use crate::pool::pool_args::{PoolArgs, must_exist};
use crate::pool::uncounted::count_unknown;
use crate::values::escape::{NOTATION, unescape};
use crate::values::map::OpenMap;
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
condition that is not met, nothing is changed. If a condition is not met, its line is printed.";

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

/// A batch that is being read.
struct Reader<'a> {
    args: &'a Args,
    pool: &'a Pool,
    batch: Batch,
    maps: BTreeMap<String, OpenMap>,
    /// The number and the text of the line of each part.
    lines: Vec<(u64, String)>,
    put: u64,
    deleted: u64,
    expected: u64,
}

pub(crate) fn run(args: &Args) -> Result {
    // All lines are read before the pool is opened: no other process has to wait because the input is slow.
    let lines = read(&args.file)?;
    let pool = args.pool.open(args.checkpoints.choice())?;
    let answer = commit(args, &pool, lines)?;
    let closed = count_unknown(&pool).and_then(|()| close(&pool, &args.pool.pool));
    closed.map_err(|error| args.pool.at(&error))?;
    Ok(answer)
}

fn read(path: &Path) -> Result<Vec<Vec<u8>>> {
    let failure = |error: io::Error| Failure::at_path("cannot read", path, &error);
    let input: Box<dyn BufRead> = match path == Path::new("-") {
        true => Box::new(io::stdin().lock()),
        false => Box::new(BufReader::new(File::open(path).map_err(failure)?)),
    };
    input.split(b'\n').collect::<io::Result<_>>().map_err(failure)
}

fn commit(args: &Args, pool: &Pool, lines: Vec<Vec<u8>>) -> Result {
    let batch = pool.batch();
    let (maps, all) = (BTreeMap::new(), Vec::new());
    let mut reader =
        Reader { args, pool, batch, maps, lines: all, put: 0, deleted: 0, expected: 0 };
    for (number, line) in (1..).zip(&lines) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() || line.starts_with(b"#") {
            continue;
        }
        let added = reader.add(line);
        added.map_err(|what| {
            let (file, what) = (name_of(args), what.message());
            Failure::Message(format!("{file}, line {number}: {what}")).noted(NOTHING)
        })?;
        reader.lines.push((number, String::from_utf8_lossy(line).into_owned()));
    }
    match reader.batch.commit() {
        Ok(()) => {
            reader.tell_done()?;
            Ok(Answer::Yes)
        }
        Err(Error::Unmet { index }) => {
            reader.tell_unmet(index)?;
            Ok(Answer::No)
        }
        Err(error) => Err(args.pool.at(&error).noted(NOTHING)),
    }
}

const NOTHING: &str = "nothing was changed";

fn name_of(args: &Args) -> String {
    match args.file == Path::new("-") {
        true => "standard input".into(),
        false => args.file.display().to_string(),
    }
}

/// Why a line is no part of a batch.
enum Flaw {
    Text(String),
    Failure(Failure),
}

impl Flaw {
    fn message(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Failure(
                Failure::Pool { text, .. } | Failure::Message(text) | Failure::Usage(text),
            ) => text,
            Self::Failure(other) => format!("{other:?}"),
        }
    }
}

impl From<Error> for Flaw {
    fn from(error: Error) -> Self {
        Self::Text(error.to_string())
    }
}

/// The fields of a line. The last one has all that follows.
fn fields(line: &[u8]) -> Vec<&[u8]> {
    let separator = if line.contains(&b'\t') { b'\t' } else { b' ' };
    line.splitn(4, |&byte| byte == separator).collect()
}

impl Reader<'_> {
    /// The map of this name, as it is written.
    fn map(&mut self, written: &[u8]) -> std::result::Result<&OpenMap, Flaw> {
        let name = unescape(written).map_err(Flaw::Text)?;
        let name = String::from_utf8(name)
            .map_err(|_| Flaw::Text("the name of a map is text".to_owned()))?;
        if !self.maps.contains_key(&name) {
            must_exist(self.pool, &self.args.pool.pool, &name, "").map_err(Flaw::Failure)?;
            self.maps.insert(name.clone(), OpenMap::open(self.pool, &name)?);
        }
        match self.maps.get(&name) {
            Some(map) => Ok(map),
            None => unreachable!("opened above"),
        }
    }

    /// Adds a line to the batch.
    fn add(&mut self, line: &[u8]) -> std::result::Result<(), Flaw> {
        let wrong = || {
            let acts = "`put MAP KEY VALUE`, `delete MAP KEY`, or `expect MAP KEY [VALUE]`";
            Flaw::Text(format!("a line is {acts}, with a tab or a space between"))
        };
        let fields = fields(line);
        let [act, map, key, ref value @ ..] = fields[..] else { return Err(wrong()) };
        let value = value.first().copied();
        let open = self.map(map)?;
        let read = |kind: &endura::dynamic::Type, what: &str, text: &[u8]| {
            let read = kind.read(Notation::Escaped, text, Reading::Lenient);
            read.map_err(|error| Flaw::Text(format!("{error} ({what} of the map are `{kind}`)")))
        };
        let key = read(&open.schema.key, "keys", key)?;
        let value = value.map(|value| read(&open.schema.value, "values", value)).transpose()?;
        let map = open.dynamic().clone();
        match (act, &value) {
            (b"put", Some(value)) => {
                self.batch.put_encoded(&map, &key, value)?;
                self.put += 1;
            }
            (b"delete", None) => {
                self.batch.delete_encoded(&map, &key)?;
                self.deleted += 1;
            }
            (b"expect", value) => {
                self.batch.expect_encoded(&map, &key, value.as_deref())?;
                self.expected += 1;
            }
            _ => return Err(wrong()),
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

    fn tell_unmet(&self, index: usize) -> Result<()> {
        let mut out = stdout().lock();
        let (number, text) = &self.lines[index];
        if self.args.json {
            let whole = serde_json::json!({"committed": false, "line": number, "text": text});
            writeln!(out, "{whole}")?;
        } else {
            writeln!(out, "line {number} is not met, {NOTHING}: {}", printable(text, false))?;
        }
        Ok(out.flush()?)
    }
}
