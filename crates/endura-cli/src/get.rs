//! `endura get`: one value.

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
    /// Print {"key":K,"value":V}, with null if the key is absent
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result {
    let (_pool, map) = args.map.open_read_only()?;
    let value = map.get(args.key)?;
    if args.json {
        writeln!(stdout(), "{}", serde_json::json!({ "key": args.key, "value": value }))?;
    } else if let Some(value) = value {
        writeln!(stdout(), "{value}")?;
    }
    Ok(Answer::yes_if(value.is_some()))
}
