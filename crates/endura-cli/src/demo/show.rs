//! The command: its steps, in the order in which they are shown.

use std::io::{Write, stdout};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use endura::{Error, Kind, Pool};
use endura_console::interrupt::{self, Doomed};
use tempfile::TempDir;

use super::load::{self, LoadPlan, load_until_killed};
use super::maps::{KINDS, Lookup, Maps};
use super::report::Report;
use super::verify;

use endura_console::args::{KindName, MediaArgs};
use endura_console::outcome::{Answer, Failure, Result};
use endura_console::progress;
use endura_console::text::{Table, bold, counted, duration, grouped};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The folder for the pool, which is deleted at the end [default: the temporary folder]
    #[arg(long)]
    dir: Option<PathBuf>,
    #[arg(long, hide = true, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(100..))]
    keys: u64,
    #[arg(long, hide = true, default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=64))]
    threads: u64,
    /// Show only this index [default: all, the keys dealt out among them]
    #[arg(long, value_enum)]
    kind: Option<KindName>,
    #[command(flatten)]
    media: MediaArgs,
}

impl Args {
    fn kinds(&self) -> Vec<Kind> {
        self.kind.map_or(KINDS.to_vec(), |kind| vec![kind.into()])
    }
}

pub(crate) fn run(args: &Args) -> Result {
    let (folder, doomed, filesystem) = place(args)?;
    let plan = LoadPlan {
        pool: folder.path().join("demo.endura"),
        ledger: folder.path().join("acknowledged"),
        keys: args.keys,
        threads: args.threads as usize,
        media: args.media,
    };
    say(&bold(&format!("endura demo: {} keys, a kill in the middle", grouped(args.keys))))?;
    let kinds: Vec<_> = args.kinds().into_iter().map(Kind::name).collect();
    say(&format!("  {} in one pool ({filesystem})", kinds.join(", ")))?;
    say(&format!("  {}\n", plan.pool.display()))?;
    let mut report = Report::new(args.keys);
    load_and_kill(&plan, &mut report)?;
    let (pool, maps) = reopen(&plan, &mut report)?;
    verify_acknowledged(&pool, &maps, &mut report)?;
    if report.lost_nothing() {
        finish(&plan, &maps, &mut report)?;
        show_ranges(&maps)?;
    }
    pool.close()?;
    report.write(&mut stdout().lock())?;
    if report.lost_nothing() {
        let path = folder.path().to_path_buf();
        let deleted = folder.close();
        deleted.map_err(|e| Failure::at_path("cannot delete", &path, &e))?;
    } else {
        doomed.keep();
        say(&format!("The pool is kept: {}", folder.keep().display()))?;
    }
    Ok(Answer::yes_if(report.lost_nothing()))
}

/// Creates a folder on a file system that can hold a pool, with an empty pool in it.
fn place(args: &Args) -> Result<(TempDir, Doomed, String)> {
    let mut places = vec![args.dir.clone().unwrap_or_else(std::env::temp_dir)];
    if args.dir.is_none() {
        // In a container the temporary folder is often on an overlay, which cannot hold a pool.
        places.push(PathBuf::from("/dev/shm"));
    }
    let mut refused = None;
    for place in places {
        match try_place(args, &place) {
            Err(Trouble::Unsupported(error)) => refused = Some(Failure::at(&place, &error)),
            Err(Trouble::Failure(failure)) => return Err(failure),
            Ok(placed) => return Ok(placed),
        }
    }
    Err(refused.unwrap_or_else(|| Failure::Usage("there is no folder for the pool".into())))
}

enum Trouble {
    /// Another folder may work.
    Unsupported(Error),
    Failure(Failure),
}

