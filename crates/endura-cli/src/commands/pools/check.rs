//! `endura check`: is this pool sound?

use std::io::{BufWriter, Write, stdout};
use std::time::Duration;

use endura::{Error, Report};
use serde_json::json;

use crate::pool::checkpoint_args::{FileArgs, close, default_file, shown_file, tell_restored};
use crate::pool::pool_args::{PoolArgs, shown_name, with_checkpoints};
use crate::pool::uncounted::{count_unknown, has_unknown};
use crate::values::json::path_json;
use crate::words::of_library;
use endura_console::outcome::{Answer, Failure, Result, tell};
use endura_console::text::{Table, grouped, printable};

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    pool: PoolArgs,
    /// Accept a pool that may be torn (the machine went down, or the file was copied, while it was open)
    /// as it is, if nothing in it is damaged, even if it has a checkpoint
    #[arg(long)]
    accept: bool,
    #[command(flatten)]
    checkpoints: FileArgs,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// The result of a check.
struct Finding {
    report: Option<Report>,
    damage: Option<String>,
    torn: Option<Torn>,
}

/// A pool that may be torn.
struct Torn {
    /// Why it may be.
    reason: String,
    /// The library's sentence, which names the ways back.
    sentence: String,
}

pub(crate) fn run(args: &Args) -> Result {
    let finding = look(args)?;
    let sound = finding.damage.is_none() && (finding.torn.is_none() || args.accept);
    if args.json {
        print_json(args, &finding, sound)?
    } else {
        print(args, &finding)?
    }
    Ok(Answer::yes_if(sound))
}

fn look(args: &Args) -> Result<Finding> {
    let path = &args.pool.pool;
    let options = with_checkpoints(args.pool.options(), args.checkpoints.choice());
    let mut torn = None;
    let opened = match options.clone().read_only(true).open_existing(path) {
        Err(ref error @ Error::NeedsRestore { reason, .. }) => {
            torn = Some(Torn { reason: reason.to_string(), sentence: error.to_string() });
            if args.accept {
                options.restore(false).accept_unclean(true).open_existing(path)
            } else {
                options.read_only(true).accept_unclean(true).open_existing(path)
            }
        }
        Err(Error::NeedsRecovery) => options.open_existing(path),
        other => other,
    };
    let outcome = opened.and_then(|pool| {
        tell_restored(path, &pool);
        let (report, unknown) = (pool.verify()?, has_unknown(&pool)?);
        pool.close()?;
        Ok((report, unknown))
    });
    match outcome {
        Ok((report, unknown)) => {
            if unknown && (torn.is_none() || args.accept) {
                record_counts(args);
            }
            Ok(Finding { report: Some(report), damage: None, torn })
        }
        Err(Error::Corrupt { offset, what }) => {
            // The library's own text would advise to run this command.
            let damage = format!("the pool is damaged at byte {offset}: {what}; {}", instead(args));
            Ok(Finding { report: None, damage: Some(damage), torn })
        }
        Err(error @ Error::Truncated { .. }) => {
            Ok(Finding { report: None, damage: Some(of_library(&error.to_string())), torn })
        }
        Err(error @ Error::NeedsRecovery) => Err(Failure::at(path, &error).noted(match torn {
            // Without --accept nothing is written to a doubtful pool.
            Some(Torn { reason, .. }) => format!(
                "it may be torn ({reason}): --accept verifies it, and then opens it for writing"
            ),
            None => String::new(),
        })),
        Err(error) => Err(Failure::at(path, &error)),
    }
}

/// What to do with a damaged pool.
fn instead(args: &Args) -> String {
    let path = &args.pool.pool;
    let chosen = args.checkpoints.checkpoint_file.clone();
    let checkpoint = chosen.unwrap_or_else(|| default_file(path));
    let export = "`endura export` the maps that can still be read";
    match checkpoint.is_file() {
        true => format!(
            "`endura export` the maps that can still be read; or, for the pool as of its checkpoint {}, move this file \
             away, and open its path again",
            shown_file(path, &checkpoint)
        ),
        false => format!("restore it from a backup, or {export}"),
    }
}

/// Records the numbers of entries, which an unclean end lost, in the pool. A pool that this process may not write, or
/// that another process has opened meanwhile, is not changed.
fn record_counts(args: &Args) {
    let options = with_checkpoints(args.pool.options(), args.checkpoints.choice());
    if let Ok(pool) = options.lock_timeout(Duration::ZERO).open_existing(&args.pool.pool) {
        let _ = count_unknown(&pool);
        if let Err(error) = close(&pool, &args.pool.pool) {
            let path = printable(&args.pool.pool.to_string_lossy(), false);
            tell(format_args!("endura: {path}: {}", printable(&error.to_string(), false)));
        }
    }
}

fn print(args: &Args, finding: &Finding) -> Result<()> {
    let mut out = BufWriter::new(stdout().lock());
    let path = printable(&args.pool.pool.to_string_lossy(), false);
    if let Some(report) = &finding.report {
        let mut table =
            Table::new(2, &["map", "kind", "entries", "nodes", "height", "repairs pending"]);
        for map in &report.maps {
            table.row([
                shown_name(&map.name),
                map.kind.to_string(),
                grouped(map.entries),
                grouped(map.nodes),
                map.height.to_string(),
                grouped(map.repairs.total()),
            ]);
        }
        table.write(&mut out)?;
    }
    match (&finding.damage, &finding.torn) {
        (Some(damage), _) => writeln!(out, "{path}: {damage}")?,
        (None, Some(Torn { reason, .. })) if args.accept => {
            writeln!(out, "{path}: may be torn ({reason}), is sound as it is, and was accepted")?;
        }
        (None, Some(Torn { sentence, .. })) => {
            let sentence = of_library(sentence);
            let or = if sentence.contains("--accept") {
                ""
            } else {
                ", or take it as it is with --accept"
            };
            writeln!(
                out,
                "{path}: what is there is sound, but operations may be missing: {sentence}{or}"
            )?;
        }
        (None, None) => writeln!(out, "{path}: sound")?,
    }
    Ok(out.flush()?)
}

fn print_json(args: &Args, finding: &Finding, sound: bool) -> Result<()> {
    let maps: Vec<_> = finding
        .report
        .iter()
        .flat_map(|report| &report.maps)
        .map(|map| {
            json!({
                "name": map.name,
                "kind": map.kind.name(),
                "entries": map.entries,
                "nodes": map.nodes,
                "height": map.height,
                "repairs_pending": map.repairs.total(),
            })
        })
        .collect();
    let whole = json!({
        "pool": path_json(&args.pool.pool),
        "sound": sound,
        "damage": finding.damage,
        "may_be_torn": finding.torn.as_ref().map(|torn| &torn.reason),
        "accepted": finding.torn.is_some() && finding.damage.is_none() && args.accept,
        "maps": maps,
    });
    Ok(writeln!(stdout(), "{whole}")?)
}
