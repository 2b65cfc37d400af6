//! ROART with other choices of techniques than the product's. All leave pools of one format: any tree reads
//! and changes what any other wrote.

use endura_engine::tree::roart::Techniques;

/// Leaf arrays of up to 4 records: every corner of the algorithm is reached with a few keys.
#[derive(Debug, Clone, Copy)]
pub enum Tiny {}

impl Techniques for Tiny {
    const LARGEST_ARRAY: usize = 4;
}

/// No leaf arrays: a plain radix tree with path compression.
#[derive(Debug, Clone, Copy)]
pub enum WithoutArrays {}

impl Techniques for WithoutArrays {
    const LARGEST_ARRAY: usize = 0;
}

/// All but entry compression.
#[derive(Debug, Clone, Copy)]
pub enum WithoutCompression {}

impl Techniques for WithoutCompression {
    const LARGEST_ARRAY: usize = 128;
    const COMPRESSED_ENTRIES: bool = false;
}

/// All but selective metadata persistence.
#[derive(Debug, Clone, Copy)]
pub enum WithoutSelection {}

impl Techniques for WithoutSelection {
    const LARGEST_ARRAY: usize = 128;
    const SELECTIVE_PERSISTENCE: bool = false;
}

/// All but the minimally ordered split.
#[derive(Debug, Clone, Copy)]
pub enum FullyOrdered {}

impl Techniques for FullyOrdered {
    const LARGEST_ARRAY: usize = 128;
    const MINIMALLY_ORDERED: bool = false;
}

/// All, with the paper's non-temporal commit.
#[derive(Debug, Clone, Copy)]
pub enum NonTemporal {}

impl Techniques for NonTemporal {
    const LARGEST_ARRAY: usize = 128;
    const NON_TEMPORAL_COMMIT: bool = true;
}
