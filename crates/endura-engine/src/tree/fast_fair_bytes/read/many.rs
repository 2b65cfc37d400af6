//! Batches of lookups: what they read is asked for before it is needed, so that their cache misses overlap.

use crate::Result;
use crate::media::{Mark, Media};
use crate::space::Guard;
use crate::tree::fast_fair_bytes::nodes::leaf::record_at;
use crate::tree::fast_fair_bytes::nodes::node::ByteNode;
use crate::tree::fast_fair_bytes::nodes::search::rank;
use crate::tree::fast_fair_bytes::path::trail::Trail;
use crate::tree::fast_fair_bytes::tree::Tree;
use crate::tree::key_word::KeyWord;
use crate::tree::records::fingerprint::Sought;
use crate::tree::records::record::Record;

/// The number of lookups that run at once.
const LANES: usize = 16;

impl<M: Media, const INNER: usize, const LEAF: usize, K: KeyWord> Tree<M, INNER, LEAF, K> {
    /// The values of `keys`, in their order.
    pub(crate) fn lookup_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        let mut values = Vec::with_capacity(keys.len());
        for keys in keys.chunks(LANES) {
            let guard = self.open.pin()?;
            guard.media().mark(Mark::Begin);
            let sought: Vec<Sought<'_>> = keys.iter().map(|key| Sought::new(key)).collect();
            let mut leaves = [0; LANES];
            for (key, leaf) in sought.iter().zip(&mut leaves) {
                // The leaf is on its way when the descent ends.
                *leaf = self.descend_to_leaf(&guard, &mut Trail::default(), key.bytes)?;
            }
            for (key, &leaf) in sought.iter().zip(&leaves) {
                self.ask_for_record(&guard, leaf, key)?;
            }
            for (key, &leaf) in sought.iter().zip(&leaves) {
                let found = self.get_at(&guard, &mut Trail::default(), leaf, key, &mut None)?;
                values.push(found.map(|record| record.value().to_vec()));
            }
            guard.media().mark(Mark::Acknowledged);
        }
        Ok(values)
    }

    /// Prefetches the record to which a leaf probably leads from a key.
    fn ask_for_record(&self, guard: &Guard<'_, M>, leaf: u64, key: &Sought<'_>) -> Result<()> {
        let node = ByteNode::<M, LEAF>::enter(guard.media(), leaf, 0)?;
        let word = node.word_of::<K>(key.bytes)?;
        if word < node.peek_high()
            && let Some(slot) = rank(&node, word).checked_sub(1)
        {
            Record::prefetch(guard.media(), record_at(node.peek_reference(slot)));
        }
        Ok(())
    }
}
