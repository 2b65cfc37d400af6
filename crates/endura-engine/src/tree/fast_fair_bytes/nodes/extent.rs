//! Where the keys of a node end, and which node has those behind them.

use crate::Result;
use crate::media::Media;
use crate::tree::fast_fair_bytes::nodes::node::{ByteNode, Link};
use crate::tree::key_word::KeyWord;

/// The end of a node at one moment. `high` and the link are words of one line that a split changes one by one: a reader
/// checks both again ([`ByteNode::is_still_to`]), for the version does not tell the steps of one split apart (V10).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    /// The upper fence, as a word of the node.
    pub(crate) high: u64,
    /// The link, as it was read.
    pub(crate) link: Link,
    /// The node that begins where this one ends; 0 if there is none.
    pub(crate) right: u64,
}

impl<M: Media, const W: usize> ByteNode<'_, M, W> {
    /// The end of a node that was not replaced.
    #[inline]
    pub(crate) fn extent<K: KeyWord>(&self, link: Link) -> Result<Extent> {
        let high = self.high();
        let right = match link {
            Link::Splitting(new) if !self.is_split_at::<K>(new)? => {
                Self::enter(self.media(), new, self.level())?.link()?.at()
            }
            link => link.at(),
        };
        Ok(Extent { high, link, right })
    }

    /// Whether the node ends where the node at `new` begins.
    pub(crate) fn is_split_at<K: KeyWord>(&self, new: u64) -> Result<bool> {
        let low = Self::enter(self.media(), new, self.level())?.low_key()?;
        Ok(self.word_of::<K>(&low)? == self.high())
    }

    /// Whether the node ends as it did.
    #[inline(always)]
    pub(crate) fn is_still_to(&self, extent: Extent) -> bool {
        self.high() == extent.high && self.link().is_ok_and(|link| link == extent.link)
    }
}
