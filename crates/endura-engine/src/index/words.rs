//! An index of words in a pool, of any kind.
//!
//! A program that uses maps calls the functions here and contains no code of a tree: the trees over [`Mapped`] are
//! compiled once, in the library. Each cheap operation is one function per tree ([`operations`]), reached by one
//! branch.

use std::ops::{Bound, ControlFlow};

use super::sizes::{NarrowLeaves, NbTree, Wide};
use crate::media::{Mapped, Media};
use crate::space::{Guard, OpenMap, note_scan};
use crate::tree::len::check_len;
use crate::tree::word_range::WordRange;
use crate::tree::{Index, Len, Near, Popped, fast_fair, nbtree};
use crate::{Error, Result};

/// An index of words.
pub enum WordTree<M: Media> {
    /// FAST & FAIR with the nodes of [`NodeLayout::Wide`](super::NodeLayout::Wide).
    Wide(Wide<M>),
    /// FAST & FAIR with the nodes of [`NodeLayout::NarrowLeaves`](super::NodeLayout::NarrowLeaves).
    NarrowLeaves(NarrowLeaves<M>),
    /// NBTree.
    NbTree(NbTree<M>),
}

/// Runs `$body` on the tree, whichever it is.
macro_rules! on_tree {
    ($any:expr, $tree:ident => $body:expr) => {
        match $any {
            WordTree::Wide($tree) => $body,
            WordTree::NarrowLeaves($tree) => $body,
            WordTree::NbTree($tree) => $body,
        }
    };
}

impl WordTree<Mapped> {
    /// Starts an operation that reads: for callers that must hold a pin around several calls.
    pub(crate) fn pin(&self) -> Result<Guard<'_, Mapped>> {
        on_tree!(self, tree => tree.open.pin())
    }

    /// Records that the map is damaged, if the error says so, and returns the error for the caller.
    pub(super) fn take_note(&self, error: Error) -> Error {
        on_tree!(self, tree => tree.open.space().noted(error))
    }

    /// The number of entries, counted first if it is not known.
    pub(crate) fn exact_len(&self) -> Result<u64> {
        on_tree!(self, tree => note_scan(&tree.open));
        on_tree!(self, tree => tree.exact_len())
    }

    pub(crate) fn len(&self) -> Result<Len> {
        on_tree!(self, tree => tree.len())
    }

    /// Compares the number of entries that a pass over all of them has found with the known number.
    pub(super) fn check_len(&self, found: u64) -> Result<()> {
        on_tree!(self, tree => check_len(&tree.open, found))
    }

    /// The value of a key.
    pub fn get(&self, key: u64) -> Result<Option<u64>> {
        self.look_up(key)
    }

    /// Inserts a value. If the key has a value already, that value is replaced and returned.
    pub fn insert(&self, key: u64, value: u64) -> Result<Option<u64>> {
        on_tree!(self, tree => operations::insert(tree, key, value))
    }

    /// Like [`insert`](Self::insert), but the search starts where the last such call ended.
    pub fn insert_near(&self, near: &mut Near, key: u64, value: u64) -> Result<Option<u64>> {
        on_tree!(self, tree => tree.insert_near(near, key, value))
    }

    /// Inserts a value where there is none; returns whether there was none.
    pub fn insert_if_absent(&self, key: u64, value: u64) -> Result<bool> {
        on_tree!(self, tree => operations::insert_if_absent(tree, key, value))
    }

    /// Replaces the value of a key, and returns the old value. If the key has no value, nothing is inserted.
    pub fn replace(&self, key: u64, value: u64) -> Result<Option<u64>> {
        on_tree!(self, tree => operations::replace(tree, key, value))
    }

    /// Removes a value, and returns it.
    pub fn remove(&self, key: u64) -> Result<Option<u64>> {
        on_tree!(self, tree => operations::remove(tree, key))
    }

    /// Replaces what is expected with what is new, where `None` stands for no entry. If something else is found, it is
    /// returned, and nothing changes.
    pub fn compare_exchange(
        &self,
        key: u64,
        expected: Option<u64>,
        new: Option<u64>,
    ) -> Result<Result<(), Option<u64>>> {
        on_tree!(self, tree => operations::compare_exchange(tree, key, expected, new))
    }

    /// The values of many keys, in their order.
    pub fn get_many(&self, keys: &[u64]) -> Result<Vec<Option<u64>>> {
        on_tree!(self, tree => match tree.open.has_batches() {
            true => keys.iter().map(|&key| operations::get(tree, key)).collect(),
            false => tree.get_many(keys),
        })
    }

    /// The entry with the smallest key.
    pub fn first(&self) -> Result<Option<(u64, u64)>> {
        self.look_at_end(true)
    }

    /// The entry with the greatest key.
    pub fn last(&self) -> Result<Option<(u64, u64)>> {
        self.look_at_end(false)
    }

    /// Removes the entry that [`first`](Self::first) (`smallest`) or [`last`](Self::last) returned, if it is still at
    /// that end.
    pub fn pop(&self, smallest: bool, entry: (u64, u64)) -> Result<Popped> {
        on_tree!(self, tree => tree.pop(smallest, entry))
    }

    /// Checks that searches find what [`first`](Self::first) and [`last`](Self::last) return. Called after two searches
    /// for such an entry have failed.
    pub fn check_ends(&self) -> Result<()> {
        on_tree!(self, tree => tree.check_ends())
    }

    /// The entries with keys in `keys`.
    pub fn range(&self, keys: (Bound<u64>, Bound<u64>)) -> Words {
        on_tree!(self, tree => note_scan(&tree.open));
        match self {
            Self::Wide(_) | Self::NarrowLeaves(_) => Words::FastFair(WordRange::new(keys)),
            Self::NbTree(_) => Words::NbTree(WordRange::new(keys)),
        }
    }
}

