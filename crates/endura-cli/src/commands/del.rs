//! `endura del`: one entry less.

use std::ffi::OsString;
use std::io::{Write, stdout};

use serde_json::json;

use crate::pool::pool_args::{MapArgs, about, parse};
use crate::pool::uncounted::count_unknown;
use crate::values::datum::Datum;
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
    /// Print {"key":K,"previous":V}, with null if the key was absent
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result {
    let (pool, map) = args.map.open()?;
    let answer = on_map!(&map, map => remove(args, map));
    let answer = answer.map_err(|failure| about(&args.map.pool.pool, failure))?;
    count_unknown(&pool).and_then(|()| pool.close()).map_err(|error| args.map.pool.at(&error))?;
    Ok(answer)
}

fn remove<E: Entries>(args: &Args, map: &E) -> Result {
    let key: E::Datum = parse(&args.key)?;
    let previous = map.remove(&key)?;
    if args.json {
        let previous = previous.as_ref().map(Datum::json);
        writeln!(stdout(), "{}", json!({ "key": key.json(), "previous": previous }))?;
    }
    Ok(Answer::yes_if(previous.is_some()))
}
