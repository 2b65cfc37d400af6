//! `endura scan`: the entries of a range.

use std::ffi::OsString;
use std::io::{BufWriter, Write, stdout};
use std::ops::Bound;

use crate::entries::{Entries, Entry, on_map};
use crate::escape::NOTATION;
use crate::format::{Sink, Style};
use crate::pool_args::{MapArgs, parse};
use endura_console::outcome::{Answer, Failure, Result};
use endura_console::text::parse_number;

#[derive(clap::Args)]
#[command(after_help = NOTATION)]
pub(crate) struct Args {
    #[command(flatten)]
    map: MapArgs,
    /// Only keys that begin with this; for maps of byte strings
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
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result {
    let (_pool, map) = args.map.open_read_only()?;
    on_map!(&map, map => scan(args, map))
}

fn scan<E: Entries>(args: &Args, map: &E) -> Result {
    let range = match &args.prefix {
        Some(prefix) => map.prefix(&parse(prefix)?).ok_or_else(|| {
            Failure::Usage(
                "--prefix is for maps of byte strings; numbers have --from and --to".into(),
            )
        })?,
        None => between(args, map)?,
    };
    if args.reverse {
        print(args, range.rev())?
    } else {
        print(args, range)?
    }
    Ok(Answer::Yes)
}

fn between<E: Entries>(args: &Args, map: &E) -> Result<E::Range> {
    let bound = |argument: &Option<OsString>| argument.as_deref().map(parse).transpose();
    let (from, to): (Option<E::Datum>, Option<E::Datum>) = (bound(&args.from)?, bound(&args.to)?);
    if from.is_some() && to.is_some() && from > to {
        let shown = |argument: &Option<OsString>| argument.clone().unwrap_or_default();
        let (from, to) = (shown(&args.from), shown(&args.to));
        return Err(Failure::Usage(format!(
            "--from {} is above --to {}",
            from.display(),
            to.display()
        )));
    }
    let bound = |datum: Option<E::Datum>| datum.map_or(Bound::Unbounded, Bound::Included);
    Ok(map.range(bound(from), bound(to)))
}

fn print<D: crate::datum::Datum>(
    args: &Args,
    entries: impl Iterator<Item = endura::Result<Entry<D>>>,
) -> Result<()> {
    let mut out = BufWriter::new(stdout().lock());
    let mut sink = Sink::new(if args.json { Style::Json } else { Style::Tsv });
    let limit = args.limit.unwrap_or(u64::MAX);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    for entry in entries.take(limit) {
        let (key, value) = entry?;
        out.write_all(sink.line(&key, &value)?)?;
    }
    Ok(out.flush()?)
}
