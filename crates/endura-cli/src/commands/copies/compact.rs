//! `endura compact`: copies all maps of a pool into a new one.

use std::io::{self, Write, stdout};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use endura::{Error, MapInfo, Pool};
use endura_console::interrupt;
use endura_console::outcome::{Answer, Failure, Result};
use endura_console::progress;
use endura_console::text::{bytes, counted, printable};
use indicatif::ProgressBar;
use serde_json::json;

use crate::pool::checkpoint_args::{CheckpointArgs, close, is_there, tell_restored};
use crate::pool::pool_args::PoolArgs;
use crate::pool::uncounted::counted as counted_entries;
use crate::values::json::path_json;

/// The time between two updates of the progress bar.
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

/// The result of a compaction.
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
    let done = copy(args, &old, stats.bytes_in_use)?;
    begin_checkpoints(args)?;
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

/// Why a copy has failed.
enum Ended {
    /// An error of the new pool.
    There(Error),
    Told(Failure),
}

impl From<Error> for Ended {
    fn from(error: Error) -> Self {
        Self::There(error)
    }
}

/// Makes the copy, which appears when it is complete.
fn copy(args: &Args, old: &Pool, before: u64) -> Result<Done> {
    let maps = old.maps().map_err(|error| args.pool.at(&error))?;
    let copied = args.pool.options().create_from(old, &args.to, |new| {
        let entries = copy_maps(args, old, new, &maps).map_err(Ended::Told)?;
        let after = new.stats()?.bytes_in_use;
        Ok(Done { maps: maps.len() as u64, entries, before, after })
    });
    copied.map_err(|ended| match ended {
        Ended::Told(failure) => failure,
        Ended::There(Error::Io { source, .. }) if source.kind() == io::ErrorKind::AlreadyExists => {
            exists(&args.to)
        }
        Ended::There(error) => Failure::at(&args.to, &error),
    })
}

fn copy_maps(args: &Args, old: &Pool, new: &Pool, maps: &[MapInfo]) -> Result<u64> {
    let total: Option<u64> = maps.iter().map(counted_entries).sum();
    let bar = total.map_or_else(progress::spinner, |total| progress::count_bar(total, "entries"));
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

/// Gives the new pool its first checkpoint.
fn begin_checkpoints(args: &Args) -> Result<()> {
    let _section = interrupt::section();
    let options = args.pool.options();
    let options = match args.checkpoints.choice() {
        Some(how) => options.checkpoints(how),
        // Checkpoints are made at the times that the old pool had, but in a file beside the new one.
        None => options,
    };
    let opened = options.open_existing(&args.to);
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