/// A range of words. It does not own its tree: the caller passes the tree that made the range to each call.
pub enum Words {
    /// A range of FAST & FAIR.
    FastFair(WordRange<fast_fair::Cursor>),
    /// A range of NBTree.
    NbTree(WordRange<nbtree::Cursor>),
}

/// Runs `$body` on a range and its tree.
macro_rules! on_range {
    ($any:expr, $range:expr, $tree:ident, $keys:ident => $body:expr) => {
        match $any {
            WordTree::Wide($tree) => on_range!(FastFair, $range, $keys => $body),
            WordTree::NarrowLeaves($tree) => on_range!(FastFair, $range, $keys => $body),
            WordTree::NbTree($tree) => on_range!(NbTree, $range, $keys => $body),
        }
    };
    ($form:ident, $range:expr, $keys:ident => $body:expr) => {
        match $range {
            Words::$form($keys) => $body,
            _ => of_another_tree(),
        }
    };
}

#[cold]
fn of_another_tree() -> ! {
    unreachable!("a range is used with the tree that made it")
}

impl Words {
    /// The next key from below. Its value is stored in `value`.
    pub fn next_key(&mut self, tree: &WordTree<Mapped>, value: &mut u64) -> Option<u64> {
        on_range!(tree, self, tree, keys => operations::next_key(tree, keys, value))
    }

    /// The next key from above. Its value is stored in `value`.
    pub fn next_back_key(&mut self, tree: &WordTree<Mapped>, value: &mut u64) -> Option<u64> {
        on_range!(tree, self, tree, keys => operations::next_back_key(tree, keys, value))
    }

    /// Leaves out the keys below `from`.
    pub fn skip_to(&mut self, from: u64) {
        match self {
            Self::FastFair(keys) => keys.skip_to(from),
            Self::NbTree(keys) => keys.skip_to(from),
        }
    }

    /// Leaves out the keys up to `last`.
    pub fn skip_past(&mut self, last: u64) {
        match self {
            Self::FastFair(keys) => keys.skip_past(last),
            Self::NbTree(keys) => keys.skip_past(last),
        }
    }

    /// The error that ended the range, if there was one. It is returned only once.
    pub fn take_failure(&mut self) -> Option<Error> {
        match self {
            Self::FastFair(keys) => keys.take_failure(),
            Self::NbTree(keys) => keys.take_failure(),
        }
    }

    /// Passes the remaining entries to `visit`, until it breaks.
    pub fn visit(
        &mut self,
        tree: &WordTree<Mapped>,
        upwards: bool,
        visit: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<()> {
        on_range!(tree, self, tree, keys => operations::visit(tree, keys, upwards, visit))
    }
}

/// Readers beside commits, for any medium.
impl<M: Media> WordTree<M> {
    /// The value of a key.
    #[inline(always)]
    pub fn look_up(&self, key: u64) -> Result<Option<u64>> {
        on_tree!(self, tree => operations::get(tree, key))
    }

