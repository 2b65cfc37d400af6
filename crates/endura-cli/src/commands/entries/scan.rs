//! `endura scan`: prints the entries of a range.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Write, stdout};
use std::ops::Bound;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;

use endura::{Error, Pool};

use crate::format::{Sink, Style};
use crate::pool::pool_args::{MapArgs, about, parse_key, shown_name};
use crate::pool::uncounted::check_len;
use crate::values::escape::NOTATION;
use crate::values::map::{OpenMap, Schema};
use crate::values::notation::{Bounds, Written};
use endura_console::outcome::{Answer, Failure, Result};
use endura_console::text::parse_number;

/// The size of a part in bytes. All entries of a part are read before any of them is written.
const PART: usize = 1 << 20;

#[derive(clap::Args)]
#[command(after_help = NOTATION)]
pub(crate) struct Args {
    #[command(flatten)]
    map: MapArgs,
    /// Only keys that begin with this: strings with a string, tuples with their first field
    #[arg(long, conflicts_with_all = ["from", "to"])]
    prefix: Option<OsString>,
    /// The least key
    #[arg(long)]
    from: Option<OsString>,
    /// The greatest key, itself included
    #[arg(long)]
    to: Option<OsString>,
    /// How many entries at most
    #[arg(long, value_parser = parse_number)]
    limit: Option<u64>,
    /// From the greatest key downwards
    #[arg(long)]
    reverse: bool,
    /// Print one {"key":K,"value":V} per line in place of "K<tab>V"
    #[arg(long)]
    pub(crate) json: bool,
    /// Keep the pool open until all is printed, so that no writer comes in between. Otherwise a scan into a
    /// pipe or a terminal closes the pool while each MiB is printed, and goes on behind the last key
    #[arg(long)]
    consistent: bool,
}

pub(crate) fn run(args: &Args) -> Result {
    let (pool, map) = args.map.open_read_only()?;
    scan(args, pool, map).map_err(|failure| about(&args.map.pool.pool, failure))?;
    Ok(Answer::Yes)
}

/// The rest of the range that is still to be printed.
struct Rest {
    from: Bound<Vec<u8>>,
    to: Bound<Vec<u8>>,
    entries: u64,
}

/// Prints one part after the other. If the reader may be slow, the pool is closed while a part is written, and opened
/// again afterwards.
fn scan(args: &Args, mut pool: Pool, mut map: OpenMap) -> Result<()> {
    let (from, to) = bounds(args, map.name(), &map.schema)?;
    let mut rest = Rest { from, to, entries: args.limit.unwrap_or(u64::MAX) };
    let (name, schema) = (map.name().to_owned(), map.schema.clone());
    let mut sink = Sink::new(if args.json { Style::Json } else { Style::Tsv }, &schema);
    if !args.json {
        schema.tell_unknown();
    }
    let lets_go = !args.consistent && may_be_slow();
    let mut part = Vec::with_capacity(2 * PART);
    let generation = pool.stats()?.generation;
    let mut is_of_one_session = true;
    loop {
        let more = fill(args, &map, &mut rest, &mut sink, &mut part)?;
        // The number of printed entries is compared before the pool is closed, and the result is reported once all is
        // printed.
        let compared = match more || !is_of_one_session {
            true => Ok(()),
            false => check_whole(args, &map, &rest),
        };
        if !lets_go {
            stdout().lock().write_all(&part)?;
            if !more {
                return compared;
            }
            part.clear();
            continue;
        }
        drop((map, pool));
        let mut out = stdout().lock();
        out.write_all(&part)?;
        out.flush()?;
        if !more {
            return compared;
        }
        part.clear();
        let (opened, found) = args.map.open_again(&name)?;
        is_of_one_session &= opened.stats()?.generation == generation;
        if found.schema != schema {
            let text = "the map was replaced by one of other types during the scan";
            let (found, want) = (found.schema.types.into(), schema.types.into());
            let code = Error::WrongTypes { name, found, want }.code();
            return Err(Failure::Pool { code, text: text.into() });
        }
        (pool, map) = (opened, found);
    }
}

/// Compares the number of entries that a scan of the whole map has printed with the recorded one.
fn check_whole(args: &Args, map: &OpenMap, rest: &Rest) -> Result<()> {
    let is_whole = args.prefix.is_none() && args.from.is_none() && args.to.is_none();
    if !is_whole || rest.entries == 0 {
        return Ok(());
    }
    let printed = args.limit.unwrap_or(u64::MAX) - rest.entries;
    check_len(map, printed, "what could be read is printed")
}

/// Whether standard output has a reader that may be slow: a pager, another program, a person.
fn may_be_slow() -> bool {
    let file = stdout().as_fd().try_clone_to_owned().map(File::from);
    !file.and_then(|file| file.metadata()).is_ok_and(|facts| facts.is_file())
}

/// Appends lines until a part is full; returns whether more follow.
fn fill(
    args: &Args,
    map: &OpenMap,
    rest: &mut Rest,
    sink: &mut Sink,
    part: &mut Vec<u8>,
) -> Result<bool> {
    if rest.entries == 0 {
        return Ok(false);
    }
    let mut range = map.range(&rest.from, &rest.to);
    loop {
        let next = if args.reverse { range.next_back() } else { range.next() };
        let Some(entry) = next else { return Ok(false) };
        let entry = entry?;
        part.extend_from_slice(sink.line(&entry)?);
        rest.entries -= 1;
        if rest.entries == 0 {
            return Ok(false);
        }
        if part.len() >= PART {
            let behind = Bound::Excluded(entry.0);
            *(if args.reverse { &mut rest.to } else { &mut rest.from }) = behind;
            return Ok(true);
        }
    }
}

fn bounds(args: &Args, map: &str, schema: &Schema) -> Result<Bounds> {
    if let Some(prefix) = &args.prefix {
        let Some(bounds) = schema.key.prefix(prefix.as_bytes()) else {
            return Err(Failure::Usage(format!(
                "--prefix is for strings, bytes and tuples; the keys of the map `{}` are `{}`: use --from and --to",
                shown_name(map),
                schema.types.key
            )));
        };
        return bounds.map_err(Failure::Usage);
    }
    let bound = |argument: &Option<OsString>| {
        argument.as_deref().map(|argument| parse_key(map, schema, argument)).transpose()
    };
    let (from, to) = (bound(&args.from)?, bound(&args.to)?);
    if from.is_some() && to.is_some() && from > to {
        let shown = |argument: &Option<OsString>| argument.clone().unwrap_or_default();
        let (from, to) = (shown(&args.from), shown(&args.to));
        return Err(Failure::Usage(format!(
            "--from {} is above --to {}",
            from.display(),
            to.display()
        )));
    }
    let bound = |key: Option<Vec<u8>>| key.map_or(Bound::Unbounded, Bound::Included);
    Ok((bound(from), bound(to)))
}
