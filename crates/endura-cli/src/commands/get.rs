//! `endura get`: one value.

use std::ffi::OsString;
use std::io::{Write, stdout};

use serde_json::json;

use crate::pool::pool_args::{MapArgs, about, parse};
use crate::values::datum::{Datum, print_line};
use crate::values::entries::{Entries, on_map};
use crate::values::escape::NOTATION;
use endura_console::outcome::{Answer, Result};

#[derive(clap::Args)]
#[command(after_help = NOTATION)]
pub(crate) struct Args {
    #[command(flatten)]
    map: MapArgs,
    /// The key
    #[arg(allow_negative_numbers = true)]
    key: OsString,
    /// Print the bytes of the value as they are, without a line end
    #[arg(long, conflicts_with = "json")]
    raw: bool,
    /// Print {"key":K,"value":V}, with null if the key is absent
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result {
    let (_pool, map) = args.map.open_read_only()?;
    let answer = on_map!(&map, map => look_up(args, map));
    answer.map_err(|failure| about(&args.map.pool.pool, failure))
}

fn look_up<E: Entries>(args: &Args, map: &E) -> Result {
    let key: E::Datum = parse(&args.key)?;
    let value = map.get(&key)?;
    let mut out = stdout().lock();
    match &value {
        value if args.json => {
            let value = value.as_ref().map(Datum::json);
            writeln!(out, "{}", json!({ "key": key.json(), "value": value }))?;
        }
        Some(value) if args.raw => {
            let mut bytes = Vec::new();
            value.write_plain(&mut bytes);
            out.write_all(&bytes)?;
        }
        Some(value) => print_line(&mut out, value)?,
        None => {}
    }
    out.flush()?;
    Ok(Answer::yes_if(value.is_some()))
}
