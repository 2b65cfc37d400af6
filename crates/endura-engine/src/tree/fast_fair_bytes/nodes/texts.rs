//! The texts of a node: its prefix, and `low`, its inclusive lower fence. They never change.
//!
//! The second line has one word with the lengths, then the prefix, then what `low` has behind the bytes that the two share
//! at the beginning. If that is more than the line holds, the two lie in a record of the node's own (`bounds`): `low` is its
//! key, and the prefix its value.

use std::cmp::Ordering as Order;

use crate::media::{Media, Ordering};
use crate::tree::Bytes;
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

    /// Bytes of the texts in the line.
    fn bytes(self) -> usize {
        self.prefix + self.low - self.shared
    }

    /// Whether the line can hold such texts.
    fn is_sound(self) -> bool {
        self.shared <= self.prefix && self.shared <= self.low && self.bytes() <= TEXT_BYTES
    }
}

impl Texts<'_> {
    /// Bytes of the record that a node with these texts needs; `None` if they fit into the node.
    pub(crate) fn bytes_beside(&self) -> Option<u64> {
        let fit = Lengths::of(self).bytes() <= TEXT_BYTES;
        (!fit).then(|| bytes_for(self.low.len(), self.prefix.len()))
    }

    /// Writes the texts to a record at `at`, and starts its write-back. The caller fences.
    pub(crate) fn write_beside<M: Media>(&self, media: &M, at: u64) -> Result<()> {
        let mut writer = Writer::new(media, at, self.low, self.prefix.len())?;
        writer.write(self.prefix);
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
        match self.bounds_word() {
            0 => Ok(None),
            at => Record::enter(self.media(), at).map(Some),
        }
    }

    #[inline(always)]
    fn lengths(&self) -> Lengths {
        // Relaxed: texts never change, and the word that led to the node was loaded with Acquire.
        Lengths::read(self.words().load(LENGTHS, Ordering::Relaxed))
    }

    /// Eight bytes of the texts in the line.
    #[inline(always)]
    fn text_word(&self, i: usize) -> u64 {
        // Relaxed, as in `lengths`.
        self.words().load((TEXT + i).min(SLOTS - 1), Ordering::Relaxed)
    }

    /// The texts in the line.
    fn line(&self) -> Result<(Lengths, [u8; TEXT_BYTES])> {
        let lengths = self.lengths();
        if !lengths.is_sound() {
            return Err(self.impossible_texts());
        }
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
        let prefix = self.lengths().prefix;
        let mut at = 0;
        while at < prefix {
            let counting = match prefix - at {
                few @ 1..8 => !(u64::MAX >> (8 * few)),
                _ => u64::MAX,
            };
            let theirs = self.text_word(at / 8).swap_bytes() & counting;
            let ours = eight_bytes(key, at) & counting;
            if ours != theirs {
                return Ok(word_outside(ours.cmp(&theirs)));
            }
            at += 8;
            if at >= TEXT_BYTES && at < prefix {
                return Err(self.impossible_texts());
            }
        }
        match key.len().checked_sub(prefix) {
            Some(left) => Ok(key_word::word::<K>(eight_bytes(key, prefix), left)),
            // The prefix goes on with zeros.
            None => Ok(0),
        }
    }

    #[cold]
    #[inline(never)]
    fn word_beside<K: KeyWord>(&self, key: &[u8]) -> Result<u64> {
        let Some(bounds) = self.bounds()? else { return Err(self.impossible_texts()) };
        let prefix = bounds.value();
        Ok(match compare_start(&prefix, key) {
            Order::Equal => {
                let rest = &key[prefix.len()..];
                key_word::word::<K>(eight_bytes(rest, 0), rest.len())
            }
            order => word_outside(order.reverse()),
        })
    }

    /// The number of bytes that all keys with this word in this node share.
    pub(crate) fn shared_by_ties<K: KeyWord>(&self, word: u64) -> Result<usize> {
        if word == 0 || word >= ABOVE {
            return Ok(0);
        }
        let prefix = match self.bounds()? {
            Some(bounds) => bounds.value().len(),
            None => self.lengths().prefix,
        };
        Ok(prefix + separator_len(word).min(K::BYTES))
    }

    /// Compares `low` with a key. The first `from` bytes are known to be shared.
    pub(crate) fn compare_low(&self, key: &[u8], from: usize) -> Result<Order> {
        if let Some(bounds) = self.bounds()? {
            return Ok(bounds.compare(key, from));
        }
        let lengths = self.lengths();
        if !lengths.is_sound() {
            return Err(self.impossible_texts());
        }
        let mut at = from;
        while at < lengths.low {
            // Eight bytes of `low`, or those up to the place where its rest begins.
            let (text, end) = match at < lengths.shared {
                true => (at, lengths.shared),
                false => (lengths.prefix + at - lengths.shared, lengths.low),
            };
            let (len, inside) = ((end - at).min(8), 8 * (text % 8) as u32);
            let counting = !(u64::MAX >> 1 >> (8 * len - 1));
            let bytes = self.text_word(text / 8) >> inside
                // Two shifts: a shift by 64 bits is not defined.
                | self.text_word(text / 8 + 1) << 1 << (63 - inside);
            let (theirs, ours) = (bytes.swap_bytes() & counting, eight_bytes(key, at) & counting);
            if theirs != ours {
                return Ok(theirs.cmp(&ours));
            }
            at += len;
        }
        // What agrees with zeros behind a key is longer than the key.
        Ok(lengths.low.cmp(&key.len()))
    }

    /// Appends `low` to `out`.
    pub(crate) fn copy_low(&self, out: &mut Vec<u8>) -> Result<()> {
        match self.bounds()? {
            Some(bounds) => bounds.copy_key(out),
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
            Some(bounds) => Ok(bounds.value().to_vec()),
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

/// Compares `start` with as many bytes of `key`; a key that is too short is smaller.
fn compare_start(start: &Bytes<'_>, key: &[u8]) -> Order {
    let mut piece = [0; 64];
    for from in (0..start.len()).step_by(piece.len()) {
        let piece = &mut piece[..(start.len() - from).min(64)];
        start.copy_to(from, piece);
        let theirs = key.get(from..).unwrap_or(&[]);
        match (*piece).cmp(&theirs[..theirs.len().min(piece.len())]) {
            Order::Equal => {}
            order => return order,
        }
    }
    Order::Equal
}
