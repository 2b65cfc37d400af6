//! The choice of the paper's techniques. It is a type, so that nothing is chosen at run time. All choices have one pool
//! format: any tree reads and changes what any other wrote.

/// A choice of techniques. Figure 16 of the paper adds them to a raw tree in this order: selective persistence (SMP),
/// entry compression (EC), minimally ordered split (MO), leaf compaction (LC).
pub trait Techniques: Send + Sync + 'static {
    /// Leaf compaction (section 3.2): the most records in a leaf array: 4, 8, 16, 24, 40, 64, 96 or 128; 0 = none.
    const LARGEST_ARRAY: usize;

    /// Entry compression (3.3): the byte of a child and the offset of the child become durable in one word. Without it
    /// the byte becomes durable first, as in a node that stores keys and children separately: one more line and fence
    /// for each child that a node of up to 48 gets.
    const COMPRESSED_ENTRIES: bool = true;

    /// Selective metadata persistence (3.3.1): words that the next session rebuilds (fingerprints, indexes, counts) are
    /// not flushed. Without it they are flushed, with every insert and remove.
    const SELECTIVE_PERSISTENCE: bool = true;

    /// Minimally ordered split (3.3.2): only the word that leads to the new chunks of a split waits for them. Without
    /// it each new node or array waits until the chunks to which it leads are durable.
    const MINIMALLY_ORDERED: bool = true;

    /// The paper's commit (3.4.1), by a store that bypasses the cache, in place of link and persist: no word is tagged.
    /// If a medium shows such a store before it is durable, a reader may act on a change that a power failure undoes.
    /// The changes of an operation that returned are durable all the same.
    const NON_TEMPORAL_COMMIT: bool = false;
}

/// All techniques, with leaf arrays of up to 128 records.
#[derive(Debug, Clone, Copy)]
pub enum Full {}

impl Techniques for Full {
    const LARGEST_ARRAY: usize = 128;
}
