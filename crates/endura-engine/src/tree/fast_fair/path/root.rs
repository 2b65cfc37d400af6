//! The root word.

use crate::media::{Mark, Media, Ordering, Region};
use crate::space::Guard;
use crate::{Error, Result};

use crate::tree::fast_fair::nodes::header::MAX_LEVEL;
use crate::tree::fast_fair::nodes::search::Search;
use crate::tree::fast_fair::tree::Tree;

/// The root word has the offset of the root and its level, so that the kind of the node is known before the node is
/// read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Root {
    pub(crate) at: u64,
    pub(crate) level: u64,
}

impl Root {
    pub(crate) fn word(self) -> u64 {
        self.at | self.level << 48
    }

    /// The root, from the word at `offset`.
    #[inline]
    pub(crate) fn read<M: Media>(media: &M, offset: u64) -> Result<Self> {
        let root = Self::of(Region::new(media, offset, 1)?.load(0, Ordering::Acquire));
        if (1..=MAX_LEVEL).contains(&root.level) {
            Ok(root)
        } else {
            Err(Error::Corrupt { offset, what: "a root of an impossible level" })
        }
    }

    #[inline(always)]
    fn of(word: u64) -> Self {
        Self { at: word & ((1 << 48) - 1), level: word >> 48 }
    }
}

impl<M: Media, const INNER: usize, const LEAF: usize, S: Search> Tree<M, INNER, LEAF, S> {
    /// The current root.
    #[inline(always)]
    pub(crate) fn root(&self, guard: &Guard<'_, M>) -> Result<Root> {
        match self.open.map().known_root() {
            0 => self.first_root(guard),
            word => {
                guard.media().mark(Mark::Observed(self.root_at()));
                Ok(Root::of(word))
            }
        }
    }

    #[cold]
    fn first_root(&self, guard: &Guard<'_, M>) -> Result<Root> {
        let root = Root::read(guard.media(), self.root_at())?;
        let known = self.open.map().first_root(root.word());
        guard.media().mark(Mark::Observed(self.root_at()));
        Ok(Root::of(known))
    }

    /// Makes `root` the root, durably.
    pub(crate) fn set_root(&self, guard: &Guard<'_, M>, root: Root) -> Result<()> {
        let word = Region::new(guard.media(), self.root_at(), 1)?;
        // Release: if nothing is flushed, only this orders the words of a new root before the root word.
        word.store(0, root.word(), Ordering::Release);
        word.flush(0, 1);
        // The root word is durable before another thread learns of the new root, and before the caller retires an old
        // root.
        guard.media().fence();
        guard.media().mark(Mark::Published(self.root_at()));
        self.open.map().set_known_root(root.word());
        Ok(())
    }
}
