//! `endura rename`: gives a map another name.

use endura::Error;

use crate::pool::checkpoint_args::{CheckpointArgs, close};
use crate::pool::pool_args::{PoolArgs, must_exist, parse_name, shown_name};
use crate::pool::uncounted::count_unknown;
use endura_console::outcome::{Answer, Failure, Result};

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    pool: PoolArgs,
    /// The map
    #[arg(value_parser = parse_name)]
    map: String,
    /// Its new name, which no map may have
    #[arg(value_parser = parse_name)]
    name: String,
    #[command(flatten)]
    checkpoints: CheckpointArgs,
}

pub(crate) fn run(args: &Args) -> Result {
    let pool = args.pool.open(args.checkpoints.choice())?;
    must_exist(&pool, &args.pool.pool, &args.map, "")?;
    // The count comes first, because a command that fails must not change anything, and a count may fail.
    let renamed = count_unknown(&pool).and_then(|()| pool.rename(&args.map, &args.name));
    renamed.and_then(|()| close(&pool, &args.pool.pool)).map_err(|error| match error {
        Error::MapExists { .. } if args.map == args.name => {
            told(args, "is the map's name as it is")
        }
        Error::MapExists { .. } => {
            told(args, "is the name of another map: drop that first, or choose another name")
        }
        error => args.pool.at(&error),
    })?;
    Ok(Answer::Yes)
}

fn told(args: &Args, what: &str) -> Failure {
    let (path, name) = (args.pool.pool.display(), shown_name(&args.name));
    let code = Error::MapExists { name: args.name.clone() }.code();
    Failure::Pool { code, text: format!("{path}: `{name}` {what}") }
}
