//! How long it takes to open a large pool after SIGKILL and to find a key in it.

use std::io::{Write, stdout};
use std::path::Path;
use std::time::Instant;

use endura::Kind;
use serde_json::json;

use super::plain::Args;
use crate::demo::{LoadPlan, Lookup, Maps, load_until_killed};
use crate::outcome::{Answer, Failure, Result};
use crate::text::{duration, grouped};

pub(crate) fn run(args: &Args, keys: u64, dir: &Path) -> Result {
    let made = tempfile::Builder::new().prefix("endura-bench-").tempdir_in(dir);
    let folder =
        made.map_err(|e| Failure::io(format!("cannot make a folder in {}", dir.display()), &e))?;
    let plan = LoadPlan {
        pool: folder.path().join("pool"),
        ledger: folder.path().join("acknowledged"),
        keys,
        threads: 2,
        media: args.media,
    };
    let pool = args.media.options().create(&plan.pool)?;
    match args.layout {
        Some(layout) => drop(pool.fast_fair_with(Kind::FastFair.name(), layout)?),
        None => Maps::create(&pool, &[args.kind.kind()])?,
    }
    pool.close()?;
    drop(pool);
    let loaded = load_until_killed(&plan, keys)?;
    let begun = Instant::now();
    let pool = args.media.options().open(&plan.pool)?;
    let opened = begun.elapsed();
    let maps = Maps::open(&pool)?;
    let found = maps.look_up(loaded.last_acknowledged())? == Lookup::Right;
    let first_lookup = begun.elapsed();
    let rebuilt = maps.rebuild(2)?;
    if args.json {
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
            writeln!(
                stdout(),
                "the rest of what is kept in DRAM, by 2 threads: {}",
                duration(took)
            )?;
        }
    }
    Ok(Answer::yes_if(found))
}
