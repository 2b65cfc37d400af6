//! `endura torture`: a writer is killed at random moments, again and again, and after each kill
//! the pool must hold exactly what the writer had been told, the operations in flight whole or not
//! at all, and nothing else.

mod keyspace;
mod plan;
mod report;
mod round;
mod strings;
mod subject;
mod target;
mod verify;
mod writer;

use std::io::{Write, stdout};
use std::path::{Path, PathBuf};
use std::time::Duration;

use endura_console::interrupt::{self, Doomed};
use tempfile::TempDir;

use endura_console::args::{KindArgs, MediaArgs};
use endura_console::outcome::{Answer, Failure, Result};
use endura_console::progress;
use endura_console::text::{counted, grouped};
use report::Report;
use round::Campaign;

pub(crate) use writer::{WriterArgs, write};

/// The map that is tortured.
const MAP: &str = "torture";

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
    #[arg(long, default_value_t = 5)]
    min_ms: u64,
    /// The latest kill
    #[arg(long, default_value_t = 60)]
    max_ms: u64,
    /// Where the random numbers start; the operations repeat exactly, the moments of the kills
    /// as far as the machine allows [default: random]
    #[arg(long)]
    seed: Option<u64>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    kind: KindArgs,
    #[command(flatten)]
    media: MediaArgs,
}

pub(crate) fn run(args: &Args) -> Result {
    if args.min_ms > args.max_ms {
        return Err(Failure::Usage("--min-ms is above --max-ms".into()));
    }
    let place = Place::of(args)?;
    let report = match rounds(args, &place.pool()) {
        Ok(report) => report,
        Err(Failure::Message(text)) => {
            // Where not even the pool could be made, there is nothing to look at.
            let nothing = !place.pool().exists();
            let kept = place.close(nothing)?;
            let kept = kept_line(kept.as_deref()).unwrap_or_default();
            return Err(Failure::Message(format!("{text}\n{kept}")));
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

/// Round after round until one finds a violation.
fn rounds(args: &Args, pool: &Path) -> Result<Report> {
    let seed = args.seed.unwrap_or_else(|| fastrand::u64(..1 << 32));
    let mut campaign =
        Campaign::begin(pool.into(), args.kind.kind(), args.media, args.threads as usize, seed)?;
    let mut report = Report::new(args.kind.kind(), seed, args.threads);
    let window = Duration::from_millis(args.min_ms)..=Duration::from_millis(args.max_ms);
    let bar = progress::bar(args.rounds, "kills");
    for round in 0..args.rounds {
        report.add(campaign.round(round, &window)?);
        bar.inc(1);
        bar.set_message(format!(
            "{}, {} to repair, {}",
            counted(report.acknowledged, "operation"),
            report.rounds_with_repairs,
            counted(report.violations(), "violation")
        ));
        if report.violations() > 0 {
            break;
        }
    }
    bar.finish_and_clear();
    report.finish(&campaign)?;
    Ok(report)
}

/// Where the pool lies.
enum Place {
    /// In a folder of its own, which is deleted unless something was found.
    Temporary(TempDir, Doomed),
    /// Where the user wants it, to stay.
    Given(PathBuf),
}

impl Place {
    fn of(args: &Args) -> Result<Self> {
        if let Some(pool) = &args.pool {
            if pool.exists() {
                return Err(Failure::Message(format!(
                    "{} exists: torture makes its own pool, give another path",
                    pool.display()
                )));
            }
            return Ok(Self::Given(pool.clone()));
        }
        let dir = args.dir.clone().unwrap_or_else(std::env::temp_dir);
        let _section = interrupt::section();
        let made = tempfile::Builder::new().prefix("endura-torture-").tempdir_in(&dir);
        // Without the name that was tried.
        let failure = |e: std::io::Error| {
            Failure::io(format!("cannot make a folder in {}", dir.display()), &e.kind().into())
        };
        let made = made.map_err(failure)?;
        let doomed = interrupt::doomed(made.path());
        Ok(Self::Temporary(made, doomed))
    }

    fn pool(&self) -> PathBuf {
        match self {
            Self::Temporary(dir, _) => dir.path().join("torture.endura"),
            Self::Given(pool) => pool.clone(),
        }
    }

    /// Cleans up; gives where the pool still is.
    fn close(self, sound: bool) -> Result<Option<PathBuf>> {
        let pool = self.pool();
        match self {
            Self::Temporary(dir, _) if sound => {
                let path = dir.path().to_path_buf();
                dir.close()
                    .map_err(|e| Failure::io(format!("cannot delete {}", path.display()), &e))?;
                Ok(None)
            }
            Self::Temporary(dir, doomed) => {
                doomed.keep();
                let _kept = dir.keep();
                Ok(Some(pool))
            }
            Self::Given(_) => Ok(Some(pool)),
        }
    }
}

/// How the kept pool is spoken of.
fn kept_line(kept: Option<&Path>) -> Option<String> {
    kept.map(|path| format!("The pool is kept: {}", path.display()))
}

/// `12 of 34 (35 %)`
fn share(part: u64, whole: u64) -> String {
    format!("{} of {} ({} %)", grouped(part), grouped(whole), 100 * part / whole.max(1))
}
