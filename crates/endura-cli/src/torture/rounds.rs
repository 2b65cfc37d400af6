//! The command: round after round.

use std::io::{Write, stdout};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::place::{Place, kept_line};
use super::report::Report;
use super::round::Campaign;
use crate::pool::checkpoint_args::IntervalArgs;
use endura_console::args::{ADVANCED, KindArgs, MediaArgs};
use endura_console::outcome::{Answer, Failure, Result};
use endura_console::progress;
use endura_console::text::counted;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The pool file, which must not exist; it stays there [default: one in --dir, deleted at the end]
    pool: Option<PathBuf>,
    /// The folder for a temporary pool [default: the temporary folder]
    #[arg(long, conflicts_with = "pool")]
    dir: Option<PathBuf>,
    /// How many kills
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..))]
    rounds: u64,
    /// Writer threads
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=16))]
    threads: u64,
    /// The earliest kill, in milliseconds after the writers have started
    #[arg(long, default_value_t = 5, help_heading = ADVANCED)]
    min_ms: u64,
    /// The latest kill
    #[arg(long, default_value_t = 60, help_heading = ADVANCED)]
    max_ms: u64,
    /// Where the random numbers start; the operations repeat exactly, the moments of the kills
    /// as far as the machine allows [default: random]
    #[arg(long, help_heading = ADVANCED)]
    seed: Option<u64>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    kind: KindArgs,
    /// Byte strings as keys and values (those of roart always are)
    #[arg(long)]
    strings: bool,
    #[command(flatten)]
    media: MediaArgs,
    #[command(flatten)]
    checkpoints: IntervalArgs,
}

pub(crate) fn run(args: &Args) -> Result {
    if args.min_ms > args.max_ms {
        return Err(Failure::Usage("--min-ms is above --max-ms".into()));
    }
    let place = Place::of(args.pool.as_deref(), args.dir.as_deref())?;
    let report = match rounds(args, &place.pool()) {
        Ok(report) => report,
        Err(failure) if !failure.is_closed_pipe() => {
            // If the pool could not be created, there is nothing to inspect.
            let nothing = !place.pool().exists();
            let kept = place.close(nothing)?;
            let kept = kept_line(kept.as_deref()).unwrap_or_default();
            return Err(failure.noted(kept));
        }
        Err(failure) => return Err(failure),
    };
    let sound = report.violations() == 0;
    let kept = place.close(sound)?;
    if args.json {
        writeln!(stdout(), "{}", report.json(kept.as_deref()))?;
    } else {
        report.write(&mut stdout().lock(), kept.as_deref())?;
    }
    Ok(Answer::yes_if(sound))
}

/// Runs rounds until one finds a violation.
fn rounds(args: &Args, pool: &Path) -> Result<Report> {
    let seed = args.seed.unwrap_or_else(|| fastrand::u64(..1 << 32));
    let (threads, checkpoints) = (args.threads as usize, args.checkpoints.choice());
    let kind = args.kind.kind();
    let of = (kind, args.strings);
    let mut campaign = Campaign::begin(pool.into(), of, args.media, threads, seed, checkpoints)?;
    let mut report = Report::new(kind, seed, args.threads);
    let window = Duration::from_millis(args.min_ms)..=Duration::from_millis(args.max_ms);
    let bar = progress::bar(args.rounds, "kills");
    for round in 0..args.rounds {
        report.add(campaign.round(round, &window)?);
        bar.inc(1);
        bar.set_message(format!(
            "{}, {}, {} to repair",
            counted(report.violations(), "violation"),
            counted(report.acknowledged, "operation"),
            report.rounds_with_repairs
        ));
        if report.violations() > 0 {
            break;
        }
    }
    bar.finish_and_clear();
    report.finish(&campaign)?;
    Ok(report)
}
