//! Keys that are byte strings, with values of any length: the value of a slot is a *reference* to a
//! [record](crate::tree::records::record), its offset with a fingerprint of the key in the bits above it.
//!
//! The image of a key in a block is its [word](crate::tree::key_word) behind the prefix of the block. Fences cut the prefix,
//! so each key of the block begins with it, and nothing checks that. The prefix of a body is what its children, except the
//! first one, share at the beginning; a key without it has the smallest image, or the largest one.

use std::cmp::Ordering as Order;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

use crate::media::Media;
use crate::space::{AnyKey, NewKey, Pops};
use crate::sync::{AtomicU64, Ordering};
use crate::tree::key_word::{
    ABOVE, KeyWord, Seven, common, eight_bytes, shortest_between, word, word_outside,
};
use crate::tree::records::fingerprint::Fingerprint;
use crate::tree::records::record::Record;
use crate::{Error, Result};

use crate::tree::nbtree::keys::fences::{self, ByteFence, Edges, prefix_between};
use crate::tree::nbtree::keys::form::{Extent, Fences, Header, KeyForm};
use crate::tree::nbtree::keys::key::{Hash, Local};
use crate::tree::nbtree::keys::word::Word;

/// Keys that are byte strings.
pub struct ByteKeys<K = Seven>(PhantomData<K>);

impl<K> fmt::Debug for ByteKeys<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ByteKeys")
    }
}

/// What a search is for.
#[derive(Debug, Clone, Copy, Default)]
enum Aim {
    /// The key.
    #[default]
    At,
    /// What comes just before the key.
    Below,
    /// What comes last.
    End,
}

/// A key that an operation searches for.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ByteSought<'k> {
    pub(crate) bytes: &'k [u8],
    /// Zero-extended to a reference without an offset.
    fingerprint: u64,
    aim: Aim,
}

/// The bits of a reference that are the offset of a record.
const OFFSET: u64 = (1 << 48) - 1;

/// The offset of the record to which a reference leads.
#[inline(always)]
pub(crate) fn record_at(reference: u64) -> u64 {
    reference & OFFSET
}

impl<'k> ByteSought<'k> {
    /// A search for a key, with its fingerprint, if references have fingerprints.
    #[inline(always)]
    pub(crate) fn new<K: KeyWord>(bytes: &'k [u8]) -> Self {
        let of_key = if K::USES_UPPER_BITS { Fingerprint::of(bytes).0 } else { 0 };
        Self { bytes, fingerprint: u64::from(of_key) << 48, aim: Aim::At }
    }

    /// A search for the leaf that covers the key, or ends before it, or for the last one.
    pub(crate) fn leaf_at(bytes: &'k [u8]) -> Self {
        Self { bytes, fingerprint: 0, aim: Aim::At }
    }

    pub(crate) fn last() -> Self {
        Self { bytes: &[], fingerprint: 0, aim: Aim::End }
    }

    /// The reference from this key to the record at `at`.
    #[inline(always)]
    pub(crate) fn reference_to(self, at: u64) -> u64 {
        self.fingerprint | at
    }

    /// Whether this reference is to the record of a key with the same fingerprint.
    #[inline(always)]
    pub(crate) fn agrees_with(self, reference: u64) -> bool {
        reference & !OFFSET == self.fingerprint
    }
}

impl NewKey for ByteSought<'_> {
    fn goes_before(&self, pops: &Pops, smallest: bool) -> bool {
        self.bytes.goes_before(pops, smallest)
    }
}

/// Words of a body's prefix.
const PREFIX_WORDS: usize = 8;

/// What the children of a body share at the beginning, except the first one, but at most 64 bytes of it.
#[derive(Debug, Default)]
pub(crate) struct Prefix {
    len: AtomicU64,
    /// As numbers that sort as the bytes do, with zeros behind the last byte.
    words: [AtomicU64; PREFIX_WORDS],
}

impl Prefix {
    /// Sets the prefix of a body that no other thread uses; all accesses are Relaxed, as the others to a body.
    fn set(&self, prefix: &[u8]) {
        let len = prefix.len().min(8 * PREFIX_WORDS);
        self.len.store(len as u64, Ordering::Relaxed);
        for (i, word) in self.words.iter().enumerate() {
            word.store(eight_bytes(&prefix[..len], 8 * i), Ordering::Relaxed);
        }
    }

