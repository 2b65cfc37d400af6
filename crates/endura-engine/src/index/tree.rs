//! An index in a pool, in one of its two forms.

use super::bytes::ByteTree;
use super::words::WordTree;
use crate::media::{Mapped, Media};
use crate::space::{Guard, OpenMap};
use crate::tree::Len;
use crate::{Error, Result};

/// The index of an open map. Its form depends on the index, not on the map's types: a [`Roart`](crate::Kind::Roart)
/// stores numbers as byte strings too.
pub enum Tree<M: Media> {
    /// Keys and values are words.
    Words(WordTree<M>),
    /// Keys and values are byte strings.
    Bytes(ByteTree<M>),
}

impl Tree<Mapped> {
    /// Starts an operation that reads: for callers that must hold a pin around several calls.
    pub fn pin(&self) -> Result<Guard<'_, Mapped>> {
        match self {
            Self::Words(tree) => tree.pin(),
            Self::Bytes(tree) => tree.pin(),
        }
    }

    /// Records that the map is damaged, if the error says so, and returns the error for the caller.
    #[cold]
    #[inline(never)]
    pub fn take_note(&self, error: Error) -> Error {
        match self {
            Self::Words(tree) => tree.take_note(error),
            Self::Bytes(tree) => tree.take_note(error),
        }
    }

    /// An address that all handles of the map have in common, and no other map has while one of them exists.
    pub fn map_address(&self) -> usize {
        std::ptr::from_ref(self.open_map().map()).addr()
    }

    /// Waits until no commit changes this map; returns how many have begun.
    pub fn quiet_commits(&self) -> Result<u64> {
        self.open_map().quiet_commits()
    }

    /// How many commits have begun to change this map, for a caller that has looked at it since it knew the number.
    pub fn commits_begun(&self) -> u64 {
        self.open_map().map().commits_begun()
    }

    fn open_map(&self) -> &OpenMap<Mapped> {
        match self {
            Self::Words(tree) => tree.open_map(),
            Self::Bytes(tree) => tree.open_map(),
        }
    }

    /// The number of entries, counted first if it is not known.
    pub fn exact_len(&self) -> Result<u64> {
        match self {
            Self::Words(tree) => tree.exact_len(),
            Self::Bytes(tree) => tree.exact_len(),
        }
    }

    /// The number of entries, as far as it is known.
    pub fn len(&self) -> Result<Len> {
        match self {
            Self::Words(tree) => tree.len(),
            Self::Bytes(tree) => tree.len(),
        }
    }

    /// Compares the number of entries that a pass over all of them has found with the known number.
    pub fn check_len(&self, found: u64) -> Result<()> {
        match self {
            Self::Words(tree) => tree.check_len(found),
            Self::Bytes(tree) => tree.check_len(found),
        }
    }
}
