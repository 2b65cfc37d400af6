//! `endura count`, and the counting of maps whose number of entries an unclean end has lost.

use std::io::{BufWriter, Write, stdout};
use std::time::{Duration, Instant};

use endura::{Len, Pool};
use serde_json::json;

use crate::entries::{Entries, OpenMap, on_map};
use crate::pool_args::{PoolArgs, must_exist, parse_name, shown_name};
use endura_console::outcome::{Answer, Failure, Result};
use endura_console::text::{Table, grouped};

/// A count that comes no further for so long has ended with an error, which the next operation reports.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    pool: PoolArgs,
    /// Only this map
    #[arg(long, value_parser = parse_name)]
    map: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result {
    let mut pool = args.pool.open_read_only()?;
    if let Some(name) = &args.map {
        must_exist(&pool, &args.pool.pool, name, "--map")?;
    }
    if has_unknown(&pool).map_err(|error| args.pool.at(&error))? {
        drop(pool);
        pool = args.pool.open()?;
    }
    let counts = count(args, &pool).map_err(|error| args.pool.at(&error))?;
    if counts.iter().any(|(_, len)| len.is_none()) {
        return Err(Failure::Message(format!(
            "{}: a map could not be counted; `endura check` says why",
            args.pool.pool.display()
        )));
    }
    pool.close().map_err(|error| args.pool.at(&error))?;
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
    Ok(maps.map(|map| (map.name, exact(map.len))).collect())
}

/// The number of entries, where it is known.
pub(crate) fn exact(len: Len) -> Option<u64> {
    match len {
        Len::Exact(entries) => Some(entries),
        _ => None,
    }
}

/// Whether the number of entries of some map is not known.
pub(crate) fn has_unknown(pool: &Pool) -> endura::Result<bool> {
    Ok(pool.maps()?.iter().any(|map| exact(map.len).is_none()))
}

/// Counts the maps whose number of entries is not known; the next clean close records it. A map of a kind
/// that this build does not know stays as it is.
pub(crate) fn count_unknown(pool: &Pool) -> endura::Result<()> {
    for map in pool.maps()? {
        if exact(map.len).is_none() && map.kind != "unknown" {
            let map = OpenMap::open(pool, &map.name, None)?;
            on_map!(&map, map => count_map(map))?;
        }
    }
    Ok(())
}

/// Waits for the thread that counts, which pins one leaf at a time.
fn count_map(map: &impl Entries) -> endura::Result<()> {
    let (mut seen, mut since) = (None, Instant::now());
    let mut pause = Duration::from_micros(100);
    loop {
        let len = map.len()?;
        if exact(len).is_some() || since.elapsed() > PATIENCE {
            return Ok(());
        }
        if seen.replace(len) != Some(len) {
            since = Instant::now();
        }
        std::thread::sleep(pause);
        pause = (2 * pause).min(Duration::from_millis(5));
    }
}
