//! [`NbTree`]: the index over every medium that a pool can have.

use crate::Result;
use crate::media::{Adr, Eadr, Mapped, PageCache};
use crate::store::Map;
use crate::tree::nbtree::{Cursor, Stats, Tree};
use crate::tree::{Change, Index, Len};

/// A map from `u64` to `u64` that keeps its entries in the pool and all else in DRAM: an NBTree. Its
/// writers never wait for each other, and an insert, update or remove writes one line. What is in
/// DRAM is made anew as it is needed after an open.
///
/// All its methods are those of [`Map`].
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// let pool = endura::Pool::options().open_or_create(folder.path().join("data.endura"))?;
/// let seen = pool.nbtree("seen")?;
/// assert!(seen.insert_new(7, 1)?);
/// assert_eq!(seen.range(..).next().transpose()?, Some((7, 1)));
/// # Ok::<(), endura::Error>(())
/// ```
pub type NbTree = Map<AnyNbTree>;

/// Words of a block: 1 KiB, 63 entries.
pub(super) const WORDS: usize = 128;
/// Children of an inner node.
pub(super) const FANOUT: usize = 64;

/// An NBTree in a pool of any domain.
pub enum AnyNbTree {
    /// In a pool of the ADR domain.
    Adr(Tree<Mapped<Adr>, WORDS, FANOUT>),
    /// In a pool of the eADR domain.
    Eadr(Tree<Mapped<Eadr>, WORDS, FANOUT>),
    /// In a pool on the page cache.
    PageCache(Tree<Mapped<PageCache>, WORDS, FANOUT>),
}

macro_rules! on_domain {
    ($any:expr, $tree:ident => $body:expr) => {
        match $any {
            AnyNbTree::Adr($tree) => $body,
            AnyNbTree::Eadr($tree) => $body,
            AnyNbTree::PageCache($tree) => $body,
        }
    };
}

impl AnyNbTree {
    /// What is in DRAM of the map, and how much of that was made anew since the pool was opened.
    pub fn stats(&self) -> Stats {
        on_domain!(self, tree => tree.stats())
    }

    /// Makes all that is in DRAM of the map anew at once, by so many threads (at least one: the
    /// caller), where it would otherwise be made as it is needed. O(n).
    ///
    /// # Errors
    ///
    /// Those of [`Map::get`].
    pub fn rebuild(&self, threads: usize) -> Result<()> {
        on_domain!(self, tree => tree.rebuild(threads))
    }
}

impl Index for AnyNbTree {
    type Cursor = Cursor;

    #[inline]
    fn get(&self, key: u64) -> Result<Option<u64>> {
        on_domain!(self, tree => tree.get(key))
    }

    fn get_many(&self, keys: &[u64]) -> Result<Vec<Option<u64>>> {
        on_domain!(self, tree => tree.get_many(keys))
    }

    #[inline]
    fn modify(&self, key: u64, decide: impl FnMut(Option<u64>) -> Change) -> Result<Option<u64>> {
        on_domain!(self, tree => tree.modify(key, decide))
    }

    #[inline]
    fn apply(&self, key: u64, decide: impl FnMut(Option<u64>) -> Change) -> Result<Option<u64>> {
        on_domain!(self, tree => tree.apply(key, decide))
    }

    #[inline(always)]
    fn next_up(&self, cursor: &mut Cursor) -> Option<(u64, u64)> {
        on_domain!(self, tree => tree.next_up(cursor))
    }

    #[inline(always)]
    fn next_down(&self, cursor: &mut Cursor) -> Option<(u64, u64)> {
        on_domain!(self, tree => tree.next_down(cursor))
    }

    #[inline]
    fn scan_up(&self, cursor: &mut Cursor, key: u64) -> Result<Option<(u64, u64)>> {
        on_domain!(self, tree => tree.scan_up(cursor, key))
    }

    #[inline]
    fn scan_down(&self, cursor: &mut Cursor, key: u64) -> Result<Option<(u64, u64)>> {
        on_domain!(self, tree => tree.scan_down(cursor, key))
    }

    fn first(&self) -> Result<Option<(u64, u64)>> {
        on_domain!(self, tree => tree.first())
    }

    fn last(&self) -> Result<Option<(u64, u64)>> {
        on_domain!(self, tree => tree.last())
    }

    fn check_ends(&self) -> Result<()> {
        on_domain!(self, tree => tree.check_ends())
    }

    fn len(&self) -> Result<Len> {
        on_domain!(self, tree => tree.len())
    }
}
