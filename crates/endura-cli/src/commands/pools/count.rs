//! `endura count`: the number of entries of each map.

use std::io::{BufWriter, Write, stdout};

use endura::{Error, Pool};
use serde_json::json;

use crate::pool::checkpoint_args::{FileArgs, close};
use crate::pool::pool_args::{PoolArgs, about, must_exist, parse_name, shown_name};
use crate::pool::uncounted::{check_len, count_unknown, counted, has_unknown};
use crate::values::map::OpenMap;
use endura_console::outcome::{Answer, Failure, Result};
use endura_console::text::{Table, grouped};

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    pool: PoolArgs,
    /// Only this map
    #[arg(long, value_parser = parse_name)]
    map: Option<String>,
    /// Count the entries one by one, and compare with the recorded numbers
    #[arg(long)]
    verify: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    checkpoints: FileArgs,
}

pub(crate) fn run(args: &Args) -> Result {
    let mut pool = args.pool.open_read_only()?;
    if let Some(name) = &args.map {
        must_exist(&pool, &args.pool.pool, name, "--map")?;
    }
    if has_unknown(&pool).map_err(|error| args.pool.at(&error))? {
        drop(pool);
        pool = args.pool.open(args.checkpoints.choice())?;
    }
    let counts = count(args, &pool).map_err(|error| {
        let failure = args.pool.at(&error);
        match (error, &args.map) {
            (Error::UnknownNodes { .. }, None) => failure.noted("`--map` counts another map"),
            _ => failure,
        }
    })?;
    if counts.iter().any(|(_, len)| len.is_none()) {
        return Err(Failure::Message(format!(
            "{}: a map could not be counted; `endura check` says why",
            args.pool.pool.display()
        )));
    }
    if args.verify {
        verify(&pool, &counts).map_err(|failure| about(&args.pool.pool, failure))?;
    }
    close(&pool, &args.pool.pool).map_err(|error| args.pool.at(&error))?;
    let mut out = BufWriter::new(stdout().lock());
    if args.json {
        let maps: serde_json::Map<_, _> =
            counts.into_iter().map(|(name, len)| (name, len.into())).collect();
        writeln!(out, "{}", json!({ "entries": maps }))?;
    } else {
        let mut table = Table::new(1, &["map", "entries"]);
        for (name, len) in counts {
            table.row([shown_name(&name), grouped(len.unwrap_or(0))]);
        }
        table.write(&mut out)?;
    }
    out.flush()?;
    Ok(Answer::Yes)
}

fn count(args: &Args, pool: &Pool) -> endura::Result<Vec<(String, Option<u64>)>> {
    count_unknown(pool)?;
    let wanted = |name: &String| args.map.as_ref().is_none_or(|map| map == name);
    let maps = pool.maps()?.into_iter().filter(|map| wanted(&map.name));
    let counts = maps.map(|map| match counted(&map) {
        None if !map.is_known => Err(Error::UnknownNodes { name: map.name }),
        count => Ok((map.name, count)),
    });
    counts.collect()
}

/// Reads the maps that were counted, and fails if one of them has another number of entries than is recorded.
fn verify(pool: &Pool, counts: &[(String, Option<u64>)]) -> Result<()> {
    for (name, _) in counts {
        let map = OpenMap::open(pool, name)?;
        check_len(&map, map.count_one_by_one()?, "restore the pool from a backup")?;
    }
    Ok(())
}
