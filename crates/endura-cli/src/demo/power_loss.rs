//! `endura demo --power-loss`: what a power loss on a disk takes, and what it leaves.
//!
//! A killed process loses nothing, because the kernel has its pages. A power loss takes these too: of each page, the disk
//! then has an older state, or a mixture of two. The demo fills a third of all pages with garbage, which is worse, and
//! records in the pool that it was open in another boot of the machine.

use std::fs::File;
use std::io::{Write, stdout};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use endura::{Checkpoints, Error, Kind, Pool, Restored};
use endura_console::args::MediaArgs;
use endura_console::outcome::{Answer, Failure, Result};
use endura_console::text::{Table, bold, bytes, counted, duration, grouped, verdict};
use endura_engine::space::superblock::Superblock;

use super::maps::Maps;
use super::power_writer::{Written, write_until_killed};
use super::stage::{POOL, Stage, say, step, timed};
use super::verify::{self, Found};

const PAGE: u64 = 4096;
/// The first page after the superblocks.
const FIRST: u64 = 2;

/// The parameters of the demo.
pub(super) struct Show<'s> {
    pub(super) dir: Option<&'s Path>,
    pub(super) keys: u64,
    pub(super) kinds: &'s [Kind],
    pub(super) media: MediaArgs,
}

impl Show<'_> {
    /// The keys that are stored before the checkpoint.
    fn before(&self) -> u64 {
        self.keys / 2
    }

    pub(super) fn run(&self) -> Result {
        let options = self.media.options().checkpoints(Checkpoints::on_demand());
        let stage = Stage::set(self.dir, self.kinds, &options)?;
        let path = stage.folder.path().join(POOL);
        say(&bold(&format!("endura demo: {} keys, and a power loss", grouped(self.keys))))?;
        let kinds: Vec<_> = self.kinds.iter().copied().map(Kind::name).collect();
        say(&format!("  {} in one pool ({})", kinds.join(", "), stage.medium))?;
        say(&format!("  {}\n", path.display()))?;
        let written = self.write_and_kill(&path, &stage.folder.path().join("acknowledged"))?;
        cut_power(&path)?;
        let (pool, restored, took) = self.reopen(&path)?;
        let maps = Maps::open(&pool)?;
        let found = self.look(&pool, &maps)?;
        let went_well = found.is_sound();
        if went_well {
            self.finish(&maps)?;
        }
        pool.close()?;
        self.report(&written, &found, &restored, took)?;
        stage.strike(went_well)?;
        Ok(Answer::yes_if(went_well))
    }

    fn write_and_kill(&self, path: &Path, ledger: &Path) -> Result<Written> {
        let before = self.before();
        step(1, "A child process writes, makes a checkpoint, writes on")?;
        let stop_at = before + self.keys / 4;
        let written = write_until_killed((path, ledger), (before, stop_at, self.keys), self.media)?;
        say(&format!(
            "   {}, a checkpoint, {} more in {},\n   then killed with SIGKILL\n",
            counted(before, "key"),
            grouped(written.acknowledged - before),
            duration(written.since)
        ))?;
        Ok(written)
    }

    fn reopen(&self, path: &Path) -> Result<(Pool, Restored, Duration)> {
        step(3, "The parent opens the pool, as after any end")?;
        let failed = |error: Error| Failure::at(path, &error);
        let (pool, took) = timed(|| self.media.options().open_existing(path).map_err(failed))?;
        let restored = pool.stats().map_err(failed)?.restored;
        let restored = restored.ok_or_else(|| {
            Failure::Message("the pool was not taken back: is it on persistent memory?".into())
        })?;
        say(&format!(
            "   back at its checkpoint after {}, {} written\n",
            duration(took),
            bytes(restored.written_bytes)
        ))?;
        Ok((pool, restored, took))
    }

    fn look(&self, pool: &Pool, maps: &Maps) -> Result<Found> {
        step(4, "All keys are looked up, the maps are searched for others")?;
        let (found, took) = timed(|| verify::complete(maps, self.before()))?;
        say(&format!(
            "   {} of {} found ({}):\n   {} missing, {} wrong, {} of later writes",
            grouped(found.right),
            counted(self.before(), "key"),
            duration(took),
            grouped(found.missing),
            grouped(found.wrong),
            grouped(found.strangers)
        ))?;
        let (_, took) = timed(|| Ok(pool.verify()?))?;
        say(&format!("   structure sound ({})\n", duration(took)))?;
        Ok(found)
    }

    fn finish(&self, maps: &Maps) -> Result<()> {
        step(5, "The writing is done again")?;
        let again = self.before()..self.keys;
        let count = again.end - again.start;
        let (_, took) = timed(|| Ok(again.into_iter().try_for_each(|key| maps.insert(key))?))?;
        say(&format!("   {} ({})\n", counted(count, "key"), duration(took)))
    }

    fn report(
        &self,
        written: &Written,
        found: &Found,
        restored: &Restored,
        took: Duration,
    ) -> Result<()> {
        let mut out = stdout().lock();
        let later = written.acknowledged - self.before();
        writeln!(out, "{}", bold("What happened"))?;
        let mut table = Table::new(1, &[]);
        let mut line = |name: &str, text: String| table.row([name.to_string(), text]);
        line("keys at the checkpoint", grouped(self.before()));
        line("  of them found after the power loss", grouped(found.right));
        line("  of them missing or wrong", grouped(found.missing + found.wrong));
        line("keys acknowledged after the checkpoint", grouped(later));
        line("  of them found after the power loss", grouped(found.strangers));
        line("time to open the pool and restore it", duration(took));
        line("pages written for that", bytes(restored.written_bytes));
        table.write(&mut out)?;
        let text = if found.is_sound() {
            format!("Kept: the checkpoint. Lost: the {} after it.", duration(written.since))
        } else {
            "THE POOL IS NOT WHAT ITS CHECKPOINT WAS.".into()
        };
        writeln!(out, "\n{}", verdict(&text, found.is_sound()))?;
        Ok(())
    }
}

/// Changes the file of the pool as a power loss might.
fn cut_power(path: &Path) -> Result<()> {
    step(2, "The power fails: the disk has old pages and new ones")?;
    let failed = |error| Failure::at_path("cannot change", path, &error);
    let file = File::options().read(true).write(true).open(path).map_err(failed)?;
    let pages = file.metadata().map_err(failed)?.len() / PAGE;
    let mut superblock = Superblock::read(&file)?;
    superblock.boot.id = [0xEE; 16];
    superblock.write(&file)?;
    let mut torn = 0_u64;
    let mut garbage = [0; PAGE as usize];
    for page in (FIRST..pages).filter(|_| fastrand::u8(..3) == 0) {
        fastrand::fill(&mut garbage);
        file.write_all_at(&garbage, page * PAGE).map_err(failed)?;
        torn += 1;
    }
    say(&format!("   {} of {} pages of the pool are garbage now", grouped(torn), grouped(pages)))?;
    let refused = Pool::options().restore(false).open_existing(path);
    match refused {
        Err(Error::NeedsRestore { .. }) => {
            say("   without a checkpoint: refused (`the pool may be torn`)\n")
        }
        Ok(_) => Err(Failure::Message("a torn pool was opened as if nothing were".into())),
        Err(error) => Err(Failure::at(path, &error)),
    }
}
