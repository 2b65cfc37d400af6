//! `endura restore`: takes a pool back to a checkpoint.

use std::io::{Write, stdout};
use std::path::PathBuf;

use endura::{Pool, Restored};
use endura_console::interrupt;
use endura_console::outcome::{Answer, Failure, Result};
use endura_console::progress;
use endura_console::text::{bytes, printable};
use serde_json::json;

use crate::pool::checkpoint_args::is_there;
use crate::pool::moment::{since, utc};
use crate::values::json::path_json;

const ABOUT: &str = "\
After a power loss a command that writes does this by itself; `endura restore`
does it at once, and also with the copy of a pool that was open. A pool that is
missing is made anew. A pool that is whole is refused. If this is interrupted,
the next restore, or the next command that writes, begins again.

What the pool had after the checkpoint is written over, unless --keep-torn keeps
a copy. (A command that goes back by itself makes that copy where the pool may
have been whole.)";

#[derive(clap::Args)]
#[command(after_help = ABOUT)]
pub(crate) struct Args {
    /// The pool file
    pool: PathBuf,
    /// The file of checkpoints [default: the pool's name with `.checkpoint` behind it]
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Keep a copy of the file as it was, with `.torn` behind its name
    #[arg(long)]
    keep_torn: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(args: &Args) -> Result {
    let was_there = is_there(&args.pool);
    // If the torn file is kept, a signal ends the process only once both files are complete.
    let section = (args.keep_torn && was_there).then(interrupt::section);
    let spinner = progress::spinner();
    let restored = Pool::restore(&args.pool, args.from.as_deref(), args.keep_torn);
    spinner.finish_and_clear();
    drop(section);
    let restored =
        restored.map_err(|error| Failure::at(&args.pool, &error).reworded(of_restore))?;
    print(args, &restored, was_there)?;
    Ok(Answer::Yes)
}

/// A sentence of the library for this command, whose only option for the checkpoint is `--from`.
fn of_restore(text: String) -> String {
    const OPTIONS: [&str; 2] =
        ["(`Checkpoints::in_file`, `Checkpoints::beside_pool`)", "(`Checkpoints::in_file`)"];
    OPTIONS.iter().fold(text, |text, options| text.replace(options, "(`--from`)"))
}

fn print(args: &Args, restored: &Restored, was_there: bool) -> Result<()> {
    let torn = restored.kept.as_ref();
    let mut out = stdout().lock();
    if args.json {
        let made = restored.at.duration_since(std::time::SystemTime::UNIX_EPOCH);
        let whole = json!({
            "pool": path_json(&args.pool),
            "made_anew": !was_there,
            "checkpoint_unix_seconds": made.unwrap_or_default().as_secs_f64(),
            "age_seconds": restored.at.elapsed().unwrap_or_default().as_secs_f64(),
            "written_bytes": restored.written_bytes,
            "torn": torn.map(|torn| path_json(torn)),
        });
        writeln!(out, "{whole}")?;
        return Ok(out.flush()?);
    }
    let shown = |path: &PathBuf| printable(&path.to_string_lossy(), false);
    let (pool, done) =
        (shown(&args.pool), if was_there { "taken back to" } else { "made anew from" });
    let (made, age) = (utc(restored.at), since(restored.at));
    let written = bytes(restored.written_bytes);
    writeln!(
        out,
        "{pool}: {done} its checkpoint of {made}, {age} ago ({written} of pages written)"
    )?;
    if let Some(torn) = torn {
        writeln!(out, "{}: the file as it was", shown(torn))?;
    }
    Ok(out.flush()?)
}
