//! A disk that loses power.

use std::collections::BTreeSet;
use std::fmt::{self, Debug, Formatter};
use std::io;
use std::panic::Location;
use std::sync::Arc;

// Of the crate that includes this file: the engine, or its test of power cuts.
use super::random::Random;
use super::{DiskFile, Mutex};

/// A sector, which is written whole or not at all.
const SECTOR: usize = 512;

/// A call of a write or a sync in the source.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Site {
    at: &'static Location<'static>,
    pub(crate) is_sync: bool,
}

impl Debug for Site {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let file = self.at.file().rsplit('/').next().unwrap_or_default();
        write!(f, "{} at {file}:{}", if self.is_sync { "sync" } else { "write" }, self.at.line())
    }
}

/// What the disk does differently from what the program says, as if the program said that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mutant {
    /// The disk ignores this sync.
    Without(Site),
    /// What is written there reaches the disk after the next sync.
    Behind(Site),
    /// The first call, a sync, takes effect after the write at the second place, which follows it.
    Ahead(Site, Site),
}

#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) now: Vec<u8>,
    pub(crate) durable: Vec<u8>,
    /// What was written since the last sync.
    pub(crate) open: Vec<(usize, Vec<u8>)>,
    pub(crate) calls: u64,
    pub(crate) syncs: u64,
    pub(crate) allocations: u64,
    /// The call from which on there is no power, or no process.
    pub(crate) ends_at: u64,
    /// A call that fails, once, and whether it does its work all the same.
    pub(crate) fails: Option<(u64, bool)>,
    /// The size of the disk in bytes.
    pub(crate) room: Option<usize>,
    pub(crate) mutant: Option<Mutant>,
    /// All mutants of the calls until now.
    pub(crate) mutants: BTreeSet<Mutant>,
    last: Option<Site>,
    /// The places and lengths of the writes that a mutant moves after a sync.
    behind: Vec<(usize, usize)>,
    /// A sync that is delayed, and whether the write that overtakes it has come.
    late: Option<(Site, bool)>,
    /// The seed by which it is decided which writes before a failed sync become durable.
    pub(crate) chance: u64,
}

impl State {
    /// Does what the program says, or what the mutant makes of it.
    fn write(&mut self, at: usize, length: usize, site: Site) {
        self.mutants.insert(Mutant::Behind(site));
        if let Some(last) = self.last.replace(site).filter(|last| last.is_sync) {
            self.mutants.insert(Mutant::Ahead(last, site));
        }
        match self.late.take() {
            Some((sync, false)) if self.mutant == Some(Mutant::Ahead(sync, site)) => {
                self.late = Some((sync, true));
            }
            Some(_) => self.make_durable(),
            None => {}
        }
        if self.mutant == Some(Mutant::Behind(site)) {
            self.behind.push((at, length));
        } else {
            self.open.push((at, self.now[at..at + length].to_vec()));
        }
    }

    fn sync(&mut self, site: Site) {
        self.mutants.insert(Mutant::Without(site));
        self.last = Some(site);
        if self.late.take().is_some() {
            self.make_durable();
        }
        match self.mutant {
            Some(Mutant::Without(this)) if this == site => {}
            Some(Mutant::Ahead(this, _)) if this == site => self.late = Some((site, false)),
            _ => self.make_durable(),
        }
    }

    fn make_durable(&mut self) {
        let length = self.now.len();
        self.durable.resize(length, 0);
        // What a failed sync has dropped is not among these writes.
        for (at, written) in std::mem::take(&mut self.open) {
            self.durable[at..at + written.len()].copy_from_slice(&written);
        }
        self.write_what_is_behind();
    }

    fn write_what_is_behind(&mut self) {
        for (at, length) in std::mem::take(&mut self.behind) {
            self.open.push((at, self.now[at..at + length].to_vec()));
        }
    }

    /// The process ends. A delayed sync whose write has not come takes effect where it was.
    fn end(&mut self) {
        if let Some((_, false)) = self.late.take() {
            self.make_durable();
        }
    }

