//! One kill of a writer in the middle of its work, and whether the store still holds what it had
//! acknowledged.
//!
//! Each thread has keys of its own and a plan that follows from the seed: both the writer and whoever
//! looks at the store afterwards know it. The ledger says how far each thread had got. Its last
//! operation may have taken effect or not; all others must have.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use endura_bench::contender::Contender;
use endura_bench::keys;
use endura_bench::store::{Client, Shape, StoreOptions};
use endura_console::args::MediaArgs;
use endura_console::child::{Child, die_with_parent, wait_for_death};
use endura_console::ledger::Ledger;
use endura_console::outcome::{Failure, Result};
use serde::Serialize;

use crate::args::contender;

/// Byte strings, where the store takes them: some know nothing else.
const SHAPE: Shape = Shape::fixed(16, 16);

/// Keys of a thread.
const KEYS: u64 = 20_000;

/// The latest kill after the writers began.
const LATEST: Duration = Duration::from_millis(60);

/// What a store holds: each key's value.
type Contents = BTreeMap<u64, u64>;

/// Whom to kill, and what is known to both processes.
#[derive(Clone, Copy)]
pub(super) struct Victim {
    pub(super) contender: Contender,
    pub(super) threads: usize,
    pub(super) seed: u64,
    pub(super) media: MediaArgs,
}

/// What kills found.
#[derive(Debug, Default, Serialize)]
pub(super) struct KillCounts {
    pub(super) kills: u64,
    pub(super) acknowledged: u64,
    pub(super) in_flight: u64,
    pub(super) in_flight_kept: u64,
    /// Keys that are gone, back, or have another value.
    pub(super) lost: u64,
}

/// What a thread does next.
#[derive(Clone, Copy)]
enum Write {
    Insert(u64, u64),
    Update(u64, u64),
    Remove(u64),
}

/// The operations of one thread, and what its keys hold after those that were drawn.
struct Operations {
    rng: fastrand::Rng,
    thread: usize,
    threads: usize,
    contents: Contents,
}

impl Operations {
    fn new(victim: &Victim, round: u64, thread: usize, all: &Contents) -> Self {
        let own = |key: u64| keys::index(key) % victim.threads as u64 == thread as u64;
        Self {
            rng: fastrand::Rng::with_seed(
                keys::key(victim.seed ^ keys::key(round)) ^ thread as u64,
            ),
            thread,
            threads: victim.threads,
            contents: all.iter().filter(|&(&key, _)| own(key)).map(|(&k, &v)| (k, v)).collect(),
        }
    }

    fn next(&mut self) -> Write {
        let index = self.rng.u64(..KEYS) * self.threads as u64 + self.thread as u64;
        let (key, value) = (keys::key(index), self.rng.u64(..));
        let step = match (self.contents.contains_key(&key), self.rng.u8(..4)) {
            (false, _) => Write::Insert(key, value),
            (true, 0) => Write::Insert(key, value),
            (true, 1) => Write::Update(key, value),
            (true, _) => Write::Remove(key),
        };
        match step {
            Write::Insert(key, value) | Write::Update(key, value) => {
                self.contents.insert(key, value)
            }
            Write::Remove(key) => self.contents.remove(&key),
        };
        step
    }
}

impl Write {
    fn key(self) -> u64 {
        let (Self::Insert(key, _) | Self::Update(key, _) | Self::Remove(key)) = self;
        key
    }

    fn perform(self, client: &mut dyn Client) -> endura_bench::Result<()> {
        match self {
            Self::Insert(key, value) => client.insert(key, value),
            Self::Update(key, value) => client.update(key, value).map(drop),
            Self::Remove(key) => client.remove(key).map(drop),
        }
    }
}

/// The arguments of the writer.
#[derive(clap::Args)]
pub(crate) struct WriterArgs {
    #[arg(value_parser = contender())]
    store: Contender,
    dir: PathBuf,
    threads: usize,
    seed: u64,
    round: u64,
    #[command(flatten)]
    media: MediaArgs,
}

impl Victim {
    fn options(&self, dir: &Path) -> StoreOptions {
        let shape = if self.contender.takes(SHAPE) { SHAPE } else { Shape::WORDS };
        let entries = KEYS * self.threads as u64;
        StoreOptions {
            pool: self.media.options().checkpoints(endura::Checkpoints::off()),
            ..StoreOptions::new(dir.join("store"), shape, entries)
        }
    }

