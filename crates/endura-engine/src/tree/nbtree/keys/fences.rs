//! The fences of a block of byte strings, in its header. They never change.
//!
//! | word | |
//! | --- | --- |
//! | 1 | `beside`: the offset of a record of the block's own that has the texts, if they need more than 40 bytes; else 0 |
//! | 2 | lengths, 20 bits each: of `low`, of the bytes that `low` and `high` share at the beginning, of `high`; bit 60 is set if the block has no `high` |
//! | 3 to 7 | `low`, then what `high` has behind the shared bytes; zeros behind that |
//!
//! The shared bytes are the *prefix*: all keys of the block begin with them. A block without `high` has an empty prefix. The
//! record beside a block has `low` for its key and the rest of `high` for its value.

use std::cmp::Ordering as Order;

use crate::media::{Media, Ordering, Region};
use crate::tree::key_word::{common, eight_bytes};
use crate::tree::records::record::{Record, Writer, bytes_for};
use crate::{Error, Result};

use crate::tree::nbtree::keys::form::Header;

const BESIDE: usize = 1;
const LENGTHS: usize = 2;
const TEXT: usize = 3;
/// Bytes of texts that fit into the header.
const TEXT_BYTES: usize = 8 * (size_of::<Header>() / 8 - TEXT);
/// Bits of a length.
const BITS: u32 = 20;
const NO_HIGH: u64 = 1 << 60;

/// A fence: the smallest key that a block covers, or the end of its keys, exclusive.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ByteFence {
    Key(Vec<u8>),
    /// Behind all keys.
    End,
}

/// The lengths of the texts.
#[derive(Clone, Copy)]
struct Lengths {
    low: usize,
    shared: usize,
    /// `None`: there is no `high`.
    high: Option<usize>,
}

impl Lengths {
    fn of(low: &[u8], high: Option<&[u8]>) -> Self {
        let shared = high.map_or(0, |high| common(low, high));
        Self { low: low.len(), shared, high: high.map(<[u8]>::len) }
    }

    fn word(self) -> u64 {
        let high = self.high.map_or(NO_HIGH, |high| (high as u64) << (2 * BITS));
        self.low as u64 | (self.shared as u64) << BITS | high
    }

    fn read(word: u64) -> Self {
        let [low, shared, high] =
            [0, BITS, 2 * BITS].map(|shift| (word >> shift & ((1 << BITS) - 1)) as usize);
        Self { low, shared, high: (word & NO_HIGH == 0).then_some(high) }
    }

    /// Bytes of `high` behind the shared ones.
    fn rest(self) -> usize {
        self.high.map_or(0, |high| high.saturating_sub(self.shared))
    }

    fn is_sound(self) -> bool {
        self.shared <= self.low && self.high.is_none_or(|high| self.shared <= high)
    }
}

/// The bytes that all keys between two fences share at the beginning.
pub(crate) fn prefix_between(low: &ByteFence, high: &ByteFence) -> usize {
    match (low, high) {
        (ByteFence::Key(low), ByteFence::Key(high)) => common(low, high),
        _ => 0,
    }
}

/// The two fences as texts. A `low` is always a key.
fn texts<'f>(low: &'f ByteFence, high: &'f ByteFence) -> (&'f [u8], Option<&'f [u8]>) {
    let text = |fence: &'f ByteFence| match fence {
        ByteFence::Key(key) => Some(&key[..]),
        ByteFence::End => None,
    };
    (text(low).unwrap_or(&[]), text(high))
}

/// The bytes of the record beside a block with these fences, if it needs one.
pub(crate) fn beside_bytes(low: &ByteFence, high: &ByteFence) -> Option<u64> {
    let (low, high) = texts(low, high);
    let rest = Lengths::of(low, high).rest();
    (low.len() + rest > TEXT_BYTES).then(|| bytes_for(low.len(), rest))
}

/// The header of a block with these fences. Writes and flushes the record `beside` the block; without one, `beside` is 0.
pub(crate) fn header<M: Media>(
    media: &M,
    (low, high): (&ByteFence, &ByteFence),
    beside: u64,
) -> Result<Header> {
    let (low, high) = texts(low, high);
    let lengths = Lengths::of(low, high);
    let rest = &high.unwrap_or(&[])[lengths.shared..];
    let mut header = Header::default();
    (header[BESIDE], header[LENGTHS]) = (beside, lengths.word());
    if beside != 0 {
        let mut writer = Writer::new(media, beside, low, rest.len())?;
        writer.write(rest);
        // The block's own drain comes behind it, before the block is linked.
        writer.finish();
    } else {
        for (i, byte) in low.iter().chain(rest).enumerate() {
            header[TEXT + i / 8] |= u64::from(*byte) << (8 * (i % 8));
        }
    }
    Ok(header)
}

/// The fences of a block, where they are.
pub(crate) struct Edges<'m, M> {
    header: Region<'m, M>,
    beside: Option<Record<'m, M>>,
    lengths: Lengths,
}

