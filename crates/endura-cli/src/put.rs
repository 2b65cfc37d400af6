//! `endura put`: one entry.

use std::io::{Write, stdout};

use crate::outcome::{Answer, Result};
use crate::pool_args::MapArgs;
use crate::text::parse_number;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    map: MapArgs,
    /// The key: decimal, or hexadecimal after 0x
    #[arg(value_parser = parse_number)]
    key: u64,
    /// The value, written like the key
    #[arg(value_parser = parse_number)]
    value: u64,
    /// Only if the key is absent; exit code 1 if it is present
    #[arg(long)]
    new: bool,
    /// Print {"key":K,"stored":true,"previous":V}, with null if the key was absent
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result {
    let (pool, map) = args.map.open_or_create()?;
    let (stored, previous) = if args.new {
        match map.compare_exchange(args.key, None, Some(args.value))? {
            Ok(()) => (true, None),
            Err(found) => (false, found),
        }
    } else {
        (true, map.insert(args.key, args.value)?)
    };
    args.map.close(&pool)?;
    if args.json {
        let line = serde_json::json!({ "key": args.key, "stored": stored, "previous": previous });
        writeln!(stdout(), "{line}")?;
    }
    Ok(Answer::yes_if(stored))
}
