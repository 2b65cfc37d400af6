//! One round: start the writer, kill it, open the pool again, and compare.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use endura::{Checkpoints, Kind};
use endura_console::interrupt::{self, Doomed};

use super::plan::RoundPlan;
use super::target::{Open, create};
use super::verify::{Expected, Violations, compare, contents};
use endura_console::args::MediaArgs;
use endura_console::child::Child;
use endura_console::ledger::Ledger;
use endura_console::outcome::{Failure, Result};

/// A pool under torture.
pub(crate) struct Campaign {
    pool: PathBuf,
    ledger: PathBuf,
    /// Deletes the ledger after a signal or a failure; after a violation it is kept.
    doomed: Option<Doomed>,
    media: MediaArgs,
    threads: usize,
    seed: u64,
    rng: fastrand::Rng,
    /// The contents of the map between two rounds.
    contents: BTreeMap<u64, u64>,
}

/// The result of one round.
#[derive(Debug, Default)]
pub(crate) struct RoundOutcome {
    pub(crate) acknowledged: u64,
    pub(crate) in_flight: u64,
    pub(crate) in_flight_kept: u64,
    pub(crate) repairs_pending: u64,
    pub(crate) entries: u64,
    pub(crate) open: Duration,
    pub(crate) violations: Violations,
}

impl Campaign {
    /// Creates the pool. (`kind`: and whether its keys are byte strings.)
    pub(crate) fn begin(
        pool: PathBuf,
        kind: (Kind, bool),
        media: MediaArgs,
        threads: usize,
        seed: u64,
        checkpoints: Option<Checkpoints>,
    ) -> Result<Self> {
        create(kind, &pool, media, checkpoints).map_err(|error| Failure::at(&pool, &error))?;
        let mut ledger = pool.clone().into_os_string();
        ledger.push(".ledger");
        let ledger = PathBuf::from(ledger);
        Ok(Self {
            pool,
            doomed: None,
            ledger,
            media,
            threads,
            seed,
            rng: fastrand::Rng::with_seed(seed),
            contents: BTreeMap::new(),
        })
    }

    /// One kill, and the check after it.
    pub(crate) fn round(
        &mut self,
        round: u64,
        window: &RangeInclusive<Duration>,
    ) -> Result<RoundOutcome> {
        let mut outcome = RoundOutcome::default();
        // Deletes the ledger of the round before. Any other file of this name stays, and makes the next call fail.
        self.doomed = None;
        let ledger = Ledger::create(&self.ledger)?;
        self.doomed = Some(interrupt::doomed(&self.ledger));
        let mut child = self.spawn(round)?;
        ledger.wait_ready(&mut child)?;
        let (least, most) = (window.start().as_micros() as u64, window.end().as_micros() as u64);
        std::thread::sleep(Duration::from_micros(self.rng.u64(least..=most)));
        if let Some(ended) = child.kill()? {
            // The writer ends by itself only after a wrong result or an error, which it has printed.
            outcome.violations.note(format!("round {round}: the writer ended by itself: {ended}"));
        }
        let expected = self.expected(round, &ledger, &mut outcome)?;
        if let Err(error) = self.inspect(round, &expected, &mut outcome) {
            outcome.violations.note(format!("round {round}: after the kill: {error}"));
        }
        if outcome.violations.any()
            && let Some(ledger) = self.doomed.take()
        {
            ledger.keep();
        }
        Ok(outcome)
    }

    /// Opens the pool after a kill, and compares it with the expected contents.
    fn inspect(
        &mut self,
        round: u64,
        expected: &Expected,
        outcome: &mut RoundOutcome,
    ) -> endura::Result<()> {
        // Readers must read a killed pool correctly without repairing it, and the next writer must find the pool as the
        // kill left it. So every other round checks the pool without writing.
        let begun = Instant::now();
        let open = Open::at(&self.pool, self.media, round % 2 == 1)?;
        outcome.open = begun.elapsed();
        outcome.repairs_pending = open.repairs_pending()?;
        self.contents = contents(&open.map, &mut outcome.violations)?;
        outcome.entries = self.contents.len() as u64;
        outcome.in_flight_kept =
            compare(&open.map, &self.contents, expected, &mut outcome.violations)?;
        open.close()
    }

    fn spawn(&self, round: u64) -> Result<Child> {
        let mut arguments = vec![
            "torture-writer".into(),
            self.pool.clone().into_os_string(),
            self.ledger.clone().into_os_string(),
        ];
        let numbers = [self.seed, round, self.threads as u64];
        arguments.extend(numbers.map(|number| number.to_string().into()));
        arguments.extend(self.media.to_arguments().into_iter().map(Into::into));
        Child::spawn(arguments)
    }

    /// The expected contents of the map, computed from the contents before the round and from the operations that were
    /// acknowledged to each thread.
    fn expected(
        &self,
        round: u64,
        ledger: &Ledger,
        outcome: &mut RoundOutcome,
    ) -> Result<Expected> {
        let mut expected = Expected::new(&self.contents, self.threads);
        for thread in 0..self.threads {
            let mut plan = RoundPlan::new(self.seed, round, thread, self.threads, &self.contents);
            let account = ledger.account(thread)?;
            let (begun, acknowledged) = (account.begun(), account.acknowledged());
            for _ in 0..acknowledged {
                expected.touch(&plan.next());
            }
            outcome.acknowledged += acknowledged;
            let in_flight = (begun > acknowledged).then(|| {
                outcome.in_flight += 1;
                plan.next()
            });
            expected.add_thread(thread, plan, in_flight);
        }
        Ok(expected)
    }

    /// The number of entries of the map.
    pub(crate) fn entries(&self) -> u64 {
        self.contents.len() as u64
    }

    /// Opens the pool for writing and closes it again; returns the size of its file. Deletes the ledger, which is no
    /// longer needed.
    pub(crate) fn finish(&self) -> Result<u64> {
        let open = Open::at(&self.pool, self.media, false)?;
        let bytes = open.file_bytes()?;
        open.close()?;
        let removed = std::fs::remove_file(&self.ledger);
        removed.map_err(|e| Failure::at_path("cannot delete", &self.ledger, &e))?;
        Ok(bytes)
    }
}