impl<'m, M: Media> Edges<'m, M> {
    /// The fences of the block at this offset.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] if the lengths are impossible, or if there is no record of these lengths beside the block.
    pub(crate) fn of(media: &'m M, block: u64) -> Result<Self> {
        // All loads here are Relaxed: the texts were written before anything led to the block, and the word that led here
        // was loaded with Acquire.
        let header = Region::new(media, block, size_of::<Header>() / 8)?;
        let lengths = Lengths::read(header.load(LENGTHS, Ordering::Relaxed));
        let beside = match header.load(BESIDE, Ordering::Relaxed) {
            0 => None,
            at => Some(Record::enter(media, at)?),
        };
        let all = lengths.low + lengths.rest();
        let fits = match &beside {
            None => all <= TEXT_BYTES,
            Some(record) => record.key_len() == lengths.low && record.text_len() == all,
        };
        if !fits || !lengths.is_sound() {
            return Err(Error::Corrupt { offset: block, what: "a block with impossible fences" });
        }
        Ok(Self { header, beside, lengths })
    }

    /// Eight bytes of the texts, the first one in the lowest bits.
    fn text_word(&self, i: usize) -> u64 {
        match &self.beside {
            None => self.header.load((TEXT + i).min(self.header.words() - 1), Ordering::Relaxed),
            Some(record) => record.text_word(i),
        }
    }

    /// Eight bytes of `low` from byte `from` on, as a number that sorts as they do; bytes behind its end count as 0.
    pub(crate) fn eight_of_low(&self, from: usize) -> u64 {
        let left = self.lengths.low.saturating_sub(from);
        if left == 0 {
            return 0;
        }
        let shift = 8 * (from % 8) as u32;
        // Two shifts: a shift by 64 bits is not defined.
        let (first, second) = (self.text_word(from / 8), self.text_word(from / 8 + 1));
        let bytes = (first >> shift | second << 1 << (63 - shift)).swap_bytes();
        match left {
            8.. => bytes,
            _ => bytes >> (64 - 8 * left) << (64 - 8 * left),
        }
    }

    /// The number of bytes of `low`.
    pub(crate) fn low_len(&self) -> usize {
        self.lengths.low
    }

    /// The number of bytes of the longer fence.
    pub(crate) fn longest(&self) -> usize {
        self.lengths.low.max(self.lengths.high.unwrap_or(0))
    }

    /// Compares `low` with a key.
    pub(crate) fn compare_low(&self, key: &[u8]) -> Order {
        let end = self.lengths.low.min(key.len());
        for from in (0..end).step_by(8) {
            let unused = 8 * 8_usize.saturating_sub(end - from) as u32;
            let [low, key] = [self.text_word(from / 8).swap_bytes(), eight_bytes(key, from)]
                .map(|bytes| bytes >> unused);
            if low != key {
                return low.cmp(&key);
            }
        }
        self.lengths.low.cmp(&key.len())
    }

    /// The texts: `low`, then the rest of `high`.
    fn text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        match &self.beside {
            None => {
                let all = self.lengths.low + self.lengths.rest();
                self.header.append_to(8 * TEXT, all, &mut text);
            }
            Some(record) => record.copy_text(&mut text),
        }
        text
    }

    /// The two fences.
    pub(crate) fn both(&self) -> (ByteFence, ByteFence) {
        let mut low = self.text();
        let rest = low.split_off(self.lengths.low);
        let high = match self.lengths.high {
            Some(_) => ByteFence::Key([&low[..self.lengths.shared], &rest].concat()),
            None => ByteFence::End,
        };
        (ByteFence::Key(low), high)
    }

    /// The record beside the block.
    pub(crate) fn beside(&self) -> Option<&Record<'m, M>> {
        self.beside.as_ref()
    }
}

#[cfg(all(test, not(loom)))]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::media::Heap;
    use crate::space::PAGE;

    #[test]
    fn fences_are_what_was_written() {
        let media = Heap::new(4 * PAGE);
        let long = |len: usize, last: u8| [vec![b'x'; len], vec![last]].concat();
        let mut keys = vec![vec![], vec![0], vec![0, 0], b"a".to_vec(), b"a\0".to_vec()];
        keys.extend([b"abcdefg".to_vec(), b"abcdefgh".to_vec(), b"abcdefghi".to_vec()]);
        for len in [15, 19, 20, 38, 39, 40, 41, 500, 65_000] {
            keys.extend([long(len, 1), long(len, 2), long(len, 255)]);
        }
        keys.sort();
        for (i, low) in keys.iter().enumerate() {
            let highs = keys[i + 1..].iter().map(|key| ByteFence::Key(key.clone()));
            for high in highs.chain([ByteFence::End]) {
                let fence = ByteFence::Key(low.clone());
                let beside = beside_bytes(&fence, &high).map_or(0, |_| PAGE);
                let header = header(&media, (&fence, &high), beside).unwrap();
                let block = Region::new(&media, 512, header.len()).unwrap();
                let stored = header.iter().enumerate();
                stored.for_each(|(i, &word)| block.store(i, word, Ordering::Relaxed));
                let edges = Edges::of(&media, 512).unwrap();
                assert_eq!(edges.both(), (fence.clone(), high.clone()));
                assert_eq!(edges.lengths.shared, prefix_between(&fence, &high));
                for key in &keys {
                    assert_eq!(edges.compare_low(key), low.cmp(key), "{low:?} {key:?}");
                }
                for from in [0, 1, 7, 8, 9, 15, 16, 39, low.len()] {
                    assert_eq!(edges.eight_of_low(from), eight_bytes(low, from), "{from}");
                }
            }
        }
    }
}
