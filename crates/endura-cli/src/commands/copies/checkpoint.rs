//! `endura checkpoint`: makes a checkpoint of a pool now.

use std::io::{Write, stdout};

use endura::{Checkpoint, CheckpointStats, Error};
use endura_console::outcome::{Answer, Failure, Result};
use endura_console::text::{bytes, duration};
use serde_json::json;

use crate::pool::checkpoint_args::{CheckpointArgs, close, shown_file};
use crate::pool::pool_args::PoolArgs;
use crate::pool::uncounted::count_unknown;
use crate::values::json::path_json;

const ABOUT: &str = "\
A checkpoint is the state of a pool at one moment, in a second file. After a
power loss the next command that writes takes the pool back to the last one.
Programs that have the pool open make theirs, as the pool was told to.";

#[derive(clap::Args)]
#[command(after_help = ABOUT)]
pub(crate) struct Args {
    #[command(flatten)]
    pool: PoolArgs,
    #[command(flatten)]
    checkpoints: CheckpointArgs,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(args: &Args) -> Result {
    if args.checkpoints.makes_none() {
        return Err(Failure::Usage(
            "--no-checkpoints removes the checkpoints, and this command makes one: give it to a command that writes, \
             such as `endura put`"
                .into(),
        ));
    }
    let pool = args.pool.open(args.checkpoints.choice())?;
    let made = count_unknown(&pool).and_then(|()| pool.checkpoint());
    let made = made.map_err(|error| match error {
        Error::Unsupported { .. } => Failure::Pool {
            code: error.code(),
            text: format!(
                "{}: the pool has no checkpoints: --checkpoint-every 30 gives it some",
                args.pool.pool.display()
            ),
        },
        error => args.pool.at(&error),
    })?;
    let kept = pool.stats().map(|stats| stats.checkpoints);
    let kept = kept.and_then(|kept| close(&pool, &args.pool.pool).map(|()| kept));
    let kept = kept.map_err(|error| args.pool.at(&error))?;
    if let Some(kept) = kept {
        print(args, &made, &kept)?;
    }
    Ok(Answer::Yes)
}

fn print(args: &Args, made: &Checkpoint, kept: &CheckpointStats) -> Result<()> {
    let mut out = stdout().lock();
    if args.json {
        let whole = json!({
            "path": path_json(&kept.path),
            "bytes": kept.bytes,
            "written_bytes": made.written_bytes,
            "copied_bytes": made.copied_bytes,
            "held_ns": made.held.as_nanos() as u64,
            "slowed_ns": made.slowed.as_nanos() as u64,
            "tries": made.tries,
        });
        writeln!(out, "{whole}")?;
    } else {
        writeln!(
            out,
            "{}: {} written, {} in all, writers held for {}",
            shown_file(&args.pool.pool, &kept.path),
            bytes(made.written_bytes),
            bytes(kept.bytes),
            duration(made.held)
        )?;
    }
    Ok(out.flush()?)
}
