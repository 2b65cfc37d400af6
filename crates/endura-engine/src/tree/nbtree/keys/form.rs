//! What a tree asks of its keys. Everything else in an NBTree is written once, for numbers and for byte strings.
//!
//! The word of a slot has the *image* of a key: a number that sorts as the keys of the block do. Numbers are their own
//! images. Byte strings can have equal images; then their records decide ([`TIES`](KeyForm::TIES)). A tree of numbers has
//! nothing of that in its code.
//!
//! A *fence* is the lowest key of a leaf, or the lowest one behind it.

use std::cmp::Ordering as Order;
use std::fmt::Debug;
use std::ops::Range;

use crate::Result;
use crate::media::Media;
use crate::space::{AnyKey, NewKey};

use crate::tree::nbtree::keys::key::{Hash, Local};
use crate::tree::nbtree::keys::word::Word;

/// What a leaf keeps in DRAM of its two fences: two words, which only its [`KeyForm`] reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Extent(pub(crate) [u64; 2]);

/// The fences of a block, as its header tells them.
pub(crate) struct Fences<F> {
    /// The partition of the block.
    pub(crate) partition: usize,
    pub(crate) low: F,
    /// The end of the keys, exclusive; `None` if only the following block tells it.
    pub(crate) high: Option<F>,
}

/// The first line of a block, of which the first word is not of the header.
pub(crate) type Header = [u64; 8];

/// Numbers or byte strings.
pub(crate) trait KeyForm: Debug + Send + Sync + 'static {
    /// The number of chains of blocks.
    const PARTITIONS: usize;
    /// The size of a block's header, in entries: 1, or a whole line of 4.
    const HEADER: usize;
    /// Whether different keys can have the same image.
    const TIES: bool;
    /// The first child of a body that a search compares with its key.
    const FIRST_COMPARED: usize;

    /// A key that an operation searches for, or the key just below another one.
    type Sought<'k>: Copy + Default;
    /// A key that an insert adds, for a pop.
    type NewKey<'k>: NewKey;
    /// A fence.
    type Fence: Clone + Ord + Debug + Send + Sync;
    /// An entry at an end of a map.
    type Entry: Copy;
    /// What the children of a body have in common.
    type Shared: Default + Debug + Send + Sync;

    /// The first fence of a partition, and the one behind its last key.
    fn first() -> Self::Fence;
    fn end() -> Self::Fence;

    /// A search for the leaf that begins at a fence, and for the one before it.
    fn at(fence: &Self::Fence) -> Self::Sought<'_>;
    fn below(fence: &Self::Fence) -> Self::Sought<'_>;

    fn new_key<'k>(partition: usize, key: Self::Sought<'k>) -> Self::NewKey<'k>;

    /// The key, as several changes at once know it.
    fn any_key<'k>(partition: usize, key: Self::Sought<'k>) -> AnyKey<'k>;

    fn hash(key: Self::Sought<'_>) -> Hash;

    /// The hash of the key of an entry.
    fn hash_of_entry(image: Local, value: impl FnOnce() -> u64) -> Hash;

    /// The image of a key in a leaf of this extent.
    fn image(extent: impl FnOnce() -> Extent, key: Self::Sought<'_>) -> Local;

    /// The word that an entry of `key` has if it is not frozen, if this word of its slot may be that.
    fn live_word(word: Word, key: Self::Sought<'_>) -> Option<Word>;

    /// Whether the key of a slot with this value is `key`, given that [`live_word`](Self::live_word) says that it may be, or
    /// that both have the same image. The value must be loaded after the word: so the record to which it leads is not
    /// reused before the pin ends.
    fn is_key_of<M: Media>(
        media: &M,
        value: impl FnOnce() -> u64,
        key: Self::Sought<'_>,
    ) -> Result<bool>;

    /// The key of a slot. The buffer is for its bytes.
    fn key_of<'b, M: Media>(
        media: &M,
        entry: (Local, u64),
        buffer: &'b mut Vec<u8>,
    ) -> Result<Self::Sought<'b>>;

    /// The offset of the record to which the value of an entry leads, if values are records.
    fn record_at(value: u64) -> u64;

    /// The images of the keys of a leaf.
    fn images(extent: Extent) -> Range<Local>;

    /// The order of the keys of two entries with the same image, from their values.
    fn compare<M: Media>(media: &M, values: [u64; 2]) -> Result<Order>;

    /// Whether an entry of a leaf of this extent is at `key` or behind it; with `UP` = false, at it or before it.
    fn is_ahead<M: Media, const UP: bool>(
        media: &M,
        extent: Extent,
        entry: (Local, impl FnOnce() -> u64),
        key: Self::Sought<'_>,
    ) -> Result<bool>;

    /// An entry at an end of a map, for its user.
    fn entry_of(partition: usize, entry: (Local, u64)) -> Self::Entry;

    /// The extent of a leaf between two fences.
    fn extent(low: &Self::Fence, high: &Self::Fence) -> Extent;

    /// The extent of a leaf that a restart has found, and that of the leaf behind it: of numbers, the latter tells the
    /// upper fence of the former.
    fn extent_before(own: Extent, next: Option<Extent>) -> Extent;

    /// The lower fence of the leaf with this extent and with the block at `block`.
    fn low<M: Media>(media: &M, extent: Extent, block: u64) -> Result<Self::Fence>;

    /// The upper fence.
    fn high<M: Media>(media: &M, extent: Extent, block: u64) -> Result<Self::Fence>;

    /// The fences of the block at this offset, from its header.
    fn fences<M: Media>(media: &M, block: u64) -> Result<Fences<Self::Fence>>;

    /// A fence between two entries that follow each other.
    fn fence_between<M: Media>(
        media: &M,
        before: (Local, u64),
        at: (Local, u64),
    ) -> Result<Self::Fence>;

    /// The image that an entry gets in a leaf with this extent.
    fn image_in<M: Media>(media: &M, entry: (Local, u64), extent: Extent) -> Result<Local>;

    /// The bytes of the chunk that a block with these fences needs beside itself, if it needs one.
    fn beside_bytes(low: &Self::Fence, high: &Self::Fence) -> Option<u64>;

    /// The header of a block with these fences, without its first word. Writes the chunk `beside` it, and flushes it.
    fn header<M: Media>(
        media: &M,
        partition: usize,
        fences: (&Self::Fence, &Self::Fence),
        beside: u64,
    ) -> Result<Header>;

    /// The offset and the bytes of the chunk beside a block, if it has one.
    fn beside<M: Media>(media: &M, block: u64) -> Result<Option<(u64, u64)>>;

    /// Stores what the children of a body have in common. `blocks` are the first blocks below the first child that a search
    /// compares, and below the last child.
    fn share<M: Media>(media: &M, shared: &Self::Shared, blocks: impl FnOnce() -> [u64; 2]);

    /// The image of a child in a body. `low` is that of a child of numbers, `block` the first block below the child.
    fn image_of_child<M: Media>(
        media: &M,
        shared: &Self::Shared,
        low: Local,
        block: impl FnOnce() -> u64,
    ) -> Local;

    /// The image of a key in a body.
    fn image_in_body(shared: &Self::Shared, key: Self::Sought<'_>) -> Local;

    /// Whether the block at this offset begins at or below `key`.
    fn begins_by<M: Media>(media: &M, block: u64, key: Self::Sought<'_>) -> bool;

    /// The lower fence of a child with this image in its body; `block` is the first block below the child.
    fn low_of_child<M: Media>(
        media: &M,
        image: Local,
        block: impl FnOnce() -> u64,
    ) -> Result<Self::Fence>;
}
