//! `endura check`: is this pool sound?

use std::io::{BufWriter, Write, stdout};
use std::time::{Duration, SystemTime};

use endura::{Error, Report};
use serde_json::json;

use crate::pool::checkpoint_args::{FileArgs, close, default_file, shown_file, tell_restored};
use crate::pool::moment::since;
use crate::pool::pool_args::{PoolArgs, shown_name, with_checkpoints};
use crate::pool::uncounted::{count_unknown, has_unknown};
use crate::values::json::path_json;
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
    /// Why the pool may be torn, if it may be.
    doubt: Option<String>,
    /// When the checkpoint was made that the pool can be taken back to.
    checkpoint: Option<SystemTime>,
}

pub(crate) fn run(args: &Args) -> Result {
    let finding = look(args)?;
    let sound = finding.damage.is_none() && (finding.doubt.is_none() || args.accept);
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
    let mut doubt = None;
    let opened = match options.clone().read_only(true).open_existing(path) {
        Err(Error::NeedsRestore { reason, .. }) => {
            doubt = Some(reason.to_string());
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
        let kept = pool.stats()?.checkpoints;
        let (report, unknown) = (pool.verify()?, has_unknown(&pool)?);
        pool.close()?;
        Ok((report, unknown, kept.and_then(|kept| kept.newest)))
    });
    let checkpoint = None;
    match outcome {
        Ok((report, unknown, checkpoint)) => {
            if unknown && (doubt.is_none() || args.accept) {
                record_counts(args);
            }
            Ok(Finding { report: Some(report), damage: None, doubt, checkpoint })
        }
        Err(Error::Corrupt { offset, what }) => {
            // The library's own text would advise to run this command.
            let damage = format!("the pool is damaged at byte {offset}: {what}; {}", instead(args));
            Ok(Finding { report: None, damage: Some(damage), doubt, checkpoint })
        }
        Err(error @ Error::Truncated { .. }) => {
            Ok(Finding { report: None, damage: Some(error.to_string()), doubt, checkpoint })
        }
        Err(error @ Error::NeedsRecovery) => Err(Failure::at(path, &error).noted(match doubt {
            // Without --accept nothing is written to a doubtful pool.
            Some(doubt) => format!(
                "it may be torn ({doubt}): --accept verifies it, and then opens it for writing"
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
    match (&finding.damage, &finding.doubt) {
        (Some(damage), _) => writeln!(out, "{path}: {damage}")?,
        (None, Some(doubt)) if args.accept => {
            writeln!(out, "{path}: may be torn ({doubt}), is sound as it is, and was accepted")?;
        }
        (None, Some(doubt)) => {
            let way_back = match finding.checkpoint {
                Some(made) => {
                    format!(
                        "`endura restore` takes it back to its checkpoint of {} ago",
                        since(made)
                    )
                }
                None => "restore a backup".into(),
            };
            writeln!(
                out,
                "{path}: may be torn ({doubt}). What is there is sound, but operations may be missing: \
                 {way_back}, or take it as it is with --accept"
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
        "may_be_torn": finding.doubt,
        "accepted": finding.doubt.is_some() && finding.damage.is_none() && args.accept,
        "maps": maps,
    });
    Ok(writeln!(stdout(), "{whole}")?)
}
