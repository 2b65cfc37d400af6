//! An index in a pool, in either form.

use super::bytes::ByteTree;
use super::words::WordTree;
use crate::Result;
use crate::media::{Mapped, Media};
use crate::pool::Guard;
use crate::tree::Len;

/// The index of an open map. The form is that of the index and not of the map's types: a [`Roart`](crate::Kind::Roart)
/// keeps also numbers as byte strings.
pub(crate) enum Tree<M: Media> {
    /// Keys and values are words.
    Words(WordTree<M>),
    /// Keys and values are byte strings.
    Bytes(ByteTree<M>),
}

impl Tree<Mapped> {
    /// Starts an operation that reads: for work that has to be inside of one.
    pub(crate) fn pin(&self) -> Result<Guard<'_, Mapped>> {
        match self {
            Self::Words(tree) => tree.pin(),
            Self::Bytes(tree) => tree.pin(),
        }
    }

    /// How many entries there are, counted first where that is not known.
    pub(crate) fn exact_len(&self) -> Result<u64> {
        match self {
            Self::Words(tree) => tree.exact_len(),
            Self::Bytes(tree) => tree.exact_len(),
        }
    }

    pub(crate) fn len(&self) -> Result<Len> {
        match self {
            Self::Words(tree) => tree.len(),
            Self::Bytes(tree) => tree.len(),
        }
    }
}
