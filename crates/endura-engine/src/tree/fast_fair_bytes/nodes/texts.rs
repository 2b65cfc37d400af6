//! The texts of a node: its prefix, and `low`, its inclusive lower fence. They never change.
//!
//! The second line has one word with the lengths, then the prefix, then what `low` has behind the bytes that the two share
//! at the beginning. If that is more than the line holds, the two lie in a record of the node's own (`bounds`), as its key
//! and its value, which follow each other there as they do in the line.

use std::cmp::Ordering as Order;

use crate::media::{Media, Ordering};
use crate::tree::fast_fair_bytes::nodes::node::{ByteNode, SLOTS};
use crate::tree::key_word::{
    self, ABOVE, KeyWord, common, eight_bytes, separator_len, word_outside,
};
use crate::tree::records::record::{Record, Writer, bytes_for};
use crate::{Error, Result};

/// The index of the word with the lengths.
const LENGTHS: usize = 8;
/// The index of the first word of the texts.
const TEXT: usize = 9;
/// Bytes of texts that fit into the line.
const TEXT_BYTES: usize = 8 * (SLOTS - TEXT);
/// Bits of a length.
const BITS: u32 = 20;

/// The texts of a new node.
#[derive(Clone, Copy)]
pub(crate) struct Texts<'t> {
    pub(crate) prefix: &'t [u8],
    pub(crate) low: &'t [u8],
}

/// The lengths of the prefix and of `low`, and how many bytes they share at the beginning.
#[derive(Clone, Copy)]
struct Lengths {
    prefix: usize,
    low: usize,
    shared: usize,
}

impl Lengths {
    fn of(texts: &Texts<'_>) -> Self {
        let shared = common(texts.prefix, texts.low);
        Self { prefix: texts.prefix.len(), low: texts.low.len(), shared }
    }

    fn word(self) -> u64 {
        self.prefix as u64 | (self.low as u64) << BITS | (self.shared as u64) << (2 * BITS)
    }

    #[inline(always)]
    fn read(word: u64) -> Self {
        let [prefix, low, shared] =
            [0, BITS, 2 * BITS].map(|shift| (word >> shift & ((1 << BITS) - 1)) as usize);
        Self { prefix, low, shared }
    }

    /// Bytes of the texts.
    fn bytes(self) -> usize {
        self.prefix + self.low - self.shared
    }

    /// Whether `available` bytes can hold such texts.
    #[inline(always)]
    fn fit(self, available: usize) -> bool {
        self.shared <= self.prefix && self.shared <= self.low && self.bytes() <= available
    }

    /// The word of a key, if the texts lie in the words that `text` returns.
    #[inline(always)]
    fn word_of<K: KeyWord>(self, key: &[u8], text: impl Fn(usize) -> u64) -> u64 {
        let prefix = self.prefix;
        let mut at = 0;
        while at < prefix {
            let counting = match prefix - at {
                few @ 1..8 => !(u64::MAX >> (8 * few)),
                _ => u64::MAX,
            };
            let theirs = text(at / 8).swap_bytes() & counting;
            let ours = eight_bytes(key, at) & counting;
            if ours != theirs {
                return word_outside(ours.cmp(&theirs));
            }
            at += 8;
        }
        match key.len().checked_sub(prefix) {
            Some(left) => key_word::word::<K>(eight_bytes(key, prefix), left),
            // The prefix goes on with zeros.
            None => 0,
        }
    }