    #[inline(always)]
    fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed) as usize
    }

    /// The order of the first bytes of a key, as many as the prefix has, and the prefix.
    #[inline(always)]
    fn compare(&self, key: &[u8]) -> Order {
        let len = self.len();
        for (i, word) in self.words.iter().enumerate().take(len.div_ceil(8)) {
            let unused = 8 * (8 * (i + 1)).saturating_sub(len) as u32;
            let [its, ours] = [word.load(Ordering::Relaxed), eight_bytes(key, 8 * i)]
                .map(|bytes| bytes >> unused);
            if its != ours {
                return ours.cmp(&its);
            }
        }
        // A shorter key can agree in all of them, for zeros count in place of what it does not have.
        if key.len() < len { Order::Less } else { Order::Equal }
    }
}

/// The image of a key, or of a child, that has `left` bytes behind the prefix, of which `eight` are the first.
#[inline(always)]
fn image<K: KeyWord>(eight: u64, left: usize) -> Local {
    Local(word::<K>(eight, left))
}

impl<K: KeyWord> KeyForm for ByteKeys<K> {
    const PARTITIONS: usize = 1;
    const HEADER: usize = 4;
    const TIES: bool = true;
    const FIRST_COMPARED: usize = 1;

    type Sought<'k> = ByteSought<'k>;
    type NewKey<'k> = ByteSought<'k>;
    type Fence = ByteFence;
    /// The offset of a record.
    type Entry = u64;
    type Shared = Prefix;

    fn first() -> ByteFence {
        ByteFence::Key(Vec::new())
    }

    fn end() -> ByteFence {
        ByteFence::End
    }

