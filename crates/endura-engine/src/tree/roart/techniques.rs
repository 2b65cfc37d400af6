//! The choice of the paper's techniques. It is a type, so that nothing is chosen at run time. All choices have the same
//! pool format: a tree of any choice reads and changes what a tree of any other choice wrote.

/// A choice of techniques. Figure 16 of the paper adds them to a raw tree in this order: selective persistence (SMP),
/// entry compression (EC), minimally ordered split (MO), leaf compaction (LC).
pub trait Techniques: Send + Sync + 'static {
    /// Leaf compaction (section 3.2): the largest number of records in a leaf array. It is 4, 8, 16, 24, 40, 64, 96 or
    /// 128, or 0 for no leaf arrays.
    const LARGEST_ARRAY: usize;

    /// Entry compression (3.3): the byte of a child and the offset of the child become durable in one word. Without
    /// this technique, the byte becomes durable first, as in a node that stores keys and children separately. This
    /// costs one more line and one more fence for each child that a node of up to 48 gets.
    const COMPRESSED_ENTRIES: bool = true;

    /// Selective metadata persistence (3.3.1): words that the next session rebuilds (fingerprints, indexes, counts) are
    /// not flushed. Without this technique, every insert and remove flushes them.
    const SELECTIVE_PERSISTENCE: bool = true;

    /// Minimally ordered split (3.3.2): only the word that leads to the new chunks of a split waits until these are
    /// durable. Without this technique, each new node or array waits until the chunks to which it leads are durable.
    const MINIMALLY_ORDERED: bool = true;

    /// Whether a word is stored as in the paper's commit (3.4.1), by a store that bypasses the cache, and not by link
    /// and persist. Then no word is tagged. If a medium shows such a store before it is durable, a reader may act on a
    /// change that a power failure undoes. The changes of an operation that returned are durable all the same.
    const NON_TEMPORAL_COMMIT: bool = false;
}

/// All techniques, with leaf arrays of up to 128 records.
#[derive(Debug, Clone, Copy)]
pub enum Full {}

impl Techniques for Full {
    const LARGEST_ARRAY: usize = 128;
}
