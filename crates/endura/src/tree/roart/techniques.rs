//! Which of the paper's techniques a tree uses: chosen by type, so that a technique which is not
//! switched costs no instruction. All choices leave pools of one format: any tree reads and changes
//! what any other wrote.

/// A choice of techniques. Figure 16 of the paper adds them to a raw tree in the order selective persistence (SMP),
/// entry compression (EC), minimally ordered split (MO), leaf compaction (LC).
pub trait Techniques: Send + Sync + 'static {
    /// Leaf compaction (section 3.2): most records in a leaf array: 4, 8, 16, 24, 40, 64, 96 or 128; 0 = none.
    const LARGEST_ARRAY: usize;

    /// Entry compression (3.3): the byte of a child and the offset that it leads to become durable in one
    /// word. Without it the byte becomes durable first, as where a node keeps keys and children apart:
    /// a line and a fence more for each child that a node of up to 48 gets.
    const COMPRESSED_ENTRIES: bool = true;

    /// Selective metadata persistence (3.3.1): what the next session makes anew (fingerprints, indexes, counts)
    /// is not flushed. Without it, it is, with every insert and remove.
    const SELECTIVE_PERSISTENCE: bool = true;

    /// Minimally ordered split (3.3.2): nothing that a split writes waits for anything but the word that leads
    /// to it. Without it each new node or array waits until what it leads to is durable.
    const MINIMALLY_ORDERED: bool = true;

    /// The paper's commit (3.4.1), by a store that bypasses the cache, in place of link and persist: nothing is
    /// tagged. Where a medium shows such a store before it is durable, a reader may act on what a power
    /// failure takes back; what an operation that returned has done is durable all the same.
    const NON_TEMPORAL_COMMIT: bool = false;
}

/// All of them, with leaf arrays of up to 128 records.
#[derive(Debug, Clone, Copy)]
pub enum Full {}

impl Techniques for Full {
    const LARGEST_ARRAY: usize = 128;
}
