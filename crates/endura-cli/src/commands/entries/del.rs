//! `endura del`: removes one entry.

use std::ffi::OsString;
use std::io::{Write, stdout};

use crate::pool::checkpoint_args::{CheckpointArgs, close};
use crate::pool::pool_args::{OldMapArgs, about, parse_key};
use crate::pool::uncounted::count_unknown;
use crate::values::escape::NOTATION;
use crate::values::map::{OpenMap, Schema};
use endura_console::outcome::{Answer, Result};

#[derive(clap::Args)]
#[command(after_help = NOTATION)]
pub(crate) struct Args {
    #[command(flatten)]
    map: OldMapArgs,
    /// The key
    #[arg(allow_negative_numbers = true)]
    key: OsString,
    /// Print {"key":K,"previous":V}, with null if the key was absent
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    checkpoints: CheckpointArgs,
}

pub(crate) fn run(args: &Args) -> Result {
    let (pool, map) = args.map.open(args.checkpoints.choice())?;
    let answer = remove(args, &map);
    let answer = answer.map_err(|failure| about(&args.map.pool.pool, failure))?;
    let closed = count_unknown(&pool).and_then(|()| close(&pool, &args.map.pool.pool));
    closed.map_err(|error| args.map.pool.at(&error))?;
    Ok(answer)
}

fn remove(args: &Args, map: &OpenMap) -> Result {
    let key = parse_key(map.name(), &map.schema, &args.key)?;
    let previous = map.remove(&key)?;
    let was_there = previous.is_some();
    match told(args, &map.schema, &key, previous.as_ref()) {
        Err(failure) if was_there && !failure.is_closed_pipe() => {
            Err(map.taken_back(&key, previous, failure))
        }
        told => told.map(|()| Answer::yes_if(was_there)),
    }
}

fn told(args: &Args, schema: &Schema, key: &[u8], previous: Option<&Vec<u8>>) -> Result<()> {
    if args.json {
        let (key, old) = (schema.key_json(key)?, schema.value_json(previous)?);
        let mut out = stdout().lock();
        writeln!(out, "{{\"key\":{key},\"previous\":{old}}}")?;
        out.flush()?;
    }
    Ok(())
}
