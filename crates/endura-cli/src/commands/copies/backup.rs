//! `endura backup`: copies a pool, or the checkpoint of one that is in use.

use std::io::{Write, stdout};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use endura::{Error, Pool};
use endura_console::holder;
use endura_console::outcome::{Answer, Failure, Result};
use endura_console::progress;
use endura_console::text::{bytes, printable};
use indicatif::ProgressBar;
use serde_json::json;

use crate::pool::checkpoint_args::{FileArgs, close, default_file, is_there, tell_restored};
use crate::pool::moment::{since, utc};
use crate::pool::pool_args::{PoolArgs, about, with_checkpoints};
use crate::pool::uncounted::check_all;
use crate::values::json::path_json;

const NO_COPY: &str = "no copy was made; `cp` copies the file as it is";

const ABOUT: &str = "\
The copy is a closed pool, which can be opened anywhere. It appears when it is
whole and durable; an interrupted backup leaves nothing. A pool that another
process keeps open for writing, for longer than --wait, gives its last
checkpoint: what was written since then is not in the copy. Before a closed pool
is copied, its maps are read, and their entries counted: a damaged one is not
copied. `cp` copies the file of a closed pool as it is.";

#[derive(clap::Args)]
#[command(after_help = ABOUT)]
pub(crate) struct Args {
    #[command(flatten)]
    pool: PoolArgs,
    /// Where to; nothing may be there
    to: PathBuf,
    #[command(flatten)]
    checkpoints: FileArgs,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(args: &Args) -> Result {
    if is_there(&args.to) {
        let to = args.to.display();
        return Err(Failure::Message(format!(
            "{to} exists: give another path, or remove it first"
        )));
    }
    let bar = progress::bytes_bar(0);
    let copied = copy(args, &bar);
    bar.finish_and_clear();
    print(args, copied?)?;
    Ok(Answer::Yes)
}

/// Copies the pool. If the pool is in use, copies its checkpoint instead, and returns when the checkpoint was made.
fn copy(args: &Args, bar: &ProgressBar) -> Result<Option<SystemTime>> {
    let path = &args.pool.pool;
    let failed = |error: Error| match error {
        Error::Io { .. } => Failure::at(&args.to, &error),
        _ => args.pool.at(&error),
    };
    let shown = |done, all| {
        bar.set_length(all);
        bar.set_position(done);
        ControlFlow::Continue(())
    };
    match open(args, path) {
        Ok(pool) => {
            check_all(&pool, NO_COPY).map_err(|failure| about(path, failure))?;
            let copied = pool.backup_with(&args.to, shown).and_then(|()| close(&pool, path));
            copied.map_err(failed)?;
            Ok(None)
        }
        Err(Error::Locked) => {
            let from = args.checkpoints.checkpoint_file.clone();
            let from = from.unwrap_or_else(|| default_file(path));
            if !from.is_file() {
                return Err(in_use(args, &from));
            }
            let from = args.checkpoints.checkpoint_file.as_deref();
            Pool::backup_of_checkpoint(path, from, &args.to, shown).map(Some).map_err(failed)
        }
        Err(error) => Err(args.pool.at(&error)),
    }
}

fn in_use(args: &Args, from: &Path) -> Failure {
    let pool = &args.pool.pool;
    let holder = holder::of(pool).map_or("is in use".to_owned(), |who| format!("is open in {who}"));
    let (path, from) = (pool.display(), from.display());
    Failure::Pool {
        code: Error::Locked.code(),
        text: format!(
            "{path}: the pool {holder}, and has no checkpoint at {from}: wait for it (--wait), name the file \
             (--checkpoint-file), or have its program make the copy (`Pool::backup`)"
        ),
    }
}

/// Opens the pool without writing to it, if that can be done.
fn open(args: &Args, path: &Path) -> endura::Result<Pool> {
    let options = with_checkpoints(args.pool.options(), args.checkpoints.choice());
    match options.clone().read_only(true).open_existing(path) {
        Err(Error::NeedsRecovery) => {
            let pool = options.open_existing(path)?;
            tell_restored(path, &pool);
            Ok(pool)
        }
        opened => opened,
    }
}

fn print(args: &Args, checkpoint: Option<SystemTime>) -> Result<()> {
    let length = std::fs::metadata(&args.to).map_or(0, |facts| facts.len());
    let mut out = stdout().lock();
    if args.json {
        let made = |at: SystemTime| at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let age = |at: SystemTime| at.elapsed().unwrap_or_default().as_secs_f64();
        let whole = json!({
            "to": path_json(&args.to),
            "bytes": length,
            "is_of_checkpoint": checkpoint.is_some(),
            "checkpoint_unix_seconds": checkpoint.map(|at| made(at).as_secs_f64()),
            "age_seconds": checkpoint.map(age),
        });
        writeln!(out, "{whole}")?;
        return Ok(out.flush()?);
    }
    let [pool, to] =
        [&args.pool.pool, &args.to].map(|path| printable(&path.to_string_lossy(), false));
    match checkpoint {
        None => writeln!(out, "{to}: a copy of {pool}, {}", bytes(length))?,
        Some(made) => writeln!(
            out,
            "{to}: {pool} is in use: this is its checkpoint of {}, {} ago, {}; later writes are not in it",
            utc(made),
            since(made),
            bytes(length)
        )?,
    }
    Ok(out.flush()?)
}