    /// The entry with the smallest key, or the one with the greatest.
    #[inline(always)]
    pub fn look_at_end(&self, smallest: bool) -> Result<Option<(u64, u64)>> {
        on_tree!(self, tree => tree.open.between_commits(|is_between| {
            let found = if smallest { tree.first()? } else { tree.last()? };
            Ok(is_between().then_some(found))
        }))
    }
}

/// The changes of a commit, for any medium.
impl<M: Media> WordTree<M> {
    pub(super) fn open_map(&self) -> &OpenMap<M> {
        on_tree!(self, tree => &tree.open)
    }

    /// Gives the key this value, or removes it.
    pub(super) fn set(&self, key: u64, value: Option<u64>) -> Result<()> {
        on_tree!(self, tree => match value {
            Some(value) => operations::insert(tree, key, value).map(drop),
            None => operations::remove(tree, key).map(drop),
        })
    }

    /// Looks up keys under the marks of a commit that has them.
    pub(super) fn look(&self, keys: &[u64]) -> Result<Vec<Option<u64>>> {
        on_tree!(self, tree => tree.get_many(keys))
    }
}

/// One function per tree and operation.
mod operations {
    use std::ops::ControlFlow;

    use crate::Result;
    use crate::tree::word_range::WordRange;
    use crate::tree::{Change, Index};

    /// A closure that decides about the change of an entry, from its value.
    type Decide<'d> = &'d mut dyn FnMut(Option<u64>) -> Change;

    #[inline(never)]
    pub(super) fn get(tree: &impl Index, key: u64) -> Result<Option<u64>> {
        // Here, and not in the caller, because the lookup loads the pool as well. The lookup is in one place, so that it is a
        // part of this function.
        if tree.has_batches()
            && let Some(decided) = decided(tree, key).transpose()
        {
            return decided;
        }
        tree.get(key)
    }

    /// The value that a commit gives to the key, while several changes at once are about.
    #[cold]
    #[inline(never)]
    fn decided(tree: &impl Index, key: u64) -> Result<Option<Option<u64>>> {
        tree.decided(key).map_err(|error| tree.noted(error))
    }

    #[inline(never)]
    pub(super) fn insert(tree: &impl Index, key: u64, value: u64) -> Result<Option<u64>> {
        tree.apply(key, |_| Change::Put(value))
    }

    // This operation and the two below pass their closures as `modify` passes that of a user, so that the write is not
    // compiled once more for each.
    pub(super) fn insert_if_absent(tree: &impl Index, key: u64, value: u64) -> Result<bool> {
        let put_new = &mut |old: Option<u64>| old.map_or(Change::Put(value), |_| Change::Keep);
        Ok(tree.modify(key, put_new as Decide<'_>)?.is_none())
    }

    pub(super) fn replace(tree: &impl Index, key: u64, value: u64) -> Result<Option<u64>> {
        let put = &mut |old: Option<u64>| old.map_or(Change::Keep, |_| Change::Put(value));
        tree.modify(key, put as Decide<'_>)
    }

    #[inline(never)]
    pub(super) fn remove(tree: &impl Index, key: u64) -> Result<Option<u64>> {
        tree.apply(key, |_| Change::Remove)
    }

    pub(super) fn compare_exchange(
        tree: &impl Index,
        key: u64,
        expected: Option<u64>,
        new: Option<u64>,
    ) -> Result<Result<(), Option<u64>>> {
        let exchange = &mut |old: Option<u64>| match new {
            _ if old != expected => Change::Keep,
            Some(value) => Change::Put(value),
            None => Change::Remove,
        };
        let found = tree.modify(key, exchange as Decide<'_>)?;
        Ok(if found == expected { Ok(()) } else { Err(found) })
    }

    #[inline(never)]
    pub(super) fn next_key<I: Index>(
        tree: &I,
        keys: &mut WordRange<I::Cursor>,
        value: &mut u64,
    ) -> Option<u64> {
        keys.next_key(tree, value)
    }

    #[inline(never)]
    pub(super) fn next_back_key<I: Index>(
        tree: &I,
        keys: &mut WordRange<I::Cursor>,
        value: &mut u64,
    ) -> Option<u64> {
        keys.next_back_key(tree, value)
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