    fn ledger(dir: &Path) -> PathBuf {
        dir.join("ledger")
    }

    /// Kills a writer that works on the store in `dir`, which holds `contents`, and looks what it left.
    pub(super) fn round(
        &self,
        round: u64,
        dir: &Path,
        contents: &mut Contents,
        found: &mut KillCounts,
    ) -> Result<()> {
        let ledger = Ledger::create(&Self::ledger(dir))?;
        let numbers = [self.threads as u64, self.seed, round].map(|n| n.to_string().into());
        let mut arguments =
            vec!["kills-writer".into(), self.contender.argument().into(), dir.into()];
        arguments.extend(numbers);
        arguments.extend(self.media.to_arguments().into_iter().map(Into::into));
        let mut child = Child::spawn(arguments)?;
        ledger.wait_ready(&mut child)?;
        let latest = LATEST.as_micros() as u64;
        let moment = keys::key(self.seed ^ !round) % latest;
        std::thread::sleep(Duration::from_micros(moment));
        if let Some(ended) = child.kill()? {
            return Err(Failure::Message(format!("the writer ended by itself: {ended}")));
        }
        found.kills += 1;
        let mut expected = Contents::new();
        let mut in_flight = Vec::new();
        for thread in 0..self.threads {
            let mut operations = Operations::new(self, round, thread, contents);
            let account = ledger.account(thread)?;
            let (begun, acknowledged) = (account.begun(), account.acknowledged());
            for _ in 0..acknowledged {
                operations.next();
            }
            expected.append(&mut operations.contents.clone());
            if begun > acknowledged {
                let key = operations.next().key();
                in_flight.push((key, operations.contents.get(&key).copied()));
            }
            found.acknowledged += acknowledged;
        }
        found.in_flight += in_flight.len() as u64;
        // The next round begins with a ledger of its own.
        std::fs::remove_file(Self::ledger(dir))?;
        *contents = self.contents(dir)?;
        for (key, after) in in_flight {
            if contents.get(&key).copied() == after && expected.get(&key).copied() != after {
                found.in_flight_kept += 1;
                match after {
                    Some(value) => expected.insert(key, value),
                    None => expected.remove(&key),
                };
            }
        }
        let differs = |(key, value): &(&u64, &u64)| contents.get(key) != Some(value);
        let gone = expected.iter().filter(differs).count();
        let back = contents.keys().filter(|key| !expected.contains_key(key)).count();
        found.lost += (gone + back) as u64;
        Ok(())
    }

    /// All that the store holds.
    fn contents(&self, dir: &Path) -> Result<Contents> {
        let store = self.contender.open(&self.options(dir))?;
        let mut client = store.client()?;
        let (mut all, mut from) = (Contents::new(), Some(0));
        while let Some(at) = from
            && let Some((key, value)) = client.first(at)?
        {
            all.insert(key, value);
            from = key.checked_add(1);
        }
        Ok(all)
    }
}

/// The writer: works until it is killed.
pub(crate) fn write(args: &WriterArgs) -> Result {
    die_with_parent()?;
    let WriterArgs { store: contender, threads, seed, media, .. } = *args;
    let victim = Victim { contender, threads, seed, media };
    let contents = victim.contents(&args.dir)?;
    let store = contender.open(&victim.options(&args.dir))?;
    let ledger = Ledger::open(&Victim::ledger(&args.dir))?;
    ledger.set_ready()?;
    let work = |thread: usize| -> Result<()> {
        let mut operations = Operations::new(&victim, args.round, thread, &contents);
        let account = ledger.account(thread)?;
        let mut client = store.client()?;
        for count in 1.. {
            let step = operations.next();
            account.begin(count);
            step.perform(client.as_mut())?;
            account.acknowledge(count);
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let work = &work;
        let workers: Vec<_> = (0..threads).map(|t| scope.spawn(move || work(t))).collect();
        for worker in workers {
            worker.join().map_err(|_| Failure::Message("a writer thread panicked".into()))??;
        }
        wait_for_death()
    })
}