    /// Compares `low` with a key, if the texts lie in the words that `text` returns. The first `from` bytes are known to be
    /// shared.
    #[inline(always)]
    fn compare_low(self, key: &[u8], from: usize, text: impl Fn(usize) -> u64) -> Order {
        let mut at = from;
        while at < self.low {
            // Eight bytes of `low`, or those up to the place where its rest begins.
            let (place, end) = match at < self.shared {
                true => (at, self.shared),
                false => (self.prefix + at - self.shared, self.low),
            };
            let (len, inside) = ((end - at).min(8), 8 * (place % 8) as u32);
            let counting = !(u64::MAX >> 1 >> (8 * len - 1));
            let bytes = text(place / 8) >> inside
                // Two shifts: a shift by 64 bits is not defined.
                | text(place / 8 + 1) << 1 << (63 - inside);
            let (theirs, ours) = (bytes.swap_bytes() & counting, eight_bytes(key, at) & counting);
            if theirs != ours {
                return theirs.cmp(&ours);
            }
            at += len;
        }
        // What agrees with zeros behind a key is longer than the key.
        self.low.cmp(&key.len())
    }
}

impl Texts<'_> {
    /// Bytes of the record that a node with these texts needs; `None` if they fit into the node.
    pub(crate) fn bytes_beside(&self) -> Option<u64> {
        let lengths = Lengths::of(self);
        let fit = lengths.fit(TEXT_BYTES);
        (!fit).then(|| bytes_for(lengths.prefix, lengths.low - lengths.shared))
    }

    /// Writes the texts to a record at `at`, and starts its write-back. The caller fences.
    pub(crate) fn write_beside<M: Media>(&self, media: &M, at: u64) -> Result<()> {
        let rest = &self.low[Lengths::of(self).shared..];
        let mut writer = Writer::new(media, at, self.prefix, rest.len())?;
        writer.write(rest);
        writer.finish();
        Ok(())
    }

    /// Writes the second line of a node that no other thread knows.
    pub(super) fn write<M: Media, const W: usize>(&self, node: &ByteNode<'_, M, W>, beside: bool) {
        let (mut bytes, lengths) = ([0; TEXT_BYTES], Lengths::of(self));
        if !beside {
            bytes[..lengths.prefix].copy_from_slice(self.prefix);
            bytes[lengths.prefix..lengths.bytes()].copy_from_slice(&self.low[lengths.shared..]);
        }
        // Relaxed, as in `initialise`.
        node.write(LENGTHS, lengths.word());
        for (i, word) in bytes.as_chunks().0.iter().enumerate() {
            node.write(TEXT + i, u64::from_le_bytes(*word));
        }
    }
}

