//! Detection of a closure that changes its own key each time it runs.
//!
//! An operation runs such a closure again if the value of the key has changed by the time it returns. Other threads may
//! win any number of times, because each time one of them has made progress. A closure that writes its own key competes
//! with itself: if it writes a different value each time, it would run for ever. To distinguish it from other threads,
//! the writes of its own thread are counted, inside a pin around the closure.

use endura_engine::index::Tree;
use endura_engine::media::Mapped;
use endura_engine::space::Guard;

use crate::{Error, Result};

/// How many runs happen before runs are watched. A watch is a pin, which keeps the pool open and memory from being
/// reused.
const UNWATCHED: u32 = 1 << 10;
/// The operation fails after this many watched runs in a row that wrote and had to be repeated.
const IN_VAIN: u32 = 1 << 16;

/// The runs of one operation's closure.
pub(crate) struct Runs<'t> {
    tree: &'t Tree<Mapped>,
    begun: u32,
    /// How many of the latest watched runs, in a row, have written.
    in_vain: u32,
}

impl<'t> Runs<'t> {
    #[inline]
    pub(crate) fn new(tree: &'t Tree<Mapped>) -> Self {
        Self { tree, begun: 0, in_vain: 0 }
    }

    /// Starts a run. Returns its watch, which the caller [ends](Self::end) after the closure; `None` for most runs.
    ///
    /// # Errors
    ///
    /// [`Error::RecursiveUpdate`]; the errors of a pin.
    #[inline(always)]
    pub(crate) fn begin(&mut self) -> Result<Option<RunWatch<'t>>> {
        if self.begun >= UNWATCHED {
            return self.watch().map(Some);
        }
        self.begun += 1;
        Ok(None)
    }

    #[cold]
    fn watch(&self) -> Result<RunWatch<'t>> {
        if self.in_vain >= IN_VAIN {
            return Err(Error::RecursiveUpdate { runs: self.in_vain });
        }
        let guard = self.tree.pin()?;
        let before = guard.nested_writers();
        Ok(RunWatch { guard, before })
    }

    /// Ends a run. If another follows, this run was in vain.
    #[inline(always)]
    pub(crate) fn end(&mut self, watch: Option<RunWatch<'t>>) {
        if let Some(watch) = watch {
            self.note(&watch);
        }
    }

    #[cold]
    fn note(&mut self, watch: &RunWatch<'_>) {
        let writes = watch.guard.nested_writers() != watch.before;
        self.in_vain = if writes { self.in_vain + 1 } else { 0 };
    }
}

/// The pin around a run: writes inside of it are nested.
pub(crate) struct RunWatch<'t> {
    guard: Guard<'t, Mapped>,
    /// The thread's count of nested writes before the run.
    before: u64,
}
