//! FAST & FAIR of byte strings with the paper's keys: section 3.3 keeps a pointer to a long key in a node, and follows it for
//! every comparison.
//!
//! Words without bytes come to that. What is left of a word says whether a key lies before the prefix of its node, behind
//! it, or has it. A leaf's prefix is nearly all of its upper fence then, so that the keys of a leaf have one word, and
//! the record decides each comparison: in a search of a leaf from one end to the other, as in the paper, and in a write by
//! halving. In an inner node `low` of the children decides, by halving. All else is the product's tree, so that a
//! comparison of the two is about words alone. No leaf is split in place, for its words cannot divide it.

use endura_engine::tree::fast_fair_bytes::Tree;
use endura_engine::tree::key_word::KeyWord;

/// Words without bytes, and references that are offsets and nothing else.
#[derive(Debug, Clone, Copy)]
pub enum NoWord {}

impl KeyWord for NoWord {
    const BYTES: usize = 0;
    const USES_UPPER_BITS: bool = false;
}

/// The paper's keys in nodes of the sizes that a pool has. A pool refuses a map of these as one of unknown nodes.
pub type Pointers<M> = Tree<M, 128, 128, NoWord>;
