//! A record: one key with its value. It never changes once it is linked.
//!
//! | byte | |
//! | --- | --- |
//! | 0 | bytes of the key |
//! | 4 | bytes of the value |
//! | 8 | CRC-32C of bytes 0 to 8, the key and the value |
//! | 12 | 0 |
//! | 16 | the key, then the value, then zeros up to a whole word |

use std::cmp::Ordering as Order;

use crate::cpu::crc32c;
use crate::media::{LINE, Media, Ordering, Region};
use crate::tree::key_word::eight_bytes;
use crate::tree::{Bytes, Entry, LONGEST_KEY, LONGEST_VALUE};
use crate::{Error, Result};

const HEADER: usize = 2;

/// Fails for a key or a value that is longer than a record takes.
pub(crate) fn check_lengths(key: usize, value: usize) -> Result<()> {
    if key > LONGEST_KEY {
        Err(Error::KeyTooLong { len: key as u64, max: LONGEST_KEY as u64 })
    } else if value > LONGEST_VALUE {
        Err(Error::ValueTooLong { len: value as u64, max: LONGEST_VALUE as u64 })
    } else {
        Ok(())
    }
}

/// The number of bytes of a record that are prefetched before its length is known: the header, and a key and a value
/// that have about a hundred bytes together.
pub(crate) const TYPICAL: u64 = 2 * LINE + 1;
/// The fewest bytes of a later record that a scan prefetches: the header, a key, the first bytes of a value.
const KEY_AHEAD: u64 = 48;
/// The most bytes of a later record that a scan prefetches.
const REST: u64 = 512;

/// Bytes of the record of a key and a value with these lengths.
pub(crate) fn bytes_for(key: usize, value: usize) -> u64 {
    (8 * HEADER + key + value + 7) as u64 & !7
}

/// Whether the key in a record's words starts with `key`. There must be words for that many bytes.
#[inline(always)]
fn has_key<M: Media>(words: Region<'_, M>, key: &[u8]) -> bool {
    let (whole, rest) = key.as_chunks();
    // Relaxed, as in `key_word`.
    let load = |i: usize| words.load(HEADER + i, Ordering::Relaxed).to_le_bytes();
    for (i, chunk) in whole.iter().enumerate() {
        if load(i) != *chunk {
            return false;
        }
    }
    rest.is_empty() || load(whole.len()).starts_with(rest)
}

/// Bytes `from..from + 8` of a key that has `key` bytes, as a number that sorts as these bytes do; bytes beyond the end
/// count as 0. The first argument has the two words over which these bytes are spread.
#[inline(always)]
fn sort_number([first, second]: [u64; 2], from: usize, key: usize) -> u64 {
    let shift = 8 * (from % 8) as u32;
    // Two shifts: a shift by 64 bits is not defined.
    let bytes = first >> shift | second << 1 << (63 - shift);
    let counting = match key.saturating_sub(from) {
        few @ 0..8 => (1 << (8 * few)) - 1,
        _ => u64::MAX,
    };
    (bytes & counting).swap_bytes()
}

/// A record that is linked.
pub(crate) struct Record<'m, M> {
    words: Region<'m, M>,
    key: usize,
    value: usize,
}

impl<M> Clone for Record<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Record<'_, M> {}

impl<'m, M: Media> Record<'m, M> {
    #[inline]
    pub(crate) fn enter(media: &'m M, at: u64) -> Result<Self> {
        Self::within(media, at).ok_or_else(|| Self::refusal(media, at))
    }

    /// Does what [`enter`](Self::enter) does, without the cost of an error value.
    #[inline(always)]
    pub(crate) fn within(media: &'m M, at: u64) -> Option<Self> {
        // Relaxed: the word that led here was loaded with Acquire.
        let header = Region::within(media, at, HEADER)?;
        let lengths = header.load(0, Ordering::Relaxed);
        let (key, value) = (lengths as u32 as usize, (lengths >> 32) as usize);
        // The checksum of an empty key with an empty value is not 0: so zeros are no record.
        let is_zeros = lengths == 0 && header.load(1, Ordering::Relaxed) == 0;
        if key > LONGEST_KEY || value > LONGEST_VALUE || is_zeros {
            return None;
        }
        let words = Region::within(media, at, bytes_for(key, value) as usize / 8)?;
        Some(Self { words, key, value })
    }

