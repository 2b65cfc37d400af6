//! The tree behind a map, whichever it is.
//!
//! What is here is compiled once, in the library: a program that uses maps has calls in it, and no trees. Operations
//! that cost little are a function each ([`operations`]), to which a branch on the kind leads.

use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::kind::Kind;
use crate::media::Mapped;
use crate::pool::{MapState, Space};
use crate::store::fast_fair::{AnyLayout, NodeLayout};
use crate::store::nbtree::NbTreeIndex;
use crate::tree::byte_range::ByteRange;
use crate::tree::fast_fair::{self, LineBinary};
use crate::tree::word_range::WordRange;
use crate::tree::{ByteChange, ByteIndex, Bytes, Index, Len, Near, Popped, nbtree, roart};
use crate::types::Types;
use crate::{Error, Result};

/// A tree in a pool.
pub(crate) enum AnyTree {
    Wide(fast_fair::Tree<Mapped, 256, 128, LineBinary>),
    NarrowLeaves(fast_fair::Tree<Mapped, 128, 64, LineBinary>),
    NbTree(NbTreeIndex),
    Roart(roart::Tree<Mapped>),
}

/// The same of whichever tree of words it is.
macro_rules! on_words {
    ($tree:expr, $words:ident => $body:expr) => {
        match $tree {
            AnyTree::Wide($words) => $body,
            AnyTree::NarrowLeaves($words) => $body,
            AnyTree::NbTree($words) => $body,
            AnyTree::Roart(_) => not_words(),
        }
    };
}

/// The same of whichever tree it is.
macro_rules! on_tree {
    ($tree:expr, $any:ident => $body:expr) => {
        match $tree {
            AnyTree::Wide($any) => $body,
            AnyTree::NarrowLeaves($any) => $body,
            AnyTree::NbTree($any) => $body,
            AnyTree::Roart($any) => $body,
        }
    };
}

#[cold]
fn not_words() -> ! {
    unreachable!("asked only where keys and values are words, and no Roart has them")
}

#[cold]
fn not_bytes() -> ! {
    unreachable!("asked only of a Roart")
}

impl AnyTree {
    /// The map `name`, whatever it is; made of this kind, with these types, if there is none.
    pub(crate) fn find_or_create(
        space: &Arc<Space<Mapped>>,
        name: &str,
        kind: Kind,
        layout: Option<NodeLayout>,
        types: &Types,
    ) -> Result<Arc<MapState>> {
        match kind {
            Kind::FastFair => {
                let layout = layout.unwrap_or_else(|| AnyLayout::default_layout(space));
                AnyLayout::find_or_create(space, name, layout, types)
            }
            Kind::NbTree => NbTreeIndex::find_or_create(space, name, types),
            Kind::Roart => roart::Tree::<Mapped>::find_or_create(space, name, types),
        }
    }

    /// The tree of an open map.
    pub(crate) fn over(
        space: &Arc<Space<Mapped>>,
        map: Arc<MapState>,
        layout: Option<NodeLayout>,
    ) -> Result<Self> {
        match Kind::numbered(map.kind()) {
            Some(Kind::FastFair) => Ok(match AnyLayout::over_as(space, map, layout)? {
                AnyLayout::Wide(tree) => Self::Wide(tree),
                AnyLayout::NarrowLeaves(tree) => Self::NarrowLeaves(tree),
            }),
            Some(Kind::NbTree) => NbTreeIndex::over(space, map).map(Self::NbTree),
            Some(Kind::Roart) => roart::Tree::over(space, map).map(Self::Roart),
            None => Err(Error::UnknownNodes { name: map.name().to_string() }),
        }
    }

    /// Whether it holds words.
    #[inline]
    pub(crate) fn is_words(&self) -> bool {
        !matches!(self, Self::Roart(_))
    }

    pub(crate) fn len(&self) -> Result<Len> {
        on_tree!(self, tree => tree.len())
    }

    /// How many entries there are, counted first where that is not known.
    pub(crate) fn exact_len(&self) -> Result<u64> {
        on_tree!(self, tree => tree.exact_len())
    }

    pub(crate) fn get(&self, key: u64) -> Result<Option<u64>> {
        on_words!(self, tree => operations::get(tree, key))
    }

    pub(crate) fn insert(&self, key: u64, value: u64) -> Result<Option<u64>> {
        on_words!(self, tree => operations::insert(tree, key, value))
    }

    /// The same, near to where the last such call ended.
    pub(crate) fn insert_near(&self, near: &mut Near, key: u64, value: u64) -> Result<Option<u64>> {
        on_words!(self, tree => tree.insert_near(near, key, value))
    }

