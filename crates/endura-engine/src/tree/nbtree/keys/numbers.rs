//! Keys that are numbers.

use std::cmp::Ordering as Order;
use std::ops::Range;

use crate::Result;
use crate::media::{Media, Ordering, Region};
use crate::space::AnyKey;

use crate::tree::nbtree::keys::form::{Extent, Fences, Header, KeyForm};
use crate::tree::nbtree::keys::key::{Hash, Local, PARTITIONS, join, split};
use crate::tree::nbtree::keys::word::Word;

/// Keys that are numbers. The image of a key is its local part.
#[derive(Debug, Clone, Copy)]
pub struct NumberKeys;

/// The word of a block's header with its lowest key.
const LOW: usize = 1;

impl Extent {
    /// The lowest key of a leaf of numbers.
    #[inline(always)]
    pub(crate) fn low(self) -> Local {
        Local(self.0[0])
    }

    /// The end of the keys of a leaf of numbers, exclusive.
    #[inline(always)]
    pub(crate) fn high(self) -> Local {
        Local(self.0[1])
    }
}

impl KeyForm for NumberKeys {
    const PARTITIONS: usize = PARTITIONS;
    const HEADER: usize = 1;
    const TIES: bool = false;
    const FIRST_COMPARED: usize = 0;

    type Sought<'k> = Local;
    type NewKey<'k> = u64;
    type Fence = Local;
    type Entry = (u64, u64);
    type Shared = ();

    fn first() -> Local {
        Local(0)
    }

    fn end() -> Local {
        Local::END
    }

    fn at(fence: &Local) -> Local {
        *fence
    }

    fn below(fence: &Local) -> Local {
        Local(fence.0 - 1)
    }

    #[inline(always)]
    fn new_key<'k>(partition: usize, key: Self::Sought<'k>) -> Self::NewKey<'k> {
        join(partition, key)
    }

    #[inline(always)]
    fn any_key<'k>(partition: usize, key: Self::Sought<'k>) -> AnyKey<'k> {
        AnyKey::Number(join(partition, key))
    }

    #[inline(always)]
    fn hash(key: Local) -> Hash {
        Hash::of(key.0)
    }

    #[inline(always)]
    fn hash_of_entry(image: Local, _: impl FnOnce() -> u64) -> Hash {
        Hash::of(image.0)
    }

    #[inline(always)]
    fn image(_: impl FnOnce() -> Extent, key: Local) -> Local {
        key
    }

    #[inline(always)]
    fn live_word(word: Word, key: Local) -> Option<Word> {
        let live = Word::live(key);
        (word.thawed() == live).then_some(live)
    }

    #[inline(always)]
    fn is_key_of<M: Media>(_: &M, _: impl FnOnce() -> u64, _: Local) -> Result<bool> {
        Ok(true)
    }

    fn key_of<M: Media>(_: &M, entry: (Local, u64), _: &mut Vec<u8>) -> Result<Local> {
        Ok(entry.0)
    }

    fn record_at(value: u64) -> u64 {
        value
    }

    #[inline(always)]
    fn images(extent: Extent) -> Range<Local> {
        extent.low()..extent.high()
    }

    fn compare<M: Media>(_: &M, _: [u64; 2]) -> Result<Order> {
        Ok(Order::Equal)
    }

    fn is_ahead<M: Media, const UP: bool>(
        _: &M,
        _: Extent,
        (image, _): (Local, impl FnOnce() -> u64),
        key: Local,
    ) -> Result<bool> {
        Ok(if UP { image >= key } else { image <= key })
    }

    fn entry_of(partition: usize, (image, value): (Local, u64)) -> (u64, u64) {
        (join(partition, image), value)
    }

    fn extent(low: &Local, high: &Local) -> Extent {
        Extent([low.0, high.0])
    }

    fn extent_before(own: Extent, next: Option<Extent>) -> Extent {
        Extent([own.0[0], next.map_or(Local::END.0, |next| next.0[0])])
    }

    fn low<M: Media>(_: &M, extent: Extent, _: u64) -> Result<Local> {
        Ok(extent.low())
    }

    fn high<M: Media>(_: &M, extent: Extent, _: u64) -> Result<Local> {
        Ok(extent.high())
    }

    fn fences<M: Media>(media: &M, block: u64) -> Result<Fences<Local>> {
        // Acquire: pairs with the exchange that linked the block.
        let low = Region::new(media, block, LOW + 1)?.load(LOW, Ordering::Acquire);
        let (partition, low) = split(low);
        Ok(Fences { partition, low, high: None })
    }

    fn fence_between<M: Media>(_: &M, _: (Local, u64), at: (Local, u64)) -> Result<Local> {
        Ok(at.0)
    }

    fn image_in<M: Media>(_: &M, entry: (Local, u64), _: Extent) -> Result<Local> {
        Ok(entry.0)
    }

    fn beside_bytes(_: &Local, _: &Local) -> Option<u64> {
        None
    }

    fn header<M: Media>(
        _: &M,
        partition: usize,
        (low, _): (&Local, &Local),
        _: u64,
    ) -> Result<Header> {
        let mut header = Header::default();
        header[LOW] = join(partition, *low);
        Ok(header)
    }

    fn beside<M: Media>(_: &M, _: u64) -> Result<Option<(u64, u64)>> {
        Ok(None)
    }

    fn share<M: Media>(_: &M, (): &(), _: impl FnOnce() -> [u64; 2]) {}

    fn image_of_child<M: Media>(_: &M, (): &(), low: Local, _: impl FnOnce() -> u64) -> Local {
        low
    }

    #[inline(always)]
    fn image_in_body((): &(), key: Local) -> Local {
        key
    }

    fn begins_by<M: Media>(_: &M, _: u64, _: Local) -> bool {
        true
    }

    fn low_of_child<M: Media>(_: &M, image: Local, _: impl FnOnce() -> u64) -> Result<Local> {
        Ok(image)
    }
}
