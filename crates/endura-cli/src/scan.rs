//! `endura scan`: the entries of a range.

use std::io::{BufWriter, Write, stdout};

use crate::outcome::{Answer, Failure, Result};
use crate::pool_args::MapArgs;
use crate::text::parse_number;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    map: MapArgs,
    /// The least key
    #[arg(long, value_parser = parse_number, default_value = "0")]
    from: u64,
    /// The greatest key, itself included
    #[arg(long, value_parser = parse_number, default_value = "18446744073709551615")]
    to: u64,
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
    if args.from > args.to {
        return Err(Failure::Usage(format!("--from {} is above --to {}", args.from, args.to)));
    }
    let (_pool, map) = args.map.open_read_only()?;
    let range = map.range(args.from..=args.to);
    if args.reverse {
        print(args, range.rev())?
    } else {
        print(args, range)?
    }
    Ok(Answer::Yes)
}

fn print(args: &Args, entries: impl Iterator<Item = endura::Result<(u64, u64)>>) -> Result<()> {
    let mut out = BufWriter::new(stdout().lock());
    let limit = args.limit.unwrap_or(u64::MAX);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    for entry in entries.take(limit) {
        let (key, value) = entry?;
        if args.json {
            writeln!(out, "{{\"key\":{key},\"value\":{value}}}")?;
        } else {
            writeln!(out, "{key}\t{value}")?;
        }
    }
    Ok(out.flush()?)
}
