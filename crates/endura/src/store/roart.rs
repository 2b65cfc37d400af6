//! [`Roart`]: the index over every medium that a pool can have.

use std::io;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use crate::Result;
use crate::media::{Adr, Eadr, Mapped, PageCache};
use crate::store::ByteMap;
use crate::store::pool::Mounted;
use crate::tree::roart::{Cursor, Tree};
use crate::tree::{ByteChange, ByteIndex, Bytes, Len};

/// A map from byte strings to byte strings that lies in the pool entirely: a ROART radix tree. It
/// restarts in microseconds, and serves any number of readers and writers.
///
/// All its methods are those of [`ByteMap`].
pub type Roart = ByteMap<AnyRoart>;

/// A ROART tree in a pool of any domain.
pub enum AnyRoart {
    /// In a pool of the ADR domain.
    Adr(Tree<Mapped<Adr>>),
    /// In a pool of the eADR domain.
    Eadr(Tree<Mapped<Eadr>>),
    /// In a pool on the page cache.
    PageCache(Tree<Mapped<PageCache>>),
}

macro_rules! on_domain {
    ($any:expr, $tree:ident => $body:expr) => {
        match $any {
            AnyRoart::Adr($tree) => $body,
            AnyRoart::Eadr($tree) => $body,
            AnyRoart::PageCache($tree) => $body,
        }
    };
}

impl AnyRoart {
    pub(super) fn open(mounted: &Mounted, name: &str) -> Result<Self> {
        Ok(match mounted {
            Mounted::Adr(space) => Self::Adr(open(space, name)?),
            Mounted::Eadr(space) => Self::Eadr(open(space, name)?),
            Mounted::PageCache(space) => Self::PageCache(open(space, name)?),
        })
    }
}

fn open<M: crate::media::Media>(space: &Arc<crate::pool::Space<M>>, name: &str) -> Result<Tree<M>> {
    Tree::open(space, name)
}

impl ByteIndex for AnyRoart {
    type Cursor = Cursor;

    #[inline]
    fn get_with<R>(&self, key: &[u8], read: impl FnOnce(Bytes<'_>) -> R) -> Result<Option<R>> {
        on_domain!(self, tree => tree.get_with(key, read))
    }

    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        on_domain!(self, tree => tree.get_many(keys))
    }

    #[inline]
    fn modify<'v>(
        &self,
        key: &[u8],
        decide: impl FnMut(Option<Bytes<'_>>) -> ByteChange<'v>,
    ) -> Result<()> {
        on_domain!(self, tree => tree.modify(key, decide))
    }

    #[inline]
    fn apply<'v>(
        &self,
        key: &[u8],
        decide: impl FnMut(Option<Bytes<'_>>) -> ByteChange<'v>,
    ) -> Result<()> {
        on_domain!(self, tree => tree.apply(key, decide))
    }

    #[inline(always)]
    fn is_elsewhere(&self) -> bool {
        on_domain!(self, tree => tree.is_elsewhere())
    }

    fn insert_from(
        &self,
        key: &[u8],
        len: usize,
        write: impl FnMut(&mut dyn io::Write) -> Result<()>,
    ) -> Result<()> {
        on_domain!(self, tree => tree.insert_from(key, len, write))
    }

    fn scan_up(
        &self,
        cursor: &mut Cursor,
        keys: (Bound<&[u8]>, Bound<&[u8]>),
        visit: impl FnMut(Bytes<'_>, Bytes<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        on_domain!(self, tree => tree.scan_up(cursor, keys, visit))
    }

    fn scan_down(
        &self,
        cursor: &mut Cursor,
        keys: (Bound<&[u8]>, Bound<&[u8]>),
        visit: impl FnMut(Bytes<'_>, Bytes<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        on_domain!(self, tree => tree.scan_down(cursor, keys, visit))
    }

    fn first<R>(&self, read: impl FnOnce(Bytes<'_>, Bytes<'_>) -> R) -> Result<Option<R>> {
        on_domain!(self, tree => tree.first(read))
    }

    fn last<R>(&self, read: impl FnOnce(Bytes<'_>, Bytes<'_>) -> R) -> Result<Option<R>> {
        on_domain!(self, tree => tree.last(read))
    }

    fn check_ends(&self) -> Result<()> {
        on_domain!(self, tree => tree.check_ends())
    }

    fn len(&self) -> Result<Len> {
        on_domain!(self, tree => tree.len())
    }
}
