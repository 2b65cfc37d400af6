//! The state of one search.

use crate::{Error, Result};

/// The separator of a node in its parent: the node's lower fence, its offset, and the parent's level.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Separator {
    pub(crate) key: u64,
    pub(crate) child: u64,
    pub(crate) level: u64,
}

/// The next step of a search.
pub(crate) enum Descent {
    /// To a child, one level below.
    Down(u64),
    /// To the right sibling.
    Right(Right),
    /// To the node that absorbed this one (0: to the root).
    Onward(u64),
}

/// A move to the right sibling.
pub(crate) struct Right {
    pub(crate) at: u64,
    /// The fence that was passed, if the link was settled.
    pub(crate) settled: Option<u64>,
}

/// The obsolete nodes that a search has met: their number, and the offset of one of them.
#[derive(Default)]
pub(crate) struct Detours {
    number: u64,
    landmark: u64,
}

impl Detours {
    /// Notes that the search leaves the obsolete node at `at`. Fails if the search runs in a circle.
    ///
    /// Every search ends, unless other threads make progress for ever. A move down leads to a lower level, and a move
    /// right to a node that starts further right (`check_ahead`). A move out of an obsolete node follows a merge of
    /// this session. That merge removed every link to the node before it made the node obsolete, and a search follows
    /// links as they are when it reads them: in one pin it meets no obsolete node twice, whatever the number of merges.
    /// In a damaged pool another link may remain, and a search may run in a circle, which contains an obsolete node.
    /// The search remembers one of the obsolete nodes that it meets, at growing intervals (Brent's cycle detection).
    #[cold]
    #[inline(never)]
    pub(crate) fn leave_obsolete(&mut self, at: u64) -> Result<()> {
        if at == self.landmark {
            return Err(Error::Corrupt { offset: at, what: "a link to a node that was absorbed" });
        }
        self.number += 1;
        if self.number.is_power_of_two() {
            self.landmark = at;
        }
        Ok(())
    }
}

/// What one operation has learned during its search.
#[derive(Default)]
pub(crate) struct Trail {
    /// A separator that the search found missing.
    pub(crate) missing: Option<Separator>,
    detours: Detours,
}

impl Trail {
    /// Does what [`Detours::leave_obsolete`] does.
    #[inline]
    pub(crate) fn leave_obsolete(&mut self, at: u64) -> Result<()> {
        self.detours.leave_obsolete(at)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_search_is_overtaken_any_number_of_times_and_goes_round_no_circle() -> Result<()> {
        let mut trail = Detours::default();
        (1..3 << 20).try_for_each(|node| trail.leave_obsolete(64 * node))?;
        for (before, len) in [(0, 1), (1, 1), (5, 2), (100, 7), (3, 1000)] {
            let mut trail = Detours::default();
            (1..=before).try_for_each(|node| trail.leave_obsolete(64 * node))?;
            let mut circle = (1..=len).cycle().map(|node| (1 << 30) + 64 * node);
            // At most twice around the circle after a landmark in it, and once more before there is one.
            let steps = circle.position(|node| trail.leave_obsolete(node).is_err());
            assert!(steps.is_some_and(|steps| steps as u64 <= 3 * (before + len)));
        }
        Ok(())
    }
}
