//! The runs of a closure that decides about one key.
//!
//! An operation runs such a closure again if the value of the key has changed by the time it returns. Rivals may be
//! faster as often as they like: each time one of them has got on. A closure that writes its own key is its own
//! rival, and one that gives it another value each time would be so for ever. It is told from a rival by the writes
//! that it enters on its thread, which are counted inside a pin around it.

use crate::media::Mapped;
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

    /// Runs the closure once more.
    ///
    /// # Errors
    ///
    /// [`Error::RecursiveUpdate`]; those of a pin.
    #[inline]
    pub(crate) fn run<R>(&mut self, closure: impl FnOnce() -> R) -> Result<R> {
        if self.begun < UNWATCHED {
            self.begun += 1;
            return Ok(closure());
        }
        self.run_watched(closure)
    }

    #[cold]
    fn run_watched<R>(&mut self, closure: impl FnOnce() -> R) -> Result<R> {
        if self.in_vain >= IN_VAIN {
            return Err(Error::RecursiveUpdate { runs: self.in_vain });
        }
        let (result, writes) = self.tree.pin()?.sees_writes(closure);
        self.in_vain = if writes { self.in_vain + 1 } else { 0 };
        Ok(result)
    }
}