    /// The error that says why there is no record at `at`.
    #[cold]
    fn refusal(media: &'m M, at: u64) -> Error {
        match Region::new(media, at, HEADER) {
            Err(error) => error,
            Ok(_) => Error::Corrupt {
                offset: at,
                what: "zeros, or an impossible length, in place of a record",
            },
        }
    }

    /// The length of the value in the record at `at`, if that is the record of `key`. Cheaper than
    /// [`enter`](Self::enter) and [`is_of`](Self::is_of): if the key matches, nothing checks that the value is within
    /// the medium.
    #[inline(always)]
    pub(crate) fn value_for(media: &'m M, at: u64, key: &[u8]) -> Result<Option<usize>> {
        if let Some(words) = Region::within(media, at, HEADER + key.len().div_ceil(8)) {
            // Relaxed, as in `enter`.
            let lengths = words.load(0, Ordering::Relaxed);
            let value = (lengths >> 32) as usize;
            let is_sound = key.len() <= LONGEST_KEY && value <= LONGEST_VALUE;
            if is_sound && lengths as u32 as usize == key.len() && has_key(words, key) {
                return Ok(Some(value));
            }
        }
        Self::value_for_other(media, at, key)
    }

    #[inline(never)]
    fn value_for_other(media: &'m M, at: u64, key: &[u8]) -> Result<Option<usize>> {
        let record = Self::enter(media, at)?;
        Ok(record.is_of(key).then_some(record.value))
    }

    /// The record at `at` with a key and a value of these lengths, which the caller has checked.
    #[inline(always)]
    pub(crate) fn of_lengths(media: &'m M, at: u64, key: usize, value: usize) -> Result<Self> {
        let words = Region::new(media, at, bytes_for(key, value) as usize / 8)?;
        Ok(Self { words, key, value })
    }

    /// The record at `at` if it is that of `key`.
    #[inline]
    pub(crate) fn find(media: &'m M, at: u64, key: &[u8]) -> Result<Option<Self>> {
        let value = Self::value_for(media, at, key)?;
        value.map(|value| Self::of_lengths(media, at, key.len(), value)).transpose()
    }

    /// Prefetches the lines of a record that is about to be read. Its length is known only when the header has arrived;
    /// fetching the other lines then would be a second wait.
    #[inline]
    pub(crate) fn prefetch(media: &M, at: u64) {
        media.prefetch(at, TYPICAL);
    }

    /// Prefetches the start of a record: the header, a key, the first bytes of a value.
    #[inline]
    pub(crate) fn prefetch_key(media: &M, at: u64) {
        media.prefetch(at, KEY_AHEAD);
    }

    /// Prefetches `bytes` bytes of a record, but at least `KEY_AHEAD` and at most `REST`.
    #[inline(always)]
    pub(crate) fn prefetch_bytes(media: &M, at: u64, bytes: u64) {
        let span = at % LINE + bytes.clamp(KEY_AHEAD, REST);
        // The number of steps is a constant, so that the loop is unrolled: it is in the inner loop of every scan.
        for line in 0..REST / LINE + 1 {
            if LINE * line >= span {
                break;
            }
            media.prefetch((at & !(LINE - 1)).wrapping_add(LINE * line), 1);
        }
    }

    #[inline]
    pub(crate) fn at(&self) -> u64 {
        self.words.offset()
    }

    /// Bytes of the chunk.
    #[inline]
    pub(crate) fn bytes(&self) -> u64 {
        8 * self.words.words() as u64
    }

    /// Bytes of the key and the value.
    #[inline]
    pub(crate) fn text_len(&self) -> usize {
        self.key + self.value
    }

    /// Eight bytes of the key and the value behind it, from byte `8 * i` on. Behind the last of them, the last word.
    #[inline(always)]
    pub(crate) fn text_word(&self, i: usize) -> u64 {
        // Relaxed, as in `enter`.
        self.words.load((HEADER + i).min(self.words.words() - 1), Ordering::Relaxed)
    }

    /// Copies the key and the value to the end of `out`.
    #[inline(always)]
    pub(crate) fn copy_text(&self, out: &mut Vec<u8>) {
        self.words.append_to(8 * HEADER, self.text_len(), out);
    }

    #[inline]
    pub(crate) fn key_len(&self) -> usize {
        self.key
    }

