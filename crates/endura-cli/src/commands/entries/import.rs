//! `endura import`: reads entries from a file.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write, stdout};
use std::path::{Path, PathBuf};

use endura::{Batch, Pool};
use indicatif::ProgressBar;

use crate::format::{FORMATS, Flaw, FormatName, Source};
use crate::pool::made::Writing;
use crate::pool::pool_args::{NewMapArgs, shown_name};
use crate::values::escape::NOTATION;
use crate::values::map::{Entry, OpenMap, Schema};
use endura_console::outcome::{Answer, Failure, Result, tell};
use endura_console::progress;
use endura_console::text::{counted, grouped, printable};

const GUESSES: &str = "\
Types that --keys and --values do not name are those of the map, or of the first entry. Then each line must hold what \
would be printed of it: 00501, 1_000 and 0x3e8 are no numbers there, but an error on their line. --keys str takes them \
as they are, and --keys u64 as the numbers that they are.

A first line with the names of the columns is an entry like the others, unless --header skips it.

If an import fails, a pool or a map that was new is removed. A map that was there keeps the entries before the wrong \
line; so does a new one if a signal ends the import.";

/// The number of entries between two updates of the progress bar.
const ENTRIES_PER_TICK: u64 = 4096;

#[derive(clap::Args)]
#[command(after_help = format!("{FORMATS}\n\n{GUESSES}\n\n{NOTATION}"))]
pub(crate) struct Args {
    #[command(flatten)]
    map: NewMapArgs,
    /// The entries; `-` is standard input
    #[arg(default_value = "-")]
    file: PathBuf,
    /// How they are written
    #[arg(long, value_enum, default_value_t = FormatName::Auto)]
    format: FormatName,
    /// Skip the first line, which names the columns (tsv, csv); without this option it becomes an entry
    #[arg(long)]
    header: bool,
    /// Keep the value that a key already has
    #[arg(long)]
    keep: bool,
    /// All entries at once: after an error or a crash, none is there (at most 1048576 entries, and 1 GiB)
    #[arg(long)]
    whole: bool,
    /// Print one JSON object at the end
    #[arg(long)]
    pub(crate) json: bool,
}

/// The work done so far.
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
    // The input is opened before the pool: without an entry nothing is created, and no other process has to wait for
    // the pool because the input is slow.
    let (input, bar) = open(&args.file)?;
    let source = Source::new(input, &args.file, args.format, args.header);
    let nothing = |failure: Failure| failure.noted(NOTHING);
    let mut source = source.map_err(|(line, flaw)| nothing(wrong(args, line, flaw, false)))?;
    let chosen = args.map.types_with(|| {
        let types = source.first_types();
        types.map_err(|flaw| nothing(wrong_in(args, &source, flaw)))
    })?;
    let mut tally = Tally::default();
    let read = match chosen {
        Some(chosen) => {
            let schema = source.expect(chosen);
            let schema =
                schema.map_err(|what| Failure::Message(format!("{}: {what}", name_of(args))))?;
            read_all(args, &mut source, &schema, &mut tally, &bar)
        }
        None => Ok(None),
    };
    if source.has_bom() {
        let name = printable(&name_of(args), false);
        tell(format_args!("endura: {name}: the byte order mark at the beginning is skipped"));
    }
    bar.finish_and_clear();
    let writing = read?;
    if source.is_headed() {
        tell(format_args!("endura: {}: {HEADED}", printable(&name_of(args), false)));
    }
    finish(args, &tally, writing)
}

/// Reports the work, and keeps its results.
fn finish(args: &Args, tally: &Tally, writing: Option<Writing>) -> Result {
    let told = print(args, tally);
    let Some(mut writing) = writing else { return told.map(|()| Answer::Yes) };
    match told {
        Err(failure) if !failure.is_closed_pipe() => {
            let gone = writing.abandon();
            let map = shown_name(&args.map.map);
            Err(failure.noted(match gone {
                true => GONE.into(),
                false => format!("all entries are in the map `{map}`: {}", tally.text()),
            }))
        }
        _ => {
            writing.keep();
            writing.close()?;
            Ok(Answer::Yes)
        }
    }
}

