//! The process whose machine loses power: it opens the pool, says what it has, and runs the programme.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use endura::{Checkpoints, Pool, Result};

use super::programme::{Maps, THREADS, operations_in};
use crate::process::*;

/// How many milliseconds are between two checkpoints of a load; 0: only those that it demands.
pub(super) const EVERY: &str = "ENDURA_TEST_CHECKPOINT_EVERY";
/// A load closes its pool when this file is there.
const CLOSE: &str = "close";

/// What a load notes outside of the pool: for each thread the operations that have returned, and those that are in a
/// checkpoint.
pub(super) struct Notes(File);

impl Notes {
    /// The notes beside the pool's file system.
    pub(super) fn beside(folder: &Path) -> Self {
        let mut options = File::options();
        let options = options.read(true).write(true).create(true).truncate(false);
        let file = options.open(folder.join("notes")).unwrap();
        file.set_len(16 * THREADS as u64).unwrap();
        Self(file)
    }

    fn note(&self, place: usize, number: u64) {
        self.0.write_all_at(&number.to_le_bytes(), 8 * place as u64).unwrap();
    }

    fn noted(&self, place: usize) -> u64 {
        let mut number = [0; 8];
        self.0.read_exact_at(&mut number, 8 * place as u64).unwrap();
        u64::from_le_bytes(number)
    }

    pub(super) fn returned(&self) -> [u64; THREADS] {
        std::array::from_fn(|thread| self.noted(thread))
    }

    pub(super) fn kept(&self) -> [u64; THREADS] {
        std::array::from_fn(|thread| self.noted(THREADS + thread))
    }

    pub(super) fn keep(&self, kept: [u64; THREADS]) {
        kept.into_iter().enumerate().for_each(|(thread, kept)| self.note(THREADS + thread, kept));
    }
}

/// By which a load is told to close its pool.
pub(super) fn signal(folder: &Path) -> PathBuf {
    folder.join(CLOSE)
}

#[test]
fn role_run_the_programme() {
    let Some(path) = role_path() else { return };
    // The volume is mounted two folders below that of its image, where the notes are.
    let folder = path.parent().and_then(Path::parent).unwrap().to_owned();
    let every = std::env::var(EVERY).unwrap().parse().unwrap();
    let how = match every {
        0 => Checkpoints::on_demand(),
        every => Checkpoints::every(Duration::from_millis(every)),
    };
    let pool = match Pool::options().checkpoints(how).open(&path) {
        Ok(pool) => pool,
        Err(error) => return say(&format!("refused {}: {error}", error.code())),
    };
    match run(&pool, &folder) {
        Ok(()) => {}
        Err(error) => say(&format!("failed {error}")),
    }
    match pool.close() {
        Ok(_) => say("closed"),
        Err(error) => say(&format!("not closed: {error}")),
    }
}

fn run(pool: &Pool, folder: &Path) -> Result<()> {
    let stats = pool.stats()?;
    let found = operations_in(pool)?;
    let restored = if stats.restored.is_some() { "restored" } else { "whole" };
    let ranges = found.each_ref().map(|found| format!("{} {}", found.start(), found.end()));
    let (notes, ended) = (Notes::beside(folder), signal(folder));
    let returned: [AtomicU64; THREADS] = std::array::from_fn(|i| AtomicU64::new(*found[i].end()));
    for (thread, found) in found.iter().enumerate() {
        notes.note(thread, *found.end());
    }
    if stats.restored.is_some() {
        notes.keep(found.each_ref().map(|found| *found.end()));
    }
    say(&format!("{restored} {}", ranges.join(" ")));
    std::thread::scope(|scope| {
        let (notes, returned, ended) = (&notes, &returned, &ended);
        let write = move |thread: usize| -> Result<()> {
            let maps = Maps::open(pool, thread)?;
            let others = [1, 2].map(|further| &returned[(thread + further) % THREADS]);
            while !ended.exists() {
                for _ in 0..8 {
                    let n = returned[thread].load(SeqCst);
                    maps.operate(n, others.map(|other| other.load(SeqCst)))?;
                    returned[thread].store(n + 1, SeqCst);
                    notes.note(thread, n + 1);
                }
                std::thread::sleep(Duration::from_micros(300));
            }
            Ok(())
        };
        let writers: Vec<_> =
            (0..THREADS).map(|thread| scope.spawn(move || write(thread))).collect();
        let demand = || -> Result<()> {
            let mut pause = 30;
            while !ended.exists() {
                std::thread::sleep(Duration::from_millis(pause));
                pause = (pause + 70) % 230;
                let returned = returned.each_ref().map(|returned| returned.load(SeqCst));
                pool.checkpoint()?;
                notes.keep(returned);
            }
            Ok(())
        };
        let demanded = demand();
        let writers = writers.into_iter().map(|writer| writer.join().unwrap());
        writers.collect::<Result<()>>().and(demanded)
    })
}
