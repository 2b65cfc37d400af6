//! `endura drop`: removes one map.

use crate::pool::checkpoint_args::{CheckpointArgs, close};
use crate::pool::pool_args::{PoolArgs, must_exist, parse_name};
use crate::pool::uncounted::count_unknown;
use endura_console::outcome::{Answer, Result};

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    pool: PoolArgs,
    /// The name of the map
    #[arg(value_parser = parse_name)]
    map: String,
    #[command(flatten)]
    checkpoints: CheckpointArgs,
}

pub(crate) fn run(args: &Args) -> Result {
    let pool = args.pool.open(args.checkpoints.choice())?;
    must_exist(&pool, &args.pool.pool, &args.map, "")?;
    let dropped = pool.drop_map(&args.map).and_then(|_| count_unknown(&pool));
    dropped.and_then(|()| close(&pool, &args.pool.pool)).map_err(|error| args.pool.at(&error))?;
    Ok(Answer::Yes)
}
