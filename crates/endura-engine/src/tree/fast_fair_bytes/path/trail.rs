//! The state of one search.

use crate::Result;
use crate::tree::fast_fair::path::trail::Detours;

/// A node that may lack a separator in its parent: its offset, and the parent's level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Separator {
    pub(crate) child: u64,
    pub(crate) level: u64,
}

/// A node that was replaced, and to which the tree may still lead; and the node to which it leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Signpost {
    pub(crate) old: u64,
    pub(crate) new: u64,
    pub(crate) level: u64,
}

/// What one operation has learned during its search.
#[derive(Default)]
pub(crate) struct Trail {
    /// A separator that the search found missing.
    pub(crate) missing: Option<Separator>,
    /// A node of an earlier session that was replaced, and that the search came through: of the last level with such nodes,
    /// the first one. What leads to a node that was replaced is the node before: so only the first one of a row can be
    /// settled, and the others after it.
    pub(crate) signpost: Option<Signpost>,
    detours: Detours,
}

/// Where the search for a key came to the leaves, and what it had learned: for the change of the same pin that follows.
#[derive(Clone, Copy)]
pub(crate) struct Arrival {
    /// The first leaf. The search may have gone on from there, over a link whose separator is missing, or a signpost.
    pub(crate) leaf: u64,
    /// The word of the key in that leaf, if the search has ended there. Both fences that it compared the key with stand for
    /// the rest of the pin, except that `high` may sink: prefix and `low` never change, nor is the chunk used again.
    pub(crate) word: Option<u64>,
    missing: Option<Separator>,
    signpost: Option<Signpost>,
}

impl Arrival {
    /// The trail of the change.
    pub(crate) fn trail(self) -> Trail {
        Trail { missing: self.missing, signpost: self.signpost, detours: Detours::default() }
    }
}

impl Trail {
    /// What the search has learned on its way to a leaf.
    #[inline]
    pub(crate) fn arrive(&self, leaf: u64) -> Arrival {
        Arrival { leaf, word: None, missing: self.missing, signpost: self.signpost }
    }

    /// Notes that the search leaves the obsolete node at `at`. Fails if the search runs in a circle.
    pub(crate) fn leave_obsolete(&mut self, at: u64) -> Result<()> {
        self.detours.leave_obsolete(at)
    }

    /// Notes that the search comes through a node that was replaced. Fails if the search runs in a circle: a node and its
    /// replacement begin at the same key.
    #[cold]
    pub(crate) fn pass(&mut self, signpost: Signpost) -> Result<()> {
        if self.signpost.is_none_or(|first| first.level != signpost.level) {
            self.signpost = Some(signpost);
        }
        self.detours.leave_obsolete(signpost.old)
    }
}
