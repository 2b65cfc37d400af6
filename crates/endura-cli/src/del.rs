//! `endura del`: one entry less.

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
    /// Print {"key":K,"previous":V}, with null if the key was absent
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result {
    let (pool, map) = args.map.open()?;
    let previous = map.remove(args.key)?;
    args.map.close(&pool)?;
    if args.json {
        writeln!(stdout(), "{}", serde_json::json!({ "key": args.key, "previous": previous }))?;
    }
    Ok(Answer::yes_if(previous.is_some()))
}