    pub(crate) fn insert_if_absent(&self, key: u64, value: u64) -> Result<bool> {
        on_words!(self, tree => operations::insert_if_absent(tree, key, value))
    }

    pub(crate) fn replace(&self, key: u64, value: u64) -> Result<Option<u64>> {
        on_words!(self, tree => operations::replace(tree, key, value))
    }

    pub(crate) fn remove(&self, key: u64) -> Result<Option<u64>> {
        on_words!(self, tree => operations::remove(tree, key))
    }

    pub(crate) fn compare_exchange(
        &self,
        key: u64,
        expected: Option<u64>,
        new: Option<u64>,
    ) -> Result<Result<(), Option<u64>>> {
        on_words!(self, tree => operations::compare_exchange(tree, key, expected, new))
    }

    pub(crate) fn get_many(&self, keys: &[u64]) -> Result<Vec<Option<u64>>> {
        on_words!(self, tree => tree.get_many(keys))
    }

    pub(crate) fn first(&self) -> Result<Option<(u64, u64)>> {
        on_words!(self, tree => tree.first())
    }

    pub(crate) fn last(&self) -> Result<Option<(u64, u64)>> {
        on_words!(self, tree => tree.last())
    }

    /// Takes out the entry that one end has given, if it is that end still.
    pub(crate) fn pop(&self, smallest: bool, entry: (u64, u64)) -> Result<Popped> {
        on_words!(self, tree => tree.pop(smallest, entry))
    }

    /// The same of byte strings.
    pub(crate) fn pop_bytes(&self, smallest: bool, key: &[u8], value: &[u8]) -> Result<Popped> {
        self.bytes().pop(smallest, key, value)
    }

    /// For whoever looked twice in vain for what an end gave.
    pub(crate) fn check_ends(&self) -> Result<()> {
        on_tree!(self, tree => tree.check_ends())
    }

    pub(crate) fn words(&self, keys: (std::ops::Bound<u64>, std::ops::Bound<u64>)) -> Words {
        match self {
            Self::Wide(_) | Self::NarrowLeaves(_) => Words::FastFair(WordRange::new(keys)),
            Self::NbTree(_) => Words::NbTree(WordRange::new(keys)),
            Self::Roart(_) => not_words(),
        }
    }

    /// The tree of byte strings.
    fn bytes(&self) -> &roart::Tree<Mapped> {
        match self {
            Self::Roart(tree) => tree,
            _ => not_bytes(),
        }
    }

