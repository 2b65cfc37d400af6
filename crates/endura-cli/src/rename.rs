//! `endura rename`: a map under another name.
//!
//! The directory of a pool cannot give an entry another name in one step, so that the entries are copied
//! to a new map and the old one is dropped. Signals wait for the end; a failure drops the copy. After
//! `kill -9` both may be there: the old map is then whole, and the copy may be dropped.

use std::ops::Bound::Unbounded;

use endura::{Kind, Pool};

use crate::count::count_unknown;
use crate::entries::{Entries, OpenMap, kind_of};
use crate::pool_args::{PoolArgs, must_exist, parse_name, shown_name};
use endura_console::interrupt;
use endura_console::outcome::{Answer, Failure, Result};

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    pool: PoolArgs,
    /// The map
    #[arg(value_parser = parse_name)]
    map: String,
    /// Its new name, which no map may have. The entries are copied: the pool needs space for them twice
    #[arg(value_parser = parse_name)]
    name: String,
}

pub(crate) fn run(args: &Args) -> Result {
    let pool = args.pool.open()?;
    must_exist(&pool, &args.pool.pool, &args.map)?;
    let path = args.pool.pool.display();
    let failure = |error| args.pool.at(&error);
    if pool.maps().map_err(failure)?.iter().any(|map| map.name == args.name) {
        let name = shown_name(&args.name);
        return Err(Failure::Message(format!(
            "{path}: there is a map `{name}`: drop it first, or choose another name"
        )));
    }
    let Some(kind) = kind_of(&pool, &args.map).map_err(failure)? else {
        return Err(Failure::Message(format!("{path}: this build does not know the map's kind")));
    };
    let _section = interrupt::section();
    if let Err(error) = copy(&pool, kind, &args.map, &args.name) {
        // What cannot be dropped is in a pool that is broken, and has been reported as that.
        let _ = pool.drop_map(&args.name);
        let _ = pool.close();
        return Err(failure(error));
    }
    let renamed = pool.drop_map(&args.map).and_then(|_| count_unknown(&pool));
    renamed.and_then(|()| pool.close()).map_err(failure)?;
    Ok(Answer::Yes)
}

fn copy(pool: &Pool, kind: Kind, from: &str, to: &str) -> endura::Result<()> {
    let maps = (OpenMap::open(pool, from, Some(kind))?, OpenMap::open(pool, to, Some(kind))?);
    match maps {
        (OpenMap::Numbers(from), OpenMap::Numbers(to)) => copy_entries(&from, &to),
        (OpenMap::Bytes(from), OpenMap::Bytes(to)) => copy_entries(&from, &to),
        // Both are of one kind.
        _ => Ok(()),
    }
}

fn copy_entries<E: Entries>(from: &E, to: &E) -> endura::Result<()> {
    for entry in from.range(Unbounded, Unbounded) {
        let (key, value) = entry?;
        to.insert(&key, &value)?;
    }
    Ok(())
}
