//! What one search learns on its way.

use crate::{Error, Result};

/// A node that its parent should name: its lower fence, its offset, the parent's level.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Separator {
    pub(crate) key: u64,
    pub(crate) child: u64,
    pub(crate) level: u64,
}

/// Where a search goes next.
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
    /// The fence that was passed, if the link was a settled one.
    pub(crate) settled: Option<u64>,
}

/// What one operation learns on its way.
#[derive(Default)]
pub(crate) struct Trail {
    /// A separator that was seen to be missing.
    pub(crate) missing: Option<Separator>,
    /// How many obsolete nodes were met, and one of them.
    obsolete: u64,
    landmark: u64,
}

impl Trail {
    /// Leaves the obsolete node at `at`.
    ///
    /// A search ends, or others get on: a move down leads to a lower level, one to the right to a node that begins
    /// further right (`check_ahead`), and one out of an obsolete node follows a merge of this session. Before
    /// that made the node obsolete it took every link to it away, and a search goes by links as they are when it
    /// comes by: it meets no obsolete node twice in one pin, in however many merges. In a damaged pool another
    /// link may be left, and a search may go round in a circle; some obsolete node is in it. One of those that are
    /// met is remembered, later and later ones (Brent's way to find a circle).
    #[cold]
    #[inline(never)]
    pub(crate) fn leave_obsolete(&mut self, at: u64) -> Result<()> {
        if at == self.landmark {
            return Err(Error::Corrupt { offset: at, what: "a link to a node that was absorbed" });
        }
        self.obsolete += 1;
        if self.obsolete.is_power_of_two() {
            self.landmark = at;
        }
        Ok(())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_search_is_overtaken_any_number_of_times_and_goes_round_no_circle() -> Result<()> {
        let mut trail = Trail::default();
        (1..3 << 20).try_for_each(|node| trail.leave_obsolete(64 * node))?;
        for (before, len) in [(0, 1), (1, 1), (5, 2), (100, 7), (3, 1000)] {
            let mut trail = Trail::default();
            (1..=before).try_for_each(|node| trail.leave_obsolete(64 * node))?;
            let mut circle = (1..=len).cycle().map(|node| (1 << 30) + 64 * node);
            // Twice once around, from a landmark in it on, and once more before there is one.
            let steps = circle.position(|node| trail.leave_obsolete(node).is_err());
            assert!(steps.is_some_and(|steps| steps as u64 <= 3 * (before + len)));
        }
        Ok(())
    }
}