    /// Whether the key is there; `read` sees its value. For a `read` that does not fork the process.
    pub(crate) fn read(&self, key: &[u8], read: &mut dyn FnMut(Bytes<'_>)) -> Result<bool> {
        Ok(self.bytes().get_with(key, read)?.is_some())
    }

    /// The same for a `read` of the caller's.
    pub(crate) fn read_with(&self, key: &[u8], read: &mut dyn FnMut(Bytes<'_>)) -> Result<bool> {
        let found = self.read(key, read);
        self.unless_forked(found)
    }

    /// What an operation answers whose closure was the caller's, which may have forked the process: the pin is
    /// the parent's then, and what was shown may have been anything since.
    fn unless_forked<R>(&self, result: Result<R>) -> Result<R> {
        if self.bytes().is_elsewhere() { Err(Error::Forked) } else { result }
    }

    pub(crate) fn get_many_bytes(&self, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        self.bytes().get_many(keys)
    }

    /// Applies `decide`. For one that does not fork the process.
    pub(crate) fn apply<'v>(
        &self,
        key: &[u8],
        decide: &mut dyn FnMut(Option<Bytes<'_>>) -> ByteChange<'v>,
    ) -> Result<()> {
        self.bytes().apply(key, decide)
    }

    /// Applies `decide`, which runs what the caller has given.
    pub(crate) fn modify<'v>(
        &self,
        key: &[u8],
        decide: &mut dyn FnMut(Option<Bytes<'_>>) -> ByteChange<'v>,
    ) -> Result<()> {
        self.bytes().modify(key, decide)
    }

    pub(crate) fn insert_from(
        &self,
        key: &[u8],
        len: usize,
        write: &mut dyn FnMut(&mut dyn io::Write) -> Result<()>,
    ) -> Result<()> {
        self.bytes().insert_from(key, len, write)
    }

    /// Shows `read` the entry at one end; whether there is one.
    pub(crate) fn end(
        &self,
        smallest: bool,
        read: &mut dyn FnMut(Bytes<'_>, Bytes<'_>),
    ) -> Result<bool> {
        let tree = self.bytes();
        let found = if smallest { tree.first(read)? } else { tree.last(read)? };
        Ok(found.is_some())
    }

    /// Shows the next entry of a range of byte strings.
    pub(crate) fn next_bytes(
        &self,
        keys: &mut ByteRange<roart::Cursor>,
        upwards: bool,
        read: &mut dyn FnMut(Bytes<'_>, Bytes<'_>),
    ) -> Result<bool> {
        keys.next(self.bytes(), upwards, read)
    }

    /// Shows all that is left of it to `visit`, a closure of the caller's, until that breaks.
    pub(crate) fn visit_bytes(
        &self,
        keys: &mut ByteRange<roart::Cursor>,
        upwards: bool,
        visit: &mut dyn FnMut(Bytes<'_>, Bytes<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let tree = self.bytes();
        let visited = keys.visit(tree, upwards, &mut |key, value| {
            visit(key, value)?;
            match tree.is_elsewhere() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        self.unless_forked(visited)
    }
}

/// A range of words.
pub(crate) enum Words {
    FastFair(WordRange<fast_fair::Cursor>),
    NbTree(WordRange<nbtree::Cursor>),
}

/// The same of the tree of words and a range over it.
macro_rules! on_range {
    ($tree:expr, $range:expr, $words:ident, $keys:ident => $body:expr) => {
        match ($tree, $range) {
            (AnyTree::Wide($words), Words::FastFair($keys)) => $body,
            (AnyTree::NarrowLeaves($words), Words::FastFair($keys)) => $body,
            (AnyTree::NbTree($words), Words::NbTree($keys)) => $body,
            _ => not_words(),
        }
    };
}

impl Words {
    /// The next key from below, and its value in `value`.
    pub(crate) fn next_key(&mut self, tree: &AnyTree, value: &mut u64) -> Option<u64> {
        on_range!(tree, self, tree, keys => keys.next_key(tree, value))
    }

    /// The same from above.
    pub(crate) fn next_back_key(&mut self, tree: &AnyTree, value: &mut u64) -> Option<u64> {
        on_range!(tree, self, tree, keys => keys.next_back_key(tree, value))
    }

    /// Why the range ended, if not because there was nothing more; said once.
    pub(crate) fn take_failure(&mut self) -> Option<Error> {
        match self {
            Self::FastFair(keys) => keys.take_failure(),
            Self::NbTree(keys) => keys.take_failure(),
        }
    }

    /// Shows `visit` all that are left, until it breaks.
    pub(crate) fn visit(
        &mut self,
        tree: &AnyTree,
        upwards: bool,
        visit: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<()> {
        on_range!(tree, self, tree, keys => operations::visit(tree, keys, upwards, visit))
    }
}

/// A function for each tree and operation.
mod operations {
    use std::ops::ControlFlow;

    use crate::Result;
    use crate::tree::word_range::WordRange;
    use crate::tree::{Change, Index};

    #[inline(never)]
    pub(super) fn get(tree: &impl Index, key: u64) -> Result<Option<u64>> {
        tree.get(key)
    }

    #[inline(never)]
    pub(super) fn insert(tree: &impl Index, key: u64, value: u64) -> Result<Option<u64>> {
        tree.apply(key, |_| Change::Put(value))
    }

    #[inline(never)]
    pub(super) fn insert_if_absent(tree: &impl Index, key: u64, value: u64) -> Result<bool> {
        let put_new = |old: Option<u64>| old.map_or(Change::Put(value), |_| Change::Keep);
        Ok(tree.apply(key, put_new)?.is_none())
    }

    #[inline(never)]
    pub(super) fn replace(tree: &impl Index, key: u64, value: u64) -> Result<Option<u64>> {
        tree.apply(key, |old| old.map_or(Change::Keep, |_| Change::Put(value)))
    }

    #[inline(never)]
    pub(super) fn remove(tree: &impl Index, key: u64) -> Result<Option<u64>> {
        tree.apply(key, |_| Change::Remove)
    }

    #[inline(never)]
    pub(super) fn compare_exchange(
        tree: &impl Index,
        key: u64,
        expected: Option<u64>,
        new: Option<u64>,
    ) -> Result<Result<(), Option<u64>>> {
        let found = tree.apply(key, |old| match new {
            _ if old != expected => Change::Keep,
            Some(value) => Change::Put(value),
            None => Change::Remove,
        })?;
        Ok(if found == expected { Ok(()) } else { Err(found) })
    }

    pub(super) fn visit<I: Index>(
        tree: &I,
        keys: &mut WordRange<I::Cursor>,
        upwards: bool,
        visit: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<()> {
        while let Some(entry) = if upwards { keys.next(tree) } else { keys.next_back(tree) } {
            let (key, value) = entry?;
            if visit(key, value).is_break() {
                break;
            }
        }
        Ok(())
    }
}
