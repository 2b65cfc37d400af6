//! [`AnyMap`]: a map of whichever kind it is.

use super::word_map::WordMap;
use crate::Result;
use crate::kind::Kind;
use crate::media::Mapped;
use crate::store::fast_fair::AnyLayout;
use crate::store::nbtree::NbTreeIndex;
use crate::tree::{Change, Index, Len, Popped, fast_fair, nbtree};

/// A map from `u64` to `u64` whose kind is known when it is opened: for tools that serve all.
/// [`Handles::any_map`](super::Handles::any_map) opens it.
///
/// All its methods are those of [`WordMap`].
pub type AnyMap = WordMap<AnyIndex>;

/// An index of any kind.
pub enum AnyIndex {
    /// A [`FastFair`](super::FastFair).
    FastFair(AnyLayout<Mapped>),
    /// An [`NbTree`](super::NbTree).
    NbTree(NbTreeIndex),
}

/// A place in a scan of an index of any kind.
#[derive(Default)]
pub struct AnyCursor {
    fast_fair: fast_fair::Cursor,
    nbtree: nbtree::Cursor,
}

macro_rules! on_kind {
    ($any:expr, $tree:ident => $body:expr) => {
        match $any {
            AnyIndex::FastFair($tree) => $body,
            AnyIndex::NbTree($tree) => $body,
        }
    };
    ($any:expr, $tree:ident, $cursor:ident => $body:expr) => {
        match $any {
            AnyIndex::FastFair($tree) => {
                let $cursor = &mut $cursor.fast_fair;
                $body
            }
            AnyIndex::NbTree($tree) => {
                let $cursor = &mut $cursor.nbtree;
                $body
            }
        }
    };
}

impl AnyIndex {
    /// Which kind it is.
    pub fn kind(&self) -> Kind {
        match self {
            Self::FastFair(_) => Kind::FastFair,
            Self::NbTree(_) => Kind::NbTree,
        }
    }
}

impl Index for AnyIndex {
    type Cursor = AnyCursor;

    #[inline]
    fn get(&self, key: u64) -> Result<Option<u64>> {
        on_kind!(self, tree => tree.get(key))
    }

    fn get_many(&self, keys: &[u64]) -> Result<Vec<Option<u64>>> {
        on_kind!(self, tree => tree.get_many(keys))
    }

    #[inline]
    fn modify(&self, key: u64, decide: impl FnMut(Option<u64>) -> Change) -> Result<Option<u64>> {
        on_kind!(self, tree => tree.modify(key, decide))
    }

    #[inline]
    fn apply(&self, key: u64, decide: impl FnMut(Option<u64>) -> Change) -> Result<Option<u64>> {
        on_kind!(self, tree => tree.apply(key, decide))
    }

    #[inline(always)]
    fn next_up(&self, cursor: &mut AnyCursor) -> Option<(u64, u64)> {
        on_kind!(self, tree, cursor => tree.next_up(cursor))
    }

    #[inline(always)]
    fn next_down(&self, cursor: &mut AnyCursor) -> Option<(u64, u64)> {
        on_kind!(self, tree, cursor => tree.next_down(cursor))
    }

    fn scan_up(&self, cursor: &mut AnyCursor, key: u64) -> Result<Option<(u64, u64)>> {
        on_kind!(self, tree, cursor => tree.scan_up(cursor, key))
    }

    fn scan_down(&self, cursor: &mut AnyCursor, key: u64) -> Result<Option<(u64, u64)>> {
        on_kind!(self, tree, cursor => tree.scan_down(cursor, key))
    }

    fn first(&self) -> Result<Option<(u64, u64)>> {
        on_kind!(self, tree => tree.first())
    }

    fn last(&self) -> Result<Option<(u64, u64)>> {
        on_kind!(self, tree => tree.last())
    }

    fn check_ends(&self) -> Result<()> {
        on_kind!(self, tree => tree.check_ends())
    }

    fn pop(&self, smallest: bool, entry: (u64, u64)) -> Result<Popped> {
        on_kind!(self, tree => tree.pop(smallest, entry))
    }

    fn len(&self) -> Result<Len> {
        on_kind!(self, tree => tree.len())
    }

    fn exact_len(&self) -> Result<u64> {
        on_kind!(self, tree => tree.exact_len())
    }
}
