//! The root word.

use crate::media::{Mark, Media, Ordering, Region};
use crate::space::{Guard, MapState};
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

/// The current root of an open map.
#[inline(always)]
pub(crate) fn root_of<M: Media>(map: &MapState, guard: &Guard<'_, M>) -> Result<Root> {
    match map.known_root() {
        0 => first_root(map, guard),
        word => {
            guard.media().mark(Mark::Observed(map.root()));
            Ok(Root::of(word))
        }
    }
}

#[cold]
fn first_root<M: Media>(map: &MapState, guard: &Guard<'_, M>) -> Result<Root> {
    let root = Root::read(guard.media(), map.root())?;
    let known = map.first_root(root.word());
    guard.media().mark(Mark::Observed(map.root()));
    Ok(Root::of(known))
}

/// Makes `root` the root of an open map, durably.
pub(crate) fn set_root_of<M: Media>(
    map: &MapState,
    guard: &Guard<'_, M>,
    root: Root,
) -> Result<()> {
    let word = Region::new(guard.media(), map.root(), 1)?;
    // Release: if nothing is flushed, only this orders the words of a new root before the root word.
    word.store(0, root.word(), Ordering::Release);
    word.flush(0, 1);
    // The root word is durable before another thread learns of the new root, and before the caller retires an old
    // root.
    guard.media().fence();
    guard.media().mark(Mark::Published(map.root()));
    map.set_known_root(root.word());
    Ok(())
}

impl<M: Media, const INNER: usize, const LEAF: usize, S: Search> Tree<M, INNER, LEAF, S> {
    /// The current root.
    #[inline(always)]
    pub(crate) fn root(&self, guard: &Guard<'_, M>) -> Result<Root> {
        root_of(self.open.map(), guard)
    }

    /// Makes `root` the root, durably.
    pub(crate) fn set_root(&self, guard: &Guard<'_, M>, root: Root) -> Result<()> {
        set_root_of(self.open.map(), guard, root)
    }
}
