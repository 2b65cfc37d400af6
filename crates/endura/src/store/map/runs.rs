//! The runs of a closure that decides about one key.
//!
//! An operation runs such a closure again if the value of the key has changed by the time it returns. Rivals may be
//! faster as often as they like: each time one of them has got on. A closure that writes its own key is its own
//! rival, and one that gives it another value each time would be so for ever. It is told from a rival by the writes
//! that it enters on its thread, which are counted inside a pin around it.

use crate::media::Mapped;
use crate::pool::Guard;
use crate::store::index::Tree;
use crate::{Error, Result};

/// Runs before they are watched: a pin around each would keep the pool open, and memory from being reused.
const UNWATCHED: u32 = 1 << 10;
/// Runs in a row that wrote, and in vain, before the operation is given up.
const IN_VAIN: u32 = 1 << 16;

/// The runs of one operation's closure.
pub(crate) struct Runs<'t> {
    tree: &'t Tree<Mapped>,
    begun: u32,
    /// Of the watched ones, how many have written in a row.
    in_vain: u32,
}

impl<'t> Runs<'t> {
    #[inline]
    pub(crate) fn new(tree: &'t Tree<Mapped>) -> Self {
        Self { tree, begun: 0, in_vain: 0 }
    }

    /// Begins one more; the watch on it, to be [ended](Self::end) behind the closure. None for most.
    ///
    /// # Errors
    ///
    /// [`Error::RecursiveUpdate`]; those of a pin.
    #[inline(always)]
    pub(crate) fn begin(&mut self) -> Result<Option<Watch<'t>>> {
        if self.begun >= UNWATCHED {
            return self.watch().map(Some);
        }
        self.begun += 1;
        Ok(None)
    }

    #[cold]
    fn watch(&self) -> Result<Watch<'t>> {
        if self.in_vain >= IN_VAIN {
            return Err(Error::RecursiveUpdate { runs: self.in_vain });
        }
        let guard = self.tree.pin()?;
        let before = guard.nested_writers();
        Ok(Watch { guard, before })
    }

    /// Ends a run. If another follows, this one was in vain.
    #[inline(always)]
    pub(crate) fn end(&mut self, watch: Option<Watch<'t>>) {
        if let Some(watch) = watch {
            self.note(&watch);
        }
    }

    #[cold]
    fn note(&mut self, watch: &Watch<'_>) {
        let writes = watch.guard.nested_writers() != watch.before;
        self.in_vain = if writes { self.in_vain + 1 } else { 0 };
    }
}

/// The pin around a run, inside of which its writes are nested.
pub(crate) struct Watch<'t> {
    guard: Guard<'t, Mapped>,
    /// How many there were before.
    before: u64,
}