    fn at(fence: &ByteFence) -> ByteSought<'_> {
        match fence {
            ByteFence::Key(key) => ByteSought::leaf_at(key),
            ByteFence::End => ByteSought::last(),
        }
    }

    fn below(fence: &ByteFence) -> ByteSought<'_> {
        match fence {
            ByteFence::Key(key) => ByteSought { aim: Aim::Below, ..ByteSought::leaf_at(key) },
            ByteFence::End => ByteSought::last(),
        }
    }

    #[inline(always)]
    fn new_key<'k>(_: usize, key: Self::Sought<'k>) -> Self::NewKey<'k> {
        key
    }

    #[inline(always)]
    fn any_key<'k>(_: usize, key: Self::Sought<'k>) -> AnyKey<'k> {
        AnyKey::Bytes(key.bytes)
    }

    #[inline(always)]
    fn hash(key: ByteSought<'_>) -> Hash {
        Hash::of(key.fingerprint >> 48)
    }

    #[inline(always)]
    fn hash_of_entry(_: Local, reference: impl FnOnce() -> u64) -> Hash {
        Hash::of(reference() >> 48)
    }

    #[inline(always)]
    fn image(extent: impl FnOnce() -> Extent, key: ByteSought<'_>) -> Local {
        let prefix = extent().0[0] as usize;
        image::<K>(eight_bytes(key.bytes, prefix), key.bytes.len().saturating_sub(prefix))
    }

    #[inline(always)]
    fn live_word(word: Word, _: ByteSought<'_>) -> Option<Word> {
        word.live_key().map(Word::live)
    }

    #[inline(always)]
    fn is_key_of<M: Media>(
        media: &M,
        reference: impl FnOnce() -> u64,
        key: ByteSought<'_>,
    ) -> Result<bool> {
        let reference = reference();
        if !key.agrees_with(reference) {
            return Ok(false);
        }
        Ok(Record::value_for(media, record_at(reference), key.bytes)?.is_some())
    }

    fn key_of<'b, M: Media>(
        media: &M,
        (_, reference): (Local, u64),
        buffer: &'b mut Vec<u8>,
    ) -> Result<ByteSought<'b>> {
        Record::enter(media, record_at(reference))?.copy_key(buffer);
        Ok(ByteSought::new::<K>(buffer))
    }

    fn record_at(reference: u64) -> u64 {
        record_at(reference)
    }

    fn images(_: Extent) -> Range<Local> {
        Local(1)..Local(ABOVE)
    }

    fn compare<M: Media>(media: &M, references: [u64; 2]) -> Result<Order> {
        let [a, b] = references.map(|reference| Record::enter(media, record_at(reference)));
        Ok(a?.compare_with(&b?))
    }

    fn is_ahead<M: Media, const UP: bool>(
        media: &M,
        extent: Extent,
        (image, reference): (Local, impl FnOnce() -> u64),
        key: ByteSought<'_>,
    ) -> Result<bool> {
        let mut order = image.cmp(&Self::image(|| extent, key));
        if order.is_eq() {
            order = Record::enter(media, record_at(reference()))?.compare(key.bytes, 0);
        }
        Ok(match key.aim {
            Aim::At if UP => order.is_ge(),
            Aim::At => order.is_le(),
            Aim::Below => order.is_lt(),
            Aim::End => !UP,
        })
    }

    fn entry_of(_: usize, (_, reference): (Local, u64)) -> u64 {
        record_at(reference)
    }

    fn extent(low: &ByteFence, high: &ByteFence) -> Extent {
        Extent([prefix_between(low, high) as u64, 0])
    }

    fn extent_before(own: Extent, _: Option<Extent>) -> Extent {
        own
    }

    fn low<M: Media>(media: &M, _: Extent, block: u64) -> Result<ByteFence> {
        Ok(Edges::of(media, block)?.both().0)
    }

    fn high<M: Media>(media: &M, _: Extent, block: u64) -> Result<ByteFence> {
        Ok(Edges::of(media, block)?.both().1)
    }

    fn fences<M: Media>(media: &M, block: u64) -> Result<Fences<ByteFence>> {
        let (low, high) = Edges::of(media, block)?.both();
        Ok(Fences { partition: 0, low, high: Some(high) })
    }

    fn fence_between<M: Media>(
        media: &M,
        before: (Local, u64),
        at: (Local, u64),
    ) -> Result<ByteFence> {
        let [before, at] = [before, at].map(|(_, reference)| record_at(reference));
        let [low, key] = [before, at].map(|at| Ok(Record::enter(media, at)?.key().to_vec()));
        let (low, key): (_, Vec<u8>) = (low?, key?);
        if low >= key {
            return Err(Error::Corrupt { offset: at, what: "keys that are not in order" });
        }
        Ok(ByteFence::Key(shortest_between(&low, &key).to_vec()))
    }

    fn image_in<M: Media>(
        media: &M,
        (_, reference): (Local, u64),
        extent: Extent,
    ) -> Result<Local> {
        let prefix = extent.0[0] as usize;
        let (eight, len) = Record::sort_key(media, record_at(reference), prefix)?;
        Ok(image::<K>(eight, len.saturating_sub(prefix)))
    }

    fn beside_bytes(low: &ByteFence, high: &ByteFence) -> Option<u64> {
        fences::beside_bytes(low, high)
    }

    fn header<M: Media>(
        media: &M,
        _: usize,
        fences: (&ByteFence, &ByteFence),
        beside: u64,
    ) -> Result<Header> {
        fences::header(media, fences, beside)
    }

    fn beside<M: Media>(media: &M, block: u64) -> Result<Option<(u64, u64)>> {
        Ok(Edges::of(media, block)?.beside().map(|record| (record.at(), record.bytes())))
    }

    fn share<M: Media>(media: &M, prefix: &Prefix, blocks: impl FnOnce() -> [u64; 2]) {
        let low = |block| Edges::of(media, block).map(|edges| edges.both().0);
        match blocks().map(low) {
            [Ok(ByteFence::Key(first)), Ok(ByteFence::Key(last))] => {
                prefix.set(&last[..common(&first, &last)]);
            }
            // A header that cannot be read: any prefix will do, and the change that needs the header reports it.
            _ => prefix.set(&[]),
        }
    }

    fn image_of_child<M: Media>(
        media: &M,
        prefix: &Prefix,
        _: Local,
        block: impl FnOnce() -> u64,
    ) -> Local {
        let prefix = prefix.len();
        let Ok(edges) = Edges::of(media, block()) else { return Local(0) };
        image::<K>(edges.eight_of_low(prefix), edges.low_len().saturating_sub(prefix))
    }

    #[inline(always)]
    fn image_in_body(prefix: &Prefix, key: ByteSought<'_>) -> Local {
        if matches!(key.aim, Aim::End) {
            return Local(ABOVE);
        }
        let len = prefix.len();
        match prefix.compare(key.bytes) {
            Order::Equal => image::<K>(eight_bytes(key.bytes, len), key.bytes.len() - len),
            outside => Local(word_outside(outside)),
        }
    }

    fn begins_by<M: Media>(media: &M, block: u64, key: ByteSought<'_>) -> bool {
        // A block whose header cannot be read covers nothing.
        let Ok(edges) = Edges::of(media, block) else { return false };
        match (key.aim, edges.compare_low(key.bytes)) {
            (Aim::At, order) => order.is_le(),
            (Aim::Below, order) => order.is_lt(),
            (Aim::End, _) => true,
        }
    }

    fn low_of_child<M: Media>(
        media: &M,
        _: Local,
        block: impl FnOnce() -> u64,
    ) -> Result<ByteFence> {
        Ok(Edges::of(media, block())?.both().0)
    }
}
