//! How long the texts of a leaf are: for a commit that may divide it.

use crate::Result;
use crate::media::Media;
use crate::space::Guard;
use crate::tree::fast_fair_bytes::nodes::leaf::record_at;
use crate::tree::fast_fair_bytes::nodes::node::ByteNode;
use crate::tree::fast_fair_bytes::nodes::search::used;
use crate::tree::fast_fair_bytes::path::aim::Aim;
use crate::tree::fast_fair_bytes::path::trail::Trail;
use crate::tree::fast_fair_bytes::tree::Tree;
use crate::tree::key_word::KeyWord;
use crate::tree::records::leaf_texts::LeafTexts;
use crate::tree::records::record::Record;

impl<M: Media, const INNER: usize, const LEAF: usize, K: KeyWord> Tree<M, INNER, LEAF, K> {
    /// The leaf that covers a key. Its prefix counts as a fence: new leaves may have as long a one.
    pub(crate) fn leaf_texts(&self, guard: &Guard<'_, M>, key: &[u8]) -> Result<LeafTexts> {
        let mut trail = Trail::default();
        let at = self.descend_to_leaf(guard, &mut trail, key)?;
        let seen = self.read_leaf(guard, &mut trail, at, Aim::At(key), |node, _, _| used(node))?;
        let mut fence = seen.node.low_len().max(seen.node.prefix_len());
        if seen.right != 0 {
            let right = ByteNode::<M, LEAF>::enter(guard.media(), seen.right, 0)?;
            fence = fence.max(right.low_len());
        }
        let free = ByteNode::<M, LEAF>::CAP.saturating_sub(seen.found);
        Ok(LeafTexts { at: seen.node.at(), free, fence })
    }

    /// The number of bytes of the longest key in the leaf at `at`. Records that cannot be read are left out.
    pub(crate) fn longest_key(&self, guard: &Guard<'_, M>, at: u64) -> Result<usize> {
        let node = ByteNode::<M, LEAF>::enter(guard.media(), at, 0)?;
        let limit = node.limit();
        // The word is loaded before the reference, as in a search beside a writer: behind the used slots are references
        // to records that may have been freed.
        let references = (0..ByteNode::<M, LEAF>::CAP)
            .filter(|&slot| node.word(slot) < limit)
            .map(|slot| record_at(node.reference(slot)))
            .filter(|&at| at != 0);
        let lengths = references.filter_map(|at| Record::enter(guard.media(), at).ok());
        Ok(lengths.map(|record| record.key_len()).max().unwrap_or(0))
    }
}