    /// The key.
    #[inline]
    pub(crate) fn key(&self) -> Bytes<'m> {
        Bytes::new(&self.words, 8 * HEADER, self.key)
    }

    /// The value.
    #[inline]
    pub(crate) fn value(&self) -> Bytes<'m> {
        Bytes::new(&self.words, 8 * HEADER + self.key, self.value)
    }

    /// The number that the bytes of the key form, with zeros behind them, if it has at most 8 bytes.
    #[inline(always)]
    pub(crate) fn number(&self) -> Option<u64> {
        match self.key {
            0 => Some(0),
            len @ 1..=8 => Some(self.key_word(0).swap_bytes() >> (64 - 8 * len) << (64 - 8 * len)),
            _ => None,
        }
    }

    /// Copies the key to the end of `out`.
    pub(crate) fn copy_key(&self, out: &mut Vec<u8>) {
        self.words.append_to(8 * HEADER, self.key, out);
    }

    /// Copies the key and, if it is wanted, the value to `entry`.
    #[inline(always)]
    pub(crate) fn copy_to(&self, with_value: bool, entry: &mut Entry) {
        let value = if with_value { self.value } else { 0 };
        entry.fill(self.key, value, |from, len, out| {
            self.words.append_to(8 * HEADER + from, len, out);
        });
    }

    /// Byte `i` of the key, if it is that long.
    pub(crate) fn key_byte(&self, i: usize) -> Option<u8> {
        (i < self.key).then(|| self.key_word(i / 8).to_le_bytes()[i % 8])
    }

    #[inline(always)]
    fn key_word(&self, i: usize) -> u64 {
        self.words.load(HEADER + i, Ordering::Relaxed)
    }

    /// Whether this is the record of `key`.
    #[inline]
    pub(crate) fn is_of(self, key: &[u8]) -> bool {
        self.key == key.len() && has_key(self.words, key)
    }

    /// The number of leading bytes that the key shares with `key`. The first `from` bytes are known to be shared.
    pub(crate) fn common_with(&self, key: &[u8], from: usize) -> usize {
        let end = self.key.min(key.len());
        let mut at = from.min(end);
        while at < end {
            // What is left of a word of the record, and as many bytes of `key`; the first byte is the lowest one.
            let inside = at % 8;
            let theirs = self.key_word(at / 8) >> (8 * inside);
            let differing = theirs ^ eight_bytes(key, at).swap_bytes();
            let (len, same) = ((8 - inside).min(end - at), differing.trailing_zeros() as usize / 8);
            if same < len {
                return at + same;
            }
            at += len;
        }
        end
    }

    /// Compares the key with `key`. The first `from` bytes are known to be shared.
    pub(crate) fn compare(&self, key: &[u8], from: usize) -> Order {
        let at = self.common_with(key, from);
        self.key_byte(at).cmp(&key.get(at).copied())
    }

    /// Eight bytes of the key of the record at `at`, from byte `from` on, as a number that sorts as these bytes do;
    /// bytes beyond the end count as 0. Returns also the length of the key.
    #[inline(always)]
    pub(crate) fn sort_key(media: &'m M, at: u64, from: usize) -> Result<(u64, usize)> {
        let first = HEADER + from / 8;
        if let Some(words) = Region::within(media, at, first + 2) {
            // Relaxed, as in `enter`. The second word may belong to another chunk: then none of its bytes count.
            let load = |i| words.load(i, Ordering::Relaxed);
            let key = load(0) as u32 as usize;
            if key <= LONGEST_KEY {
                return Ok((sort_number([load(first), load(first + 1)], from, key), key));
            }
        }
        Self::sort_key_at_end(media, at, from)
    }

    /// Does what [`sort_key`](Self::sort_key) does, if the medium ends right after the record, or if there is no record
    /// at `at`.
    #[cold]
    fn sort_key_at_end(media: &'m M, at: u64, from: usize) -> Result<(u64, usize)> {
        let record = Self::enter(media, at)?;
        let word = |i: usize| if 8 * i < record.key { record.key_word(i) } else { 0 };
        let pair = [word(from / 8), word(from / 8 + 1)];
        Ok((sort_number(pair, from, record.key), record.key))
    }

    /// Compares the keys of two records.
    pub(crate) fn compare_with(&self, other: &Self) -> Order {
        let end = self.key.min(other.key);
        for word in 0..end.div_ceil(8) {
            let mask = |word: u64, left: usize| match left {
                8.. => word,
                _ => word & ((1 << (8 * left)) - 1),
            };
            let left = end - 8 * word;
            let pair = [self.key_word(word), other.key_word(word)].map(|w| mask(w, left));
            match pair[0].swap_bytes().cmp(&pair[1].swap_bytes()) {
                Order::Equal => {}
                order => return order,
            }
        }
        self.key.cmp(&other.key)
    }

    /// Reads the whole record.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] if the checksum does not match the contents.
    pub(crate) fn check_sum(&self) -> Result<()> {
        match self.is_sound() {
            true => Ok(()),
            false => {
                let what = "a record whose checksum is not that of its contents";
                Err(Error::Corrupt { offset: self.at(), what })
            }
        }
    }

    fn is_sound(&self) -> bool {
        let [lengths, sum] = [0, 1].map(|i| self.words.load(i, Ordering::Relaxed));
        let mut expected = crc32c::append(0, &lengths.to_le_bytes());
        let mut piece = [0; 512];
        let (mut at, mut left) = (8 * HEADER, self.key + self.value);
        while left > 0 {
            let now = left.min(piece.len());
            self.words.read(at, &mut piece[..now]);
            expected = crc32c::append(expected, &piece[..now]);
            (at, left) = (at + now, left - now);
        }
        sum == u64::from(expected)
    }
}

