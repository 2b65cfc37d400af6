//! `endura compact`: copies all maps of a pool into a new one.

use std::fs;
use std::io::{self, Write, stdout};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use endura::{CheckpointStats, Checkpoints, Error, MapInfo, Pool};
use endura_console::interrupt::{self, Doomed};
use endura_console::outcome::{Answer, Failure, Result};
use endura_console::progress;
use endura_console::text::{bytes, counted, printable};
use indicatif::ProgressBar;
use serde_json::json;

use crate::pool::checkpoint_args::{CheckpointArgs, close, is_there, tell_restored};
use crate::pool::pool_args::PoolArgs;
use crate::pool::target;
use crate::pool::uncounted::counted as counted_entries;
use crate::values::json::path_json;

/// Between two looks at how far the copy is.
const LOOK: Duration = Duration::from_millis(100);

const ABOUT: &str = "\
The new pool has the same maps, with the same kinds and types, and nothing of
what was removed from the old one, which stays. No process may have the old pool
open for writing meanwhile. The new one appears when it is complete; an
interrupted compact leaves nothing.";

#[derive(clap::Args)]
#[command(after_help = ABOUT)]
pub(crate) struct Args {
    #[command(flatten)]
    pool: PoolArgs,
    /// The new pool; nothing may be there
    to: PathBuf,
    #[command(flatten)]
    checkpoints: CheckpointArgs,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// What was done.
struct Done {
    maps: u64,
    entries: u64,
    before: u64,
    after: u64,
}

pub(crate) fn run(args: &Args) -> Result {
    if is_there(&args.to) {
        return Err(exists(&args.to));
    }
    let old = open(args)?;
    let stats = old.stats().map_err(|error| args.pool.at(&error))?;
    let (done, doomed, beside) = copy(args, &old, stats.bytes_in_use)?;
    let kept = args.checkpoints.choice().unwrap_or_else(|| as_kept(stats.checkpoints));
    publish(args, &beside, doomed, kept)?;
    close(&old, &args.pool.pool).map_err(|error| args.pool.at(&error))?;
    print(args, &done)?;
    Ok(Answer::Yes)
}

fn exists(to: &Path) -> Failure {
    Failure::Message(format!("{} exists: give another path, or remove it first", to.display()))
}

/// Opens the old pool, without writing to it if that can be done.
fn open(args: &Args) -> Result<Pool> {
    let (options, path) = (args.pool.options(), &args.pool.pool);
    let opened = match options.clone().read_only(true).open_existing(path) {
        Err(Error::NeedsRecovery) => options.open_existing(path),
        opened => opened,
    };
    let pool = opened.map_err(|error| args.pool.at(&error))?;
    tell_restored(path, &pool);
    Ok(pool)
}

/// The checkpoints that the old pool has; but the file beside the new one.
fn as_kept(kept: Option<CheckpointStats>) -> Checkpoints {
    let Some(CheckpointStats { every, after_bytes, .. }) = kept else { return Checkpoints::off() };
    let when = every.map_or_else(Checkpoints::on_demand, Checkpoints::every);
    match after_bytes {
        Some(changed) => when.after_bytes(changed),
        None => when,
    }
}

/// Makes the copy, under a name that goes if the process does.
fn copy(args: &Args, old: &Pool, before: u64) -> Result<(Done, Doomed, PathBuf)> {
    let failed = |error: Error| Failure::at(&args.to, &error);
    let beside = target::beside(&args.to);
    let section = interrupt::section();
    // The new pool gets checkpoints when it has its name.
    let new = args.pool.options().checkpoints(Checkpoints::off()).create_new(&beside);
    // The error must not show the temporary name.
    let hidden = beside.to_string_lossy();
    let new = new.map_err(|error| {
        failed(error).reworded(|text| text.replace(&*hidden, &args.to.to_string_lossy()))
    })?;
    let doomed = interrupt::doomed(&beside);
    drop(section);
    let maps = old.maps().map_err(|error| args.pool.at(&error))?;
    let entries = copy_maps(args, old, &new, &maps)?;
    let after = new.stats().map_err(failed)?.bytes_in_use;
    new.close().map_err(failed)?;
    Ok((Done { maps: maps.len() as u64, entries, before, after }, doomed, beside))
}

fn copy_maps(args: &Args, old: &Pool, new: &Pool, maps: &[MapInfo]) -> Result<u64> {
    let total: Option<u64> = maps.iter().map(counted_entries).sum();
    let bar = total.map_or_else(progress::spinner, |total| progress::bar(total, "entries"));
    let copied = std::thread::scope(|scope| {
        let (end, ended) = channel::<()>();
        let bar = &bar;
        scope.spawn(move || {
            while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                show(new, bar);
            }
        });
        let copied = maps.iter().try_fold(0, |sum, map| {
            old.copy_map(&map.name, new).map(|entries| sum + entries).map_err(|error| match error {
                Error::Full { .. } | Error::Io { .. } => Failure::at(&args.to, &error),
                error => args.pool.at(&error),
            })
        });
        drop(end);
        copied
    });
    bar.finish_and_clear();
    copied
}

fn show(new: &Pool, bar: &ProgressBar) {
    if let Ok(maps) = new.maps() {
        bar.set_position(maps.iter().map(|map| map.approximate_len as u64).sum());
    }
}

/// Gives the new pool its name, and then its first checkpoint.
fn publish(args: &Args, beside: &Path, doomed: Doomed, how: Checkpoints) -> Result<()> {
    let _section = interrupt::section();
    // A link does not replace what is there by now.
    fs::hard_link(beside, &args.to).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => exists(&args.to),
        _ => Failure::at_path("cannot write", &args.to, &error),
    })?;
    drop(doomed);
    let opened = args.pool.options().checkpoints(how).open_existing(&args.to);
    opened.and_then(|new| close(&new, &args.to)).map_err(|error| {
        Failure::at(&args.to, &error).noted("the new pool is complete, but for its checkpoints")
    })
}

fn print(args: &Args, done: &Done) -> Result<()> {
    let mut out = stdout().lock();
    if args.json {
        let whole = json!({
            "to": path_json(&args.to),
            "maps": done.maps,
            "entries": done.entries,
            "bytes_in_use_before": done.before,
            "bytes_in_use": done.after,
        });
        writeln!(out, "{whole}")?;
    } else {
        writeln!(
            out,
            "{}: {} with {}, {} in use ({} before)",
            printable(&args.to.to_string_lossy(), false),
            counted(done.maps, "map"),
            counted(done.entries, "entry"),
            bytes(done.after),
            bytes(done.before)
        )?;
    }
    Ok(out.flush()?)
}