fn try_place(args: &Args, place: &Path) -> Result<(TempDir, Doomed, String), Trouble> {
    let section = interrupt::section();
    let folder =
        tempfile::Builder::new().prefix("endura-demo-").tempdir_in(place).map_err(|e| {
            Trouble::Failure(Failure::at_path(
                "cannot make a folder in",
                place,
                // Without the name of the folder that was tried.
                &e.kind().into(),
            ))
        })?;
    let doomed = interrupt::doomed(folder.path());
    drop(section);
    let create = || -> endura::Result<String> {
        let pool = args.media.options().create_new(folder.path().join("demo.endura"))?;
        Maps::create(&pool, &args.kinds())?;
        let stats = pool.stats()?;
        pool.close()?;
        Ok(format!("{} on {}", stats.domain, stats.filesystem))
    };
    match create() {
        Ok(filesystem) => Ok((folder, doomed, filesystem)),
        Err(error @ Error::Unsupported { .. }) => Err(Trouble::Unsupported(error)),
        Err(error) => Err(Trouble::Failure(Failure::at(place, &error))),
    }
}

fn say(line: &str) -> Result<()> {
    Ok(writeln!(stdout(), "{line}")?)
}

fn step(number: u32, what: &str) -> Result<()> {
    say(&bold(&format!("{number}. {what}")))
}

fn load_and_kill(plan: &LoadPlan, report: &mut Report) -> Result<()> {
    let threads = counted(plan.threads as u64, "thread");
    step(1, &format!("A child process loads {} keys with {threads}", grouped(plan.keys)))?;
    let percent = fastrand::u64(45..=55);
    report.progress = load_until_killed(plan, plan.keys * percent / 100)?;
    let done = report.progress.acknowledged();
    say(&format!(
        "   killed with SIGKILL when it had been told of {}\n",
        counted(done, "stored key")
    ))
}

fn reopen(plan: &LoadPlan, report: &mut Report) -> Result<(Pool, Maps)> {
    step(2, "The parent opens the pool")?;
    let begun = Instant::now();
    let pool = plan.media.options().open_existing(&plan.pool);
    let pool = pool.map_err(|error| Failure::at(&plan.pool, &error))?;
    report.open = begun.elapsed();
    let maps = Maps::open(&pool)?;
    let found = maps.look_up(report.progress.last_acknowledged())?;
    report.first_lookup = begun.elapsed();
    let found = if found == Lookup::Right { "found" } else { "MISSING" };
    let (open, lookup) = (duration(report.open), duration(report.first_lookup));
    say(&format!("   open after {open}, the last stored key {found} after {lookup}\n"))?;
    Ok((pool, maps))
}

fn verify_acknowledged(pool: &Pool, maps: &Maps, report: &mut Report) -> Result<()> {
    step(3, "Every acknowledged key is looked up, and the maps are searched")?;
    let (found, took) = timed(|| verify::after_kill(maps, &report.progress))?;
    report.after_kill = found;
    say(&format!(
        "   {} of {} found ({}):\n   {} missing, {} wrong, {} that nobody stored",
        grouped(found.right),
        counted(report.progress.acknowledged(), "key"),
        duration(took),
        grouped(found.missing),
        grouped(found.wrong),
        grouped(found.strangers)
    ))?;
    let (checked, took) = timed(|| Ok(pool.verify()?))?;
    report.repairs_pending = checked.repairs_pending();
    let repairs = counted(report.repairs_pending, "half-done change");
    say(&format!("   structure sound, {repairs} left for writers to repair ({})\n", duration(took)))
}

fn finish(plan: &LoadPlan, maps: &Maps, report: &mut Report) -> Result<()> {
    step(4, "The load is finished, and all keys are verified")?;
    let begun = Instant::now();
    load::finish(plan, maps, &report.progress)?;
    let loaded = begun.elapsed();
    let (found, took) = timed(|| verify::complete(maps, plan.keys))?;
    report.complete = Some(found);
    say(&format!(
        "   {} loaded ({}), {} of {} found ({})\n",
        counted(plan.keys - report.progress.acknowledged(), "key"),
        duration(loaded),
        grouped(found.right),
        grouped(plan.keys),
        duration(took)
    ))
}

fn show_ranges(maps: &Maps) -> Result<()> {
    step(5, "Range scans: the first entries from the middle of the keys on")?;
    let mut table = Table::new(1, &["", "key", "value"]);
    maps.samples(3)?.into_iter().for_each(|row| table.row(row));
    table.write(&mut stdout().lock())?;
    say("")
}

fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<(T, Duration)> {
    let spinner = progress::spinner();
    let begun = Instant::now();
    let result = work();
    let took = begun.elapsed();
    spinner.finish_and_clear();
    Ok((result?, took))
}