impl<'m, M: Media, const W: usize> ByteNode<'m, M, W> {
    /// The record with the texts, if they do not lie in the node.
    #[inline]
    pub(crate) fn bounds(&self) -> Result<Option<Record<'m, M>>> {
        let at = match self.bounds_word() {
            0 => return Ok(None),
            at => at,
        };
        let (bounds, lengths) = (Record::enter(self.media(), at)?, self.lengths());
        let len = bounds.text_len();
        let is_theirs =
            bounds.key_len() == lengths.prefix && lengths.fit(len) && lengths.bytes() == len;
        if is_theirs { Ok(Some(bounds)) } else { Err(self.impossible_texts()) }
    }

    #[inline(always)]
    fn lengths(&self) -> Lengths {
        // Relaxed: texts never change, and the word that led to the node was loaded with Acquire.
        Lengths::read(self.words().load(LENGTHS, Ordering::Relaxed))
    }

    /// The lengths of texts that lie in the line.
    #[inline(always)]
    fn lengths_in_line(&self) -> Result<Lengths> {
        let lengths = self.lengths();
        if lengths.fit(TEXT_BYTES) { Ok(lengths) } else { Err(self.impossible_texts()) }
    }

    /// Eight bytes of the texts in the line.
    #[inline(always)]
    fn text_word(&self, i: usize) -> u64 {
        // Relaxed, as in `lengths`.
        self.words().load((TEXT + i).min(SLOTS - 1), Ordering::Relaxed)
    }

    /// The texts in the line.
    fn line(&self) -> Result<(Lengths, [u8; TEXT_BYTES])> {
        let lengths = self.lengths_in_line()?;
        let mut bytes = [0; TEXT_BYTES];
        for (i, chunk) in bytes.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            *chunk = self.text_word(i).to_le_bytes();
        }
        Ok((lengths, bytes))
    }

    #[cold]
    fn impossible_texts(&self) -> Error {
        self.corrupt("texts of an impossible length in a node")
    }

    /// The word of a key in this node.
    #[inline(always)]
    pub(crate) fn word_of<K: KeyWord>(&self, key: &[u8]) -> Result<u64> {
        if self.bounds_word() != 0 {
            return self.word_beside::<K>(key);
        }
        let lengths = self.lengths();
        if lengths.prefix > TEXT_BYTES {
            return Err(self.impossible_texts());
        }
        Ok(lengths.word_of::<K>(key, |i| self.text_word(i)))
    }

    #[inline(never)]
    fn word_beside<K: KeyWord>(&self, key: &[u8]) -> Result<u64> {
        let Some(bounds) = self.bounds()? else { return Err(self.impossible_texts()) };
        Ok(self.lengths().word_of::<K>(key, |i| bounds.text_word(i)))
    }

    /// The number of bytes that all keys with this word in this node share.
    pub(crate) fn shared_by_ties<K: KeyWord>(&self, word: u64) -> usize {
        if word == 0 || word >= ABOVE {
            return 0;
        }
        self.prefix_len() + separator_len(word).min(K::BYTES)
    }

    /// The number of bytes at the beginning that `low` shares with all keys with this word.
    #[inline]
    pub(crate) fn shared_with_low(&self, word: u64) -> usize {
        match word {
            0 | ABOVE.. => 0,
            _ => self.lengths().shared,
        }
    }

    /// The number of bytes of the prefix.
    pub(crate) fn prefix_len(&self) -> usize {
        self.lengths().prefix
    }

    /// The number of bytes of `low`.
    pub(crate) fn low_len(&self) -> usize {
        self.lengths().low
    }

    /// Compares `low` with a key. The first `from` bytes are known to be shared.
    pub(crate) fn compare_low(&self, key: &[u8], from: usize) -> Result<Order> {
        if self.bounds_word() != 0 {
            return self.compare_low_beside(key, from);
        }
        Ok(self.lengths_in_line()?.compare_low(key, from, |i| self.text_word(i)))
    }

    #[inline(never)]
    fn compare_low_beside(&self, key: &[u8], from: usize) -> Result<Order> {
        let Some(bounds) = self.bounds()? else { return Err(self.impossible_texts()) };
        Ok(self.lengths().compare_low(key, from, |i| bounds.text_word(i)))
    }

    /// Appends `low` to `out`.
    pub(crate) fn copy_low(&self, out: &mut Vec<u8>) -> Result<()> {
        match self.bounds()? {
            Some(bounds) => {
                let (start, Lengths { prefix, shared, .. }) = (out.len(), self.lengths());
                bounds.copy_text(out);
                out.drain(start + shared..start + prefix);
            }
            None => {
                let (Lengths { prefix, low, shared }, bytes) = self.line()?;
                out.extend_from_slice(&bytes[..shared]);
                out.extend_from_slice(&bytes[prefix..prefix + low - shared]);
            }
        }
        Ok(())
    }

    /// `low`.
    pub(crate) fn low_key(&self) -> Result<Vec<u8>> {
        let mut low = Vec::new();
        self.copy_low(&mut low)?;
        Ok(low)
    }

    /// The prefix.
    pub(crate) fn prefix(&self) -> Result<Vec<u8>> {
        match self.bounds()? {
            Some(bounds) => Ok(bounds.key().to_vec()),
            None => {
                let (lengths, bytes) = self.line()?;
                Ok(bytes[..lengths.prefix].to_vec())
            }
        }
    }
}

/// The `low` of the node at `at`, which is a leaf if its level is 0.
pub(crate) fn low_of<M: Media, const INNER: usize, const LEAF: usize>(
    media: &M,
    at: u64,
    level: u64,
) -> Result<Vec<u8>> {
    match level {
        0 => ByteNode::<M, LEAF>::enter(media, at, level)?.low_key(),
        _ => ByteNode::<M, INNER>::enter(media, at, level)?.low_key(),
    }
}