    /// For each sector that was written since the last sync, the old contents or those of one of the writes become
    /// durable.
    fn keep_some(&mut self, random: &mut Random) {
        for (at, written) in std::mem::take(&mut self.open) {
            for (i, sector) in written.chunks(SECTOR).enumerate() {
                let at = at + i * SECTOR;
                if random.below(2) == 0 {
                    let length = self.durable.len().max(at + sector.len());
                    self.durable.resize(length, 0);
                    self.durable[at..at + sector.len()].copy_from_slice(sector);
                }
            }
        }
    }
}

/// A file on a disk that loses power. Its process may also be killed, and calls may fail.
#[derive(Debug, Clone, Default)]
pub(crate) struct Losing(pub(crate) Arc<Mutex<State>>);

impl Losing {
    pub(crate) fn ending_at(calls: u64) -> Self {
        let disk = Self::default();
        disk.0.lock().ends_at = calls;
        disk
    }

    /// A disk that holds these bytes.
    pub(crate) fn holding(bytes: Vec<u8>) -> Self {
        let disk = Self::ending_at(u64::MAX);
        disk.0.lock().now = bytes;
        disk
    }

    fn call(&self, work: impl FnOnce(&mut State)) -> io::Result<()> {
        let mut state = self.0.lock();
        state.calls += 1;
        if state.calls > state.ends_at {
            return Err(io::Error::other("no power"));
        }
        let calls = state.calls;
        match state.fails.take_if(|(call, _)| *call == calls) {
            Some((_, does)) => {
                if does {
                    work(&mut state);
                }
                Err(io::Error::other("an error"))
            }
            None => {
                work(&mut state);
                Ok(())
            }
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        let state = self.0.lock();
        state.calls > state.ends_at
    }

    /// What the disk holds when the power is back.
    pub(crate) fn cut(&self, random: &mut Random, ends_at: u64) -> Self {
        let mut state = self.0.lock();
        state.end();
        state.keep_some(random);
        let mut bytes = std::mem::take(&mut state.durable);
        if random.below(2) == 0 {
            bytes.resize(bytes.len().max(state.now.len()), 0);
        }
        let next = State { now: bytes.clone(), durable: bytes, ends_at, ..State::default() };
        Self(Arc::new(Mutex::new(next)))
    }

    /// What the next process finds after a kill: all that was written, though it may not be durable.
    pub(crate) fn kill(&self, ends_at: u64) -> Self {
        let mut state = self.0.lock();
        state.end();
        // Delayed writes are in the page cache.
        state.write_what_is_behind();
        let next = State {
            now: state.now.clone(),
            durable: std::mem::take(&mut state.durable),
            open: std::mem::take(&mut state.open),
            ends_at,
            ..State::default()
        };
        Self(Arc::new(Mutex::new(next)))
    }
}

impl DiskFile for Losing {
    fn length(&self) -> io::Result<u64> {
        Ok(self.0.lock().now.len() as u64)
    }

    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        let state = self.0.lock();
        let from = state.now.get(at as usize..at as usize + bytes.len());
        bytes.copy_from_slice(from.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    #[track_caller]
    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        let site = Site { at: Location::caller(), is_sync: false };
        self.call(|state| {
            let end = at as usize + bytes.len();
            let length = state.now.len().max(end);
            state.now.resize(length, 0);
            state.now[at as usize..end].copy_from_slice(bytes);
            state.write(at as usize, bytes.len(), site);
        })
    }

    fn allocate(&self, _: u64, end: u64) -> io::Result<()> {
        if self.0.lock().room.is_some_and(|room| room < end as usize) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.call(|state| {
            state.allocations += 1;
            let length = state.now.len().max(end as usize);
            state.now.resize(length, 0);
        })
    }

    #[track_caller]
    fn sync(&self) -> io::Result<()> {
        let site = Site { at: Location::caller(), is_sync: true };
        let done = self.call(|state| {
            state.syncs += 1;
            state.sync(site);
        });
        if done.is_err() && !self.has_ended() {
            // The kernel considers written what it could not write.
            let mut state = self.0.lock();
            let mut random = Random(state.chance);
            state.keep_some(&mut random);
        }
        done
    }
}
