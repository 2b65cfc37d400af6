//! The words that lead to the record of a write.

use crate::tree::records::fingerprint::Sought;
use crate::tree::roart::nodes::word::{Link, Slot};

/// A record that is written and flushed, but not linked.
pub(crate) struct NewRecord {
    pub(crate) at: u64,
}

impl NewRecord {
    pub(crate) fn slot(&self, key: &Sought<'_>) -> Slot {
        Slot::new(self.at, key.fingerprint)
    }

    /// The word for the record as the child of a node that branches on byte `depth`, or as the key that ends there.
    pub(crate) fn link(&self, key: &Sought<'_>, depth: usize) -> Link {
        Link::record(self.at, key.fingerprint, key.bytes.get(depth).copied().unwrap_or(0))
    }
}
