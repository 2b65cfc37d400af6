//! How long it takes to open a large pool after SIGKILL and to find a key in it.

use endura::lab::handles::Handles as _;
use std::io::{Write, stdout};
use std::path::Path;
use std::time::{Duration, Instant};

use endura::Kind;
use endura_bench::contender::Contender;
use endura_bench::keys::key;
use endura_console::outcome::{Answer, Result};
use endura_console::text::{duration, grouped};
use serde_json::json;

use super::args::Args;
use crate::kill::load_and_kill;

pub(crate) fn run(args: &Args, keys: u64, dir: &Path) -> Result {
    let contender = Contender::of(args.kind.kind())?;
    let killed = load_and_kill(contender, args.shape(), keys, dir, args.layout.layout, args.media)?;
    let begun = Instant::now();
    let open = killed.open()?;
    let opened = begun.elapsed();
    let found = open.client()?.get(key(0))?.is_some();
    let first_lookup = begun.elapsed();
    drop(open);
    let rebuilt =
        if args.kind.kind() == Kind::NbTree { Some(rebuild(args, &killed.pool())?) } else { None };
    if args.json.json {
        let whole = json!({
            "keys": keys,
            "open_ns": opened.as_nanos() as u64,
            "first_lookup_ns": first_lookup.as_nanos() as u64,
            "found": found,
            "rebuild_ns": rebuilt.map(|took| took.as_nanos() as u64),
        });
        writeln!(stdout(), "{whole}")?;
    } else {
        writeln!(
            stdout(),
            "a pool of {} keys, after SIGKILL: open after {}, first key {} after {}",
            grouped(keys),
            duration(opened),
            if found { "found" } else { "MISSING" },
            duration(first_lookup)
        )?;
        if let Some(took) = rebuilt {
            let took = duration(took);
            writeln!(stdout(), "all that is kept in DRAM rebuilt by 2 threads: {took}")?;
        }
    }
    Ok(Answer::yes_if(found))
}

/// How long an NBTree takes to rebuild all that it keeps in DRAM.
fn rebuild(args: &Args, pool: &Path) -> Result<Duration> {
    let pool = args.media.options().open_existing(pool)?;
    let maps = pool.maps()?;
    let begun = Instant::now();
    for map in maps {
        pool.nbtree(&map.name)?.index().rebuild(2)?;
    }
    Ok(begun.elapsed())
}
