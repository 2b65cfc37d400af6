//! The load: the child process loads the first part, the parent the rest.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use indicatif::ProgressBar;

use super::maps::Maps;
use endura_console::args::MediaArgs;
use endura_console::child::{Child, die_with_parent, wait_for_death};
use endura_console::ledger::{Account, Ledger};
use endura_console::outcome::{Failure, Result};
use endura_console::progress;

/// The parameters of a load.
pub(crate) struct LoadPlan {
    pub(crate) pool: PathBuf,
    pub(crate) ledger: PathBuf,
    pub(crate) keys: u64,
    pub(crate) threads: usize,
    pub(crate) media: MediaArgs,
}

/// The arguments of the child.
#[derive(clap::Args)]
pub(crate) struct WriterArgs {
    pool: PathBuf,
    ledger: PathBuf,
    keys: u64,
    threads: usize,
    #[command(flatten)]
    media: MediaArgs,
}

/// The keys that one of `threads` threads loads: a contiguous part of the indices.
fn part(keys: u64, thread: usize, threads: usize) -> Range<u64> {
    let cut = |thread: usize| keys * thread as u64 / threads as u64;
    cut(thread)..cut(thread + 1)
}

/// The progress of each thread of the child.
#[derive(Default)]
pub(crate) struct Loaded {
    /// For each thread: its keys, the number of inserts that had returned, the number that had begun.
    pub(super) threads: Vec<(Range<u64>, u64, u64)>,
}

impl Loaded {
    fn read(plan: &LoadPlan, accounts: &[Account<'_>]) -> Self {
        let part = |thread| part(plan.keys, thread, plan.threads);
        let accounts = accounts.iter().enumerate();
        let threads = accounts.map(|(i, one)| (part(i), one.acknowledged(), one.begun()));
        Self { threads: threads.collect() }
    }

    /// The number of inserts that had returned when the child was killed.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.threads.iter().map(|(_, acknowledged, _)| acknowledged).sum()
    }

    /// The number of inserts that had begun and not returned.
    pub(crate) fn in_flight(&self) -> u64 {
        self.threads.iter().map(|(_, acknowledged, begun)| begun - acknowledged).sum()
    }

    /// The indices of the keys whose inserts had returned.
    pub(crate) fn acknowledged_keys(&self) -> impl Iterator<Item = u64> {
        self.threads
            .iter()
            .flat_map(|(part, acknowledged, _)| part.start..part.start + acknowledged)
    }

    /// Whether the insert of this key had begun.
    pub(crate) fn has_begun(&self, index: u64) -> bool {
        self.threads
            .iter()
            .any(|(part, _, begun)| (part.start..part.start + begun).contains(&index))
    }

    /// The last acknowledged key of the first thread that had any.
    pub(crate) fn last_acknowledged(&self) -> u64 {
        let got_somewhere = self.threads.iter().find(|(_, acknowledged, _)| *acknowledged > 0);
        got_somewhere.map_or(0, |(part, acknowledged, _)| part.start + acknowledged - 1)
    }
}

/// Runs in the child: loads until it is killed.
pub(crate) fn write(args: &WriterArgs) -> Result {
    die_with_parent()?;
    let pool = args.media.options().open_existing(&args.pool);
    let pool = pool.map_err(|error| Failure::at(&args.pool, &error))?;
    let maps = Maps::open(&pool)?;
    let ledger = Ledger::open(&args.ledger)?;
    ledger.set_ready()?;
    let load = |thread: usize| -> endura::Result<()> {
        let part = part(args.keys, thread, args.threads);
        let account = ledger.account(thread)?;
        for (index, count) in part.zip(1..) {
            account.begin(count);
            maps.insert(index)?;
            account.acknowledge(count);
        }
        Ok(())
    };
    in_threads(args.threads, load)?;
    wait_for_death()
}

/// Runs `work` in each of `threads` threads; returns the first error.
fn in_threads(threads: usize, work: impl Fn(usize) -> endura::Result<()> + Sync) -> Result<()> {
    let work = &work;
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|t| scope.spawn(move || work(t))).collect();
        for worker in workers {
            let joined = worker.join();
            joined.map_err(|_| Failure::Message("a thread of the load panicked".into()))??;
        }
        Ok(())
    })
}

/// Starts the child, watches it, and kills it when `stop_at` keys are acknowledged.
pub(crate) fn load_until_killed(plan: &LoadPlan, stop_at: u64) -> Result<Loaded> {
    let ledger = Ledger::create(&plan.ledger)?;
    let mut arguments = vec![
        "demo-writer".into(),
        plan.pool.clone().into_os_string(),
        plan.ledger.clone().into_os_string(),
        plan.keys.to_string().into(),
        plan.threads.to_string().into(),
    ];
    arguments.extend(plan.media.to_arguments().into_iter().map(Into::into));
    let mut child = Child::spawn(arguments)?;
    ledger.wait_ready(&mut child)?;
    let accounts = (0..plan.threads).map(|thread| ledger.account(thread));
    let accounts = accounts.collect::<endura::Result<Vec<_>>>()?;
    let bar = progress::count_bar(plan.keys, "keys");
    loop {
        let done: u64 = accounts.iter().map(Account::acknowledged).sum();
        bar.set_position(done);
        if done >= stop_at {
            break;
        }
        if let Some(ended) = child.ended()? {
            return Err(Failure::Message(format!("the child ended by itself: {ended}")));
        }
        std::thread::sleep(Duration::from_micros(200));
    }
    child.kill()?;
    let loaded = Loaded::read(plan, &accounts);
    bar.abandon();
    Ok(loaded)
}

/// Loads the keys that the child did not.
pub(crate) fn finish(plan: &LoadPlan, maps: &Maps, loaded: &Loaded) -> Result<()> {
    let done = AtomicU64::new(loaded.acknowledged());
    let bar = progress::count_bar(plan.keys, "keys");
    bar.set_position(loaded.acknowledged());
    bar.reset_eta();
    in_threads(plan.threads, |thread| {
        let (part, acknowledged, _) = &loaded.threads[thread];
        for index in part.start + acknowledged..part.end {
            maps.insert(index)?;
            tick(&done, &bar);
        }
        Ok(())
    })?;
    bar.finish_and_clear();
    Ok(())
}

fn tick(done: &AtomicU64, bar: &ProgressBar) {
    // Relaxed: the number is only displayed.
    let done = done.fetch_add(1, Ordering::Relaxed) + 1;
    if done.is_multiple_of(4096) {
        bar.set_position(done);
    }
}
