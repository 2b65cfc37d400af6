//! `endura import`: entries from a file of numbers, one per line.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write, stdout};
use std::path::{Path, PathBuf};

use endura::AnyMap;
use indicatif::ProgressBar;

use crate::outcome::{Answer, Failure, Result};
use crate::pool_args::MapArgs;
use crate::progress;
use crate::text::{counted, grouped, parse_number};

/// How many lines go by between two looks at the progress bar.
const LINES_PER_TICK: u64 = 4096;

/// The longest line that can hold two numbers, with room for blanks.
const LONGEST_LINE: u64 = 4096;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    map: MapArgs,
    /// Lines of key and value with a tab or a comma between them; `-` is standard input
    #[arg(default_value = "-")]
    file: PathBuf,
    /// Skip the first line
    #[arg(long)]
    header: bool,
    /// Keep the value that a key already has
    #[arg(long)]
    keep: bool,
    /// Print one JSON object at the end
    #[arg(long)]
    json: bool,
}

/// What has been done so far.
#[derive(Default)]
struct Tally {
    lines: u64,
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
    // The input first: a path that does not exist should not leave an empty pool behind.
    let (mut input, bar) = open(&args.file)?;
    let (pool, map) = args.map.open_or_create()?;
    let mut tally = Tally::default();
    let read = read_all(args, &mut *input, &map, &mut tally, &bar);
    bar.finish_and_clear();
    args.map.close(&pool)?;
    read.map_err(|failure| after(failure, args, &tally))?;
    if args.json {
        let whole = serde_json::json!({
            "lines": tally.lines, "added": tally.added,
            "replaced": tally.replaced, "kept": tally.kept,
        });
        writeln!(stdout(), "{whole}")?;
    } else {
        writeln!(stdout(), "{}: {}", counted(tally.lines, "line"), tally.text())?;
    }
    Ok(Answer::Yes)
}

/// Adds to a failure what had been imported before it.
fn after(failure: Failure, args: &Args, tally: &Tally) -> Failure {
    match failure {
        Failure::Message(text) if tally.lines == 0 => {
            Failure::Message(format!("{text}\nendura: nothing was imported"))
        }
        Failure::Message(text) => Failure::Message(format!(
            "{text}\nendura: the lines before it are in the map `{}`: {}; correct the file and \
             import it again, entries that are already there do no harm",
            args.map.map,
            tally.text()
        )),
        other => other,
    }
}

fn open(path: &Path) -> Result<(Box<dyn BufRead>, ProgressBar)> {
    if path == Path::new("-") {
        return Ok((Box::new(io::stdin().lock()), progress::spinner()));
    }
    let failure = |error: io::Error| Failure::io(format!("cannot open {}", path.display()), &error);
    let file = File::open(path).map_err(failure)?;
    let length = file.metadata().map_err(failure)?.len();
    Ok((Box::new(BufReader::with_capacity(1 << 16, file)), progress::bytes_bar(length)))
}

fn read_all(
    args: &Args,
    input: &mut dyn BufRead,
    map: &AnyMap,
    tally: &mut Tally,
    bar: &ProgressBar,
) -> Result<()> {
    let (mut line, mut number, mut bytes) = (Vec::new(), 0_u64, 0);
    loop {
        line.clear();
        let read = io::Read::take(&mut *input, LONGEST_LINE).read_until(b'\n', &mut line);
        let length = read.map_err(|e| Failure::io(format!("{}", args.file.display()), &e))?;
        if length == 0 {
            return Ok(());
        }
        number += 1;
        bytes += length as u64;
        if number.is_multiple_of(LINES_PER_TICK) {
            bar.set_position(bytes);
            bar.set_message(counted(tally.lines, "line"));
        }
        if args.header && number == 1 {
            continue;
        }
        let wrong = |what: String| {
            let hint = if number == 1 { " (--header skips the first line)" } else { "" };
            Failure::Message(format!("{}, line {number}: {what}{hint}", args.file.display()))
        };
        let Some((key, value)) = parse(&line).map_err(wrong)? else { continue };
        let failed = |e: endura::Error| wrong(e.to_string());
        store(args, map, key, value, tally).map_err(failed)?;
    }
}

fn store(args: &Args, map: &AnyMap, key: u64, value: u64, tally: &mut Tally) -> endura::Result<()> {
    if args.keep {
        let new = map.insert_new(key, value)?;
        *(if new { &mut tally.added } else { &mut tally.kept }) += 1;
    } else {
        let old = map.insert(key, value)?;
        *(if old.is_none() { &mut tally.added } else { &mut tally.replaced }) += 1;
    }
    tally.lines += 1;
    Ok(())
}

/// The entry on a line; none on an empty one.
fn parse(line: &[u8]) -> Result<Option<(u64, u64)>, String> {
    if line.len() as u64 >= LONGEST_LINE {
        return Err(format!("the line has more than {LONGEST_LINE} bytes"));
    }
    let line = str::from_utf8(line).map_err(|_| "the line is not text")?.trim();
    if line.is_empty() {
        return Ok(None);
    }
    // A tab decides: in a TSV file a comma could only be a mistake inside a number.
    let separator = if line.contains('\t') { '\t' } else { ',' };
    let mut fields = line.split(separator).map(|field| field.trim().trim_matches('"'));
    let (Some(key), Some(value), None) = (fields.next(), fields.next(), fields.next()) else {
        let count = line.split(separator).count();
        return Err(format!("2 fields expected, a key and a value, found {count}"));
    };
    let number = |what: &str, text: &str| {
        parse_number(text).map_err(|error| format!("the {what} `{}` is {error}", shown(text)))
    };
    Ok(Some((number("key", key)?, number("value", value)?)))
}

/// At most 40 characters, none of them control characters: it came from a file of anybody's.
fn shown(text: &str) -> String {
    let clean = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    text.chars().take(40).map(clean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        assert_eq!(parse(b"1\t2\n"), Ok(Some((1, 2))));
        assert_eq!(parse(b" 1 , \"18446744073709551615\" \r\n"), Ok(Some((1, u64::MAX))));
        assert_eq!(parse(b"\r\n"), Ok(None));
        for bad in [&b"1"[..], b"1\t2\t3", b"1,x", b"\xff\t1", b"1,", b"-1\t1", b"1.5,2"] {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
        assert!(parse(&[b'1'; 5000]).is_err());
        assert!(parse(b"\x1b[2J\t1").is_err_and(|text| !text.contains('\x1b')));
    }
}
