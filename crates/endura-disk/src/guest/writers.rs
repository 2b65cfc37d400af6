//! The two writers, and how far they are.

use std::sync::atomic::{AtomicU32, Ordering};

use endura::Error;

use super::history::{Step, removed};
use super::maps::Maps;
use super::moment::Entries;
use crate::lines::{Positions, WRITERS};

/// How many steps of each writer were acknowledged.
pub(super) struct Progress([AtomicU32; WRITERS]);

impl Progress {
    pub(super) fn new(positions: Positions) -> Self {
        Self(positions.map(AtomicU32::new))
    }

    pub(super) fn positions(&self) -> Positions {
        [0, 1].map(|writer: usize| self.of(writer))
    }

    fn of(&self, writer: usize) -> u32 {
        self.0[writer].load(Ordering::Acquire)
    }

    /// Writes until something fails; the last step of the pool may not have removed all that it had to.
    pub(super) fn write(&self, writer: usize, maps: &Maps, oldest: u32) -> Error {
        let mut oldest = oldest;
        let mut step = |position| {
            if position > self.of(writer) {
                maps.insert(Step { writer, position }, self.of(1 - writer))?;
            }
            while oldest <= removed(position) {
                maps.remove(Step { writer, position: oldest })?;
                oldest += 1;
            }
            self.0[writer].store(position, Ordering::Release);
            Ok(())
        };
        let from = self.of(writer);
        let failed = (from..u32::MAX).try_for_each(&mut step);
        failed.err().unwrap_or(Error::Closed { pool: None })
    }
}

/// The oldest entry that a writer has not removed.
pub(super) fn oldest(entries: &Entries, writer: usize) -> u32 {
    entries.oldest(writer).unwrap_or(1)
}