fn print(args: &Args, tally: &Tally) -> Result<()> {
    let mut out = stdout().lock();
    if args.json {
        let whole = serde_json::json!({
            "entries": tally.entries, "added": tally.added,
            "replaced": tally.replaced, "kept": tally.kept,
        });
        writeln!(out, "{whole}")?;
    } else {
        writeln!(out, "{}: {}", counted(tally.entries, "entry"), tally.text())?;
    }
    Ok(out.flush()?)
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

/// Why an import ends before its input does.
enum Stop {
    Flaw(Flaw),
    NotStored(endura::Error),
}

/// Reads and stores all entries. Returns `None` if there are no entries. What was created for the entries stays only if
/// the caller calls `Writing::keep`.
fn read_all(
    args: &Args,
    source: &mut Source,
    schema: &Schema,
    tally: &mut Tally,
    bar: &ProgressBar,
) -> Result<Option<Writing>> {
    let nothing = |failure: Failure| failure.noted(NOTHING);
    let first = source.next().map_err(|flaw| nothing(wrong_in(args, source, flaw)))?;
    let Some(first) = first else { return Ok(None) };
    let too_long = Schema::check_lengths(&first);
    too_long.map_err(|error| nothing(wrong_in(args, source, error.to_string().into())))?;
    if args.whole {
        return read_whole(args, source, schema, first, tally, bar);
    }
    let (mut writing, map) = args.map.open(schema)?;
    let mut next_entry = Some(first);
    let mut read = || {
        while let Some(entry) = next_entry.take() {
            store(args, &map, &entry, tally).map_err(Stop::NotStored)?;
            writing.begun();
            if tally.entries.is_multiple_of(ENTRIES_PER_TICK) {
                bar.set_position(source.bytes());
                bar.set_message(counted(tally.entries, "entry"));
            }
            next_entry = source.next().map_err(Stop::Flaw)?;
        }
        Ok(())
    };
    let read = read();
    drop(map);
    let Err(stop) = read else { return Ok(Some(writing)) };
    let gone = writing.abandon();
    Err(stopped(args, tally, source, stop, gone))
}

/// Like [`read_all`], for `--whole`: all entries are read before anything is created, and stored at once.
fn read_whole(
    args: &Args,
    source: &mut Source,
    schema: &Schema,
    first: Entry,
    tally: &mut Tally,
    bar: &ProgressBar,
) -> Result<Option<Writing>> {
    let nothing = |failure: Failure| failure.noted(NOTHING);
    let length = |(key, value): &Entry| key.len() + value.len();
    let mut bytes = length(&first);
    let mut entries = vec![first];
    loop {
        let next = source.next().map_err(|flaw| nothing(wrong_in(args, source, flaw)))?;
        let Some(entry) = next else { break };
        let checked = Schema::check_lengths(&entry);
        checked.map_err(|error| nothing(wrong_in(args, source, error.to_string().into())))?;
        bytes += length(&entry);
        // Some files have no end.
        if entries.len() == Batch::MOST_PARTS || bytes as u64 > Batch::MOST_BYTES {
            return Err(nothing(wrong_in(args, source, MOST.into())));
        }
        entries.push(entry);
        if (entries.len() as u64).is_multiple_of(ENTRIES_PER_TICK) {
            bar.set_position(source.bytes());
            bar.set_message(counted(entries.len() as u64, "entry"));
        }
    }
    let (mut writing, map) = args.map.open(schema)?;
    let stored =
        writing.pool().map_or(Ok(()), |pool| store_whole(args, pool, &map, &entries, tally));
    drop(map);
    let Err(error) = stored else {
        writing.begun();
        return Ok(Some(writing));
    };
    writing.abandon();
    Err(nothing(Failure::at(&args.map.pool, &error)))
}

/// Stores all entries at once, and counts them. No other process writes to the pool meanwhile.
fn store_whole(
    args: &Args,
    pool: &Pool,
    map: &OpenMap,
    entries: &[Entry],
    tally: &mut Tally,
) -> endura::Result<()> {
    let (mut batch, mut keys) = (pool.batch(), HashSet::new());
    for (key, value) in entries {
        tally.entries += 1;
        let is_there = keys.contains(key) || map.get(key)?.is_some();
        if is_there && args.keep {
            tally.kept += 1;
            continue;
        }
        *(if is_there { &mut tally.replaced } else { &mut tally.added }) += 1;
        batch.put_encoded(map.dynamic(), key, value)?;
        keys.insert(key);
    }
    batch.commit()
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

/// The error for a flaw in the file, with its line. `columns` says that the first line may name the columns.
fn wrong(args: &Args, line: u64, flaw: Flaw, columns: bool) -> Failure {
    let file = name_of(args);
    Failure::Message(match flaw {
        Flaw::Io(error) if line == 0 => format!("{file}: {error}"),
        Flaw::Io(error) => format!("{file}, after line {line}: {error}"),
        Flaw::Wrong(what) if line == 0 => format!("{file}: the file is empty: {what}"),
        Flaw::Wrong(what) if line == 1 && columns && !args.header => {
            format!("{file}, line 1: {what} (--header skips the first line)")
        }
        Flaw::Wrong(what) => format!("{file}, line {line}: {what}"),
    })
}

/// Like [`wrong`], for the line that was read last.
fn wrong_in(args: &Args, source: &Source, flaw: Flaw) -> Failure {
    wrong(args, source.line(), flaw, source.has_columns())
}

const MOST: &str =
    "--whole takes at most 1048576 entries, and 1 GiB: divide the file, or leave --whole out";
const HEADED: &str = "the first line, which names the columns, is an entry now: --header skips it";
const NOTHING: &str = "nothing was imported";
const GONE: &str = "nothing was imported: the map was new, and is gone with its entries";

/// The error of an import that was stopped, with what the import leaves. `gone` says that the map was new, and has been
/// removed again.
fn stopped(args: &Args, tally: &Tally, source: &Source, stop: Stop, gone: bool) -> Failure {
    let left = |act: &str| match (gone, tally.entries) {
        (_, 0) => NOTHING.to_owned(),
        (true, _) => GONE.to_owned(),
        (false, _) => format!(
            "the entries before it are in the map `{}`: {}; {act}; entries that are already there do no harm",
            shown_name(&args.map.map),
            tally.text()
        ),
    };
    const CORRECT: &str = "correct the file and import it again";
    match stop {
        Stop::Flaw(flaw) => wrong_in(args, source, flaw).noted(left(CORRECT)),
        Stop::NotStored(
            error @ (endura::Error::KeyTooLong { .. } | endura::Error::ValueTooLong { .. }),
        ) => {
            let flaw = error.to_string().into();
            wrong(args, source.line(), flaw, false).noted(left(CORRECT))
        }
        // The file itself has no flaw.
        Stop::NotStored(error) => {
            let (file, line) = (name_of(args), source.line());
            let left = left("solve that and import the file again");
            Failure::at(&args.map.pool, &error).noted(format!("{file}, line {line}: {left}"))
        }
    }
}
