//! `endura del`: one entry less.

use std::ffi::OsString;
use std::io::{Write, stdout};

use crate::pool::pool_args::{MapArgs, about, parse_key};
use crate::pool::uncounted::count_unknown;
use crate::values::escape::NOTATION;
use crate::values::map::OpenMap;
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
    pub(crate) json: bool,
}

pub(crate) fn run(args: &Args) -> Result {
    let (pool, map) = args.map.open()?;
    let answer = remove(args, &map);
    let answer = answer.map_err(|failure| about(&args.map.pool.pool, failure))?;
    count_unknown(&pool).and_then(|()| pool.close()).map_err(|error| args.map.pool.at(&error))?;
    Ok(answer)
}

fn remove(args: &Args, map: &OpenMap) -> Result {
    let key = parse_key(&map.schema, &args.key)?;
    let previous = map.remove(&key)?;
    if args.json {
        let (key, old) = (map.schema.key_json(&key)?, map.schema.value_json(previous.as_ref())?);
        writeln!(stdout(), "{{\"key\":{key},\"previous\":{old}}}")?;
    }
    Ok(Answer::yes_if(previous.is_some()))
}