/// A record that is being written and is not linked.
pub(crate) struct Writer<'m, M> {
    words: Region<'m, M>,
    next: usize,
    pending: u64,
    filled: u32,
    lengths: u64,
    sum: u32,
}

impl<'m, M: Media> Writer<'m, M> {
    /// Starts the record of `key` with a value of `value` bytes, in a chunk of [`bytes_for`] bytes.
    pub(crate) fn new(media: &'m M, at: u64, key: &[u8], value: usize) -> Result<Self> {
        let words = Region::new(media, at, bytes_for(key.len(), value) as usize / 8)?;
        let lengths = key.len() as u64 | (value as u64) << 32;
        let sum = crc32c::append(0, &lengths.to_le_bytes());
        let mut writer = Self { words, next: HEADER, pending: 0, filled: 0, lengths, sum };
        writer.write(key);
        Ok(writer)
    }

    /// Bytes of the value that are still missing.
    pub(crate) fn left(&self) -> usize {
        let all = self.lengths as u32 as usize + (self.lengths >> 32) as usize;
        all - (8 * (self.next - HEADER) + self.filled as usize / 8)
    }

    /// Appends bytes, at most as many as are missing.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.sum = crc32c::append(self.sum, bytes);
        let (words, rest) = bytes.as_chunks();
        let (mut pending, filled) = (self.pending, self.filled);
        let stored = words.iter().map(|&word| {
            let word = u64::from_le_bytes(word);
            let whole = pending | word << filled;
            // Two shifts: a shift by 64 bits is not defined.
            pending = word >> 1 >> (63 - filled);
            whole
        });
        match self.words.in_memory() {
            Some(places) => {
                let places = places[self.next..][..words.len()].iter();
                // Relaxed, as in `store`.
                places.zip(stored).for_each(|(place, word)| place.store(word, Ordering::Relaxed));
                self.next += words.len();
            }
            None => stored.for_each(|word| self.store(word)),
        }
        self.pending = pending;
        for &byte in rest {
            self.pending |= u64::from(byte) << self.filled;
            self.filled += 8;
            if self.filled == 64 {
                self.store(self.pending);
                (self.pending, self.filled) = (0, 0);
            }
        }
    }

    fn store(&mut self, word: u64) {
        // Relaxed: nothing leads here before the fence and the Release store in `publish`.
        self.words.store(self.next, word, Ordering::Relaxed);
        self.next += 1;
    }

    /// Writes the rest of the last word, and the header, and starts the write-back. The caller fences before it links
    /// the record.
    pub(crate) fn finish(mut self) -> Record<'m, M> {
        debug_assert_eq!(self.left(), 0);
        if self.filled > 0 {
            self.store(self.pending);
        }
        // Relaxed, as in `store`.
        self.words.store(0, self.lengths, Ordering::Relaxed);
        self.words.store(1, u64::from(self.sum), Ordering::Relaxed);
        self.words.flush(0, self.words.words());
        let (key, value) = (self.lengths as u32 as usize, (self.lengths >> 32) as usize);
        Record { words: self.words, key, value }
    }
}
