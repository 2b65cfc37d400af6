//! A disk that loses power.

use std::io;
use std::sync::Arc;

use super::random::Random;
use crate::os::door::DiskFile;
use crate::pool::checkpoint::file::root::{ROOTS, SLOT};
use crate::sync::Mutex;

/// A sector, which is written whole or not at all.
const SECTOR: usize = 512;

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
    /// A call that fails, once; and whether it does its work all the same.
    pub(crate) fails: Option<(u64, bool)>,
    /// Bytes of the disk.
    pub(crate) room: Option<usize>,
    /// A sync that does nothing: `true` for that of a root.
    pub(crate) skips: Option<bool>,
    /// Which of the writes before a sync that failed come to be durable.
    pub(crate) chance: u64,
}

impl State {
    /// Of each sector that was written since the last sync the old contents or those of one of the writes become durable.
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

/// A file on a disk that loses power, beside a process that is killed, and calls that fail.
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

    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        self.call(|state| {
            let end = at as usize + bytes.len();
            let length = state.now.len().max(end);
            state.now.resize(length, 0);
            state.now[at as usize..end].copy_from_slice(bytes);
            state.open.push((at as usize, bytes.to_vec()));
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

    fn sync(&self) -> io::Result<()> {
        let done = self.call(|state| {
            state.syncs += 1;
            let is_of_root = state.open.last().is_none_or(|&(at, _)| at < ROOTS as usize * SLOT);
            if state.skips != Some(is_of_root) {
                let length = state.now.len();
                state.durable.resize(length, 0);
                // What a sync that failed has dropped is not among it.
                for (at, written) in std::mem::take(&mut state.open) {
                    state.durable[at..at + written.len()].copy_from_slice(&written);
                }
            }
        });
        if done.is_err() && !self.has_ended() {
            // The kernel takes what it could not write for written.
            let mut state = self.0.lock();
            let mut random = Random(state.chance);
            state.keep_some(&mut random);
        }
        done
    }
}
