//! `endura import`: entries from a file.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write, stdout};
use std::path::{Path, PathBuf};

use indicatif::ProgressBar;

use crate::format::{FORMATS, Flaw, FormatName, Source};
use crate::pool::pool_args::{NewMapArgs, shown_name};
use crate::values::escape::NOTATION;
use crate::values::map::{Entry, OpenMap, Schema};
use endura_console::outcome::{Answer, Failure, Result};
use endura_console::progress;
use endura_console::text::{counted, grouped};

/// How many entries go by between two looks at the progress bar.
const ENTRIES_PER_TICK: u64 = 4096;

#[derive(clap::Args)]
#[command(after_help = format!("{FORMATS}\n\n{NOTATION}"))]
pub(crate) struct Args {
    #[command(flatten)]
    map: NewMapArgs,
    /// The entries; `-` is standard input
    #[arg(default_value = "-")]
    file: PathBuf,
    /// How they are written
    #[arg(long, value_enum, default_value_t = FormatName::Auto)]
    format: FormatName,
    /// Skip the first line, which names the columns (tsv, csv)
    #[arg(long)]
    header: bool,
    /// Keep the value that a key already has
    #[arg(long)]
    keep: bool,
    /// Print one JSON object at the end
    #[arg(long)]
    pub(crate) json: bool,
}

/// What has been done so far.
#[derive(Default)]
struct Tally {
    entries: u64,
    added: u64,
    replaced: u64,
    kept: u64,
}

impl Tally {
    fn text(&self) -> String {
        let mut text = format!("{} added", grouped(self.added));
        for (count, what) in [(self.replaced, "replaced"), (self.kept, "kept as they were")] {
            if count > 0 {
                text.push_str(&format!(", {} {what}", grouped(count)));
            }
        }
        text
    }
}

pub(crate) fn run(args: &Args) -> Result {
    let columns = args.format.style(&args.file).is_none_or(|style| style.has_columns());
    if args.header && !columns {
        return Err(Failure::Usage("--header is for tsv and csv".into()));
    }
    // The input first: without an entry nothing is made, and nobody waits for a slow one.
    let (input, bar) = open(&args.file)?;
    let source = Source::new(input, &args.file, args.format, args.header);
    let mut tally = Tally::default();
    let mut source = source.map_err(|(line, flaw)| wrong(args, &tally, line, flaw, false))?;
    let schema = args.map.schema(|| {
        let types = source.first_types();
        types.map_err(|flaw| wrong(args, &tally, source.line(), flaw, source.has_columns()))
    })?;
    let read = match schema {
        Some(schema) => {
            let suits = source.expect(&schema);
            suits.map_err(|what| Failure::Message(format!("{}: {what}", name_of(args))))?;
            read_all(args, &mut source, &schema, &mut tally, &bar)
        }
        None => Ok(()),
    };
    if source.has_bom() {
        eprintln!("endura: {}: the byte order mark at the beginning is skipped", name_of(args));
    }
    bar.finish_and_clear();
    read?;
    if args.json {
        let whole = serde_json::json!({
            "entries": tally.entries, "added": tally.added,
            "replaced": tally.replaced, "kept": tally.kept,
        });
        writeln!(stdout(), "{whole}")?;
    } else {
        writeln!(stdout(), "{}: {}", counted(tally.entries, "entry"), tally.text())?;
    }
    Ok(Answer::Yes)
}

fn open(path: &Path) -> Result<(Box<dyn BufRead>, ProgressBar)> {
    if path == Path::new("-") {
        return Ok((Box::new(io::stdin().lock()), progress::spinner()));
    }
    let failure = |error: io::Error| Failure::at_path("cannot open", path, &error);
    let file = File::open(path).map_err(failure)?;
    let facts = file.metadata().map_err(failure)?;
    if facts.is_dir() {
        return Err(failure(io::ErrorKind::IsADirectory.into()));
    }
    let length = facts.len();
    Ok((Box::new(BufReader::with_capacity(1 << 16, file)), progress::bytes_bar(length)))
}

fn read_all(
    args: &Args,
    source: &mut Source,
    schema: &Schema,
    tally: &mut Tally,
    bar: &ProgressBar,
) -> Result<()> {
    let wrong = |tally: &Tally, source: &Source, flaw| {
        wrong(args, tally, source.line(), flaw, source.has_columns())
    };
    let next = |tally: &Tally, source: &mut Source| {
        source.next().map_err(|flaw| wrong(tally, source, flaw))
    };
    let Some(first) = next(tally, source)? else { return Ok(()) };
    let too_long = Schema::check_lengths(&first);
    too_long.map_err(|error| wrong(tally, source, error.to_string().into()))?;
    let (mut writing, map) = args.map.open(schema)?;
    let mut next_entry = Some(first);
    let mut read = || {
        while let Some(entry) = next_entry.take() {
            let stored = store(args, &map, &entry, tally);
            stored.map_err(|error| not_stored(args, tally, source.line(), &error))?;
            if tally.entries == 1 {
                writing.keep();
            }
            if tally.entries.is_multiple_of(ENTRIES_PER_TICK) {
                bar.set_position(source.bytes());
                bar.set_message(counted(tally.entries, "entry"));
            }
            next_entry = next(tally, source)?;
        }
        Ok(())
    };
    let read = read();
    drop(map);
    writing.close()?;
    read
}

fn store(args: &Args, map: &OpenMap, entry: &Entry, tally: &mut Tally) -> endura::Result<()> {
    let (old, count) = if args.keep {
        (map.insert_new(entry)?, &mut tally.kept)
    } else {
        (map.insert(entry)?, &mut tally.replaced)
    };
    *(if old.is_none() { &mut tally.added } else { count }) += 1;
    tally.entries += 1;
    Ok(())
}

fn name_of(args: &Args) -> String {
    if args.file == Path::new("-") {
        "standard input".into()
    } else {
        args.file.display().to_string()
    }
}

/// What went wrong where, what had been imported before, and what to do. `columns`: the first line may name them.
fn wrong(args: &Args, tally: &Tally, line: u64, flaw: Flaw, columns: bool) -> Failure {
    let file = name_of(args);
    let text = match flaw {
        Flaw::Io(error) if line == 0 => format!("{file}: {error}"),
        Flaw::Io(error) => format!("{file}, after line {line}: {error}"),
        Flaw::Wrong(what) if line == 0 => format!("{file}: the file is empty: {what}"),
        Flaw::Wrong(what) if line == 1 && columns && !args.header => {
            format!("{file}, line 1: {what} (--header skips the first line)")
        }
        Flaw::Wrong(what) => format!("{file}, line {line}: {what}"),
    };
    Failure::Message(format!(
        "{text}\nendura: {}",
        done(args, tally, "correct the file and import it again")
    ))
}

/// The same where nothing is wrong with the file.
fn not_stored(args: &Args, tally: &Tally, line: u64, error: &endura::Error) -> Failure {
    if matches!(error, endura::Error::KeyTooLong { .. } | endura::Error::ValueTooLong { .. }) {
        return wrong(args, tally, line, error.to_string().into(), false);
    }
    let file = name_of(args);
    let done = done(args, tally, "solve that and import the file again");
    let failure = Failure::at(&args.map.pool, error);
    failure.reworded(|text| format!("{text}\nendura: {file}, line {line}: {done}"))
}

fn done(args: &Args, tally: &Tally, act: &str) -> String {
    if tally.entries == 0 {
        return "nothing was imported".into();
    }
    format!(
        "the entries before it are in the map `{}`: {}; {act}; entries that are already there do no harm",
        shown_name(&args.map.map),
        tally.text()
    )
}
