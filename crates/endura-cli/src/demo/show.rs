//! The command: its steps, in the order in which they are shown.

use std::io::stdout;
use std::path::PathBuf;
use std::time::Instant;

use endura::{Kind, Pool};

use super::load::{self, LoadPlan, load_until_killed};
use super::maps::{Lookup, Maps};
use super::power_loss::Show;
use super::report::Report;
use super::stage::{POOL, Stage, say, step, timed};
use super::verify;

use endura_console::args::{KindName, MediaArgs};
use endura_console::outcome::{Answer, Failure, Result};
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
    /// Show what a power loss on a disk takes and what it leaves, in place of a kill
    #[arg(long)]
    power_loss: bool,
    #[command(flatten)]
    media: MediaArgs,
}

impl Args {
    fn kinds(&self) -> Vec<Kind> {
        self.kind.map_or_else(|| Kind::all().collect(), |kind| vec![kind.into()])
    }
}

pub(crate) fn run(args: &Args) -> Result {
    if args.power_loss {
        let (dir, kinds) = (args.dir.as_deref(), &*args.kinds());
        return Show { dir, keys: args.keys, kinds, media: args.media }.run();
    }
    let stage = Stage::set(args.dir.as_deref(), &args.kinds(), &args.media.options())?;
    let folder = stage.folder.path();
    let plan = LoadPlan {
        pool: folder.join(POOL),
        ledger: folder.join("acknowledged"),
        keys: args.keys,
        threads: args.threads as usize,
        media: args.media,
    };
    say(&bold(&format!("endura demo: {} keys, a kill in the middle", grouped(args.keys))))?;
    let kinds: Vec<_> = args.kinds().into_iter().map(Kind::name).collect();
    say(&format!("  {} in one pool ({})", kinds.join(", "), stage.medium))?;
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
    stage.strike(report.lost_nothing())?;
    Ok(Answer::yes_if(report.lost_nothing()))
}

fn load_and_kill(plan: &LoadPlan, report: &mut Report) -> Result<()> {
    let threads = counted(plan.threads as u64, "thread");
    step(1, &format!("A child process loads {} keys with {threads}", grouped(plan.keys)))?;
    let percent = fastrand::u64(45..=55);
    report.progress = load_until_killed(plan, plan.keys * percent / 100)?;
    let done = report.progress.acknowledged();
    say(&format!("   killed with SIGKILL after {}\n", counted(done, "acknowledged key")))
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
    say(&format!("   open after {open}, its last key {found} after {lookup}\n"))?;
    Ok((pool, maps))
}

fn verify_acknowledged(pool: &Pool, maps: &Maps, report: &mut Report) -> Result<()> {
    step(3, "All acknowledged keys are looked up, all maps searched")?;
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
    let took = duration(took);
    say(&format!("   structure sound ({took}),\n   {repairs} left for writers to repair\n"))
}

fn finish(plan: &LoadPlan, maps: &Maps, report: &mut Report) -> Result<()> {
    step(4, "The load is finished, and all keys are verified")?;
    let begun = Instant::now();
    load::finish(plan, maps, &report.progress)?;
    let loaded = begun.elapsed();
    let (found, took) = timed(|| verify::complete(maps, plan.keys))?;
    report.complete = Some(found);
    say(&format!(
        "   {} loaded ({}),\n   {} of {} found ({})\n",
        counted(plan.keys - report.progress.acknowledged(), "key"),
        duration(loaded),
        grouped(found.right),
        grouped(plan.keys),
        duration(took)
    ))
}

fn show_ranges(maps: &Maps) -> Result<()> {
    step(5, "Range scans: the first entries from the middle on")?;
    let mut table = Table::new(1, &["", "key", "value"]);
    maps.samples(3)?.into_iter().for_each(|row| table.row(row));
    table.write(&mut stdout().lock())?;
    say("")
}
