//! What a search aims at: a key, or what lies just below a key.

use std::cmp::Ordering as Order;

use crate::Result;
use crate::media::Media;
use crate::tree::fast_fair_bytes::nodes::extent::Extent;
use crate::tree::fast_fair_bytes::nodes::node::ByteNode;
use crate::tree::key_word::KeyWord;

/// The aim of a search.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Aim<'k> {
    /// The node that covers this key.
    At(&'k [u8]),
    /// The last node that begins below this key.
    Below(&'k [u8]),
    /// The last node.
    End,
}

impl<'k> Aim<'k> {
    /// Whether a node that begins at `low`, compared with the key like this, is not beyond the aim.
    fn admits(self, low: Order) -> bool {
        match self {
            Self::At(_) => low != Order::Greater,
            Self::Below(_) => low == Order::Less,
            Self::End => true,
        }
    }

    pub(crate) fn key(self) -> Option<&'k [u8]> {
        match self {
            Self::At(key) | Self::Below(key) => Some(key),
            Self::End => None,
        }
    }

    /// Whether the keys aimed at do not lie left of a node.
    pub(crate) fn reaches<M: Media, const W: usize>(
        self,
        node: &ByteNode<'_, M, W>,
    ) -> Result<bool> {
        self.reaches_from(node, 0)
    }

    /// Does what [`reaches`](Self::reaches) does, if the word of the aim is known.
    #[inline]
    pub(crate) fn reaches_with<M: Media, const W: usize>(
        self,
        node: &ByteNode<'_, M, W>,
        word: u64,
    ) -> Result<bool> {
        self.reaches_from(node, node.shared_with_low(word))
    }

    /// Does what [`reaches`](Self::reaches) does. The first `from` bytes of the key are known to be those of the node's `low`.
    #[inline]
    pub(crate) fn reaches_from<M: Media, const W: usize>(
        self,
        node: &ByteNode<'_, M, W>,
        from: usize,
    ) -> Result<bool> {
        match self.key() {
            Some(key) => node.compare_low(key, from).map(|low| self.admits(low)),
            None => Ok(true),
        }
    }

    /// The word of the aim in a node. Slots with a larger word lie beyond the aim; of those with this word, the children
    /// decide.
    pub(crate) fn word<K: KeyWord, M: Media, const W: usize>(
        self,
        node: &ByteNode<'_, M, W>,
    ) -> Result<u64> {
        match self.key() {
            Some(key) => node.word_of::<K>(key),
            None => Ok(u64::MAX - 1),
        }
    }

    /// Whether a search has to move right from a node that ends like this, and whose word of the aim is `word`.
    pub(crate) fn is_beyond<M: Media, const W: usize>(
        self,
        node: &ByteNode<'_, M, W>,
        word: u64,
        extent: Extent,
    ) -> Result<bool> {
        match (word.cmp(&extent.high), extent.right) {
            (Order::Less, _) => Ok(false),
            // Only damage leaves an upper fence without a right sibling: the move right fails there.
            (Order::Greater, _) | (_, 0) => Ok(true),
            // The fence of an inner node is not always told apart from other keys by its word.
            (Order::Equal, right) => {
                self.reaches(&ByteNode::<M, W>::enter(node.media(), right, node.level())?)
            }
        }
    }
}
