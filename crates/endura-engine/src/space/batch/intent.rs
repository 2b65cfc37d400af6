//! Intents: the changes of one commit, in a chunk of the pool.
//!
//! | bytes | what |
//! | --- | --- |
//! | 0..8 | magic |
//! | 8..16 | the number of changes |
//! | 16..24 | the length of the intent in bytes |
//! | 24..32 | the generation of the session that wrote it |
//! | 32..36 | CRC-32C of all bytes of the intent, with zeros in this place |
//! | 36..64 | zero |
//! | 64.. | 32 bytes for each change, by map, then by key |
//! | behind them | keys that are byte strings, each followed by zeros up to a whole word |
//!
//! | word of a change | what |
//! | --- | --- |
//! | 0 | bits 0..48: the offset of the map's entry in the directory; bit 48: put; bit 49: the key is a byte string; bit 50: the key is only read. Without bits 48 and 50 the key is removed |
//! | 1 | the key; of a byte string the first eight bytes, as a number that sorts as they do |
//! | 2 | the value that is put; in a map of byte strings the offset of its record; else 0 |
//! | 3 | of a byte string: its length (bits 0..20), and its place in bytes from the start of the intent |
//!
//! An intent never changes after it was written. It is the index in which readers look up the keys of a commit.

use std::cmp::Ordering as Order;

use crate::cpu::crc32c;
use crate::media::{LINE, Media, Ordering, Region};
use crate::space::batch::key::AnyKey;
use crate::{Error, Result};

const MAGIC: u64 = u64::from_le_bytes(*b"endINT01");
/// Words of the header.
const HEADER: usize = LINE as usize / 8;
/// Words of a change.
const CHANGE: usize = 4;
/// The most changes in an intent.
pub(crate) const MOST_CHANGES: usize = 1 << 20;

const MAP: u64 = (1 << 48) - 1;
const PUT: u64 = 1 << 48;
const IS_BYTES: u64 = 1 << 49;
const READ: u64 = 1 << 50;
const KEY_LENGTH: u32 = 20;

/// What a commit does to a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plan {
    /// Gives it this value, or the record at this offset.
    Put(u64),
    /// Removes it.
    Remove,
    /// Only checks its value, which then stays until the end of the commit.
    Read,
}

impl Plan {
    fn of([head, _, value, _]: [u64; CHANGE]) -> Self {
        match head & (PUT | READ) {
            0 => Self::Remove,
            PUT => Self::Put(value),
            _ => Self::Read,
        }
    }

    /// The value of the key behind the commit, if the commit decides it: `None` if the key is removed.
    pub(crate) fn outcome(self) -> Option<Option<u64>> {
        match self {
            Self::Put(value) => Some(Some(value)),
            Self::Remove => Some(None),
            Self::Read => None,
        }
    }
}

/// A change in an intent that is about to be written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Planned<'k> {
    /// The offset of the map's entry in the directory.
    pub(crate) map: u64,
    pub(crate) key: AnyKey<'k>,
    pub(crate) plan: Plan,
}

/// The words of the intent of these changes, which are sorted by map and key.
pub(crate) fn encode(changes: &[Planned<'_>], generation: u64) -> Vec<u64> {
    let mut words = vec![0; HEADER + CHANGE * changes.len()];
    for (i, &Planned { map, key, plan }) in changes.iter().enumerate() {
        let (act, value) = match plan {
            Plan::Put(value) => (PUT, value),
            Plan::Remove => (0, 0),
            Plan::Read => (READ, 0),
        };
        let (form, place) = match key {
            AnyKey::Number(_) => (0, 0),
            AnyKey::Bytes(bytes) => {
                let place = (8 * words.len() as u64) << KEY_LENGTH | bytes.len() as u64;
                words.extend(bytes.chunks(8).map(word_of));
                (IS_BYTES, place)
            }
        };
        let change = [map | act | form, key.word(), value, place];
        words[HEADER + CHANGE * i..][..CHANGE].copy_from_slice(&change);
    }
    let header = [MAGIC, changes.len() as u64, 8 * words.len() as u64, generation];
    words[..4].copy_from_slice(&header);
    words[4] = u64::from(crc32c::append_words(0, words.iter().copied()));
    words
}

/// Up to eight bytes as a word, with zeros behind them.
fn word_of(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

// no mutant: no campaign of mutants makes commits.
/// Writes an intent to a chunk of as many bytes, and starts the write-back. The caller fences.
pub(crate) fn write<M: Media>(media: &M, at: u64, words: &[u64]) -> Result<()> {
    let region = Region::new(media, at, words.len())?;
    // Relaxed: who reads the intent has loaded its offset from a word that was stored with Release.
    words.iter().enumerate().for_each(|(i, &word)| region.store(i, word, Ordering::Relaxed));
    region.flush(0, words.len());
    Ok(())
}

/// A change that was read from an intent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) map: u64,
    pub(crate) key: OwnedKey,
    pub(crate) plan: Plan,
}

/// A copy of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OwnedKey {
    Number(u64),
    Bytes(Vec<u8>),
}

/// An intent in the pool.
pub(crate) struct Intent<'m, M> {
    words: Region<'m, M>,
    changes: usize,
}

impl<M> Clone for Intent<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Intent<'_, M> {}

impl<'m, M: Media> Intent<'m, M> {
    /// The intent at `at`.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] if there is none.
    pub(crate) fn enter(media: &'m M, at: u64) -> Result<Self> {
        // Relaxed: the word that led here was loaded with Acquire.
        let header = Region::new(media, at, HEADER)?;
        let [magic, changes, bytes] = [0, 1, 2].map(|i| header.load(i, Ordering::Relaxed));
        let least = (changes <= MOST_CHANGES as u64)
            .then(|| 8 * (HEADER + CHANGE * changes as usize) as u64);
        let is_sound = least.is_some_and(|least| bytes >= least) && bytes.is_multiple_of(8);
        if magic != MAGIC || !is_sound {
            return damage(at);
        }
        let words = Region::new(media, at, (bytes / 8) as usize)?;
        Ok(Self { words, changes: changes as usize })
    }

    /// Reads all of the intent.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] if the checksum does not match the contents.
    pub(crate) fn check(self) -> Result<()> {
        let word = |i| self.words.load(i, Ordering::Relaxed);
        let counting = |i| if i == 4 { 0 } else { word(i) };
        let sum = crc32c::append_words(0, (0..self.words.words()).map(counting));
        if word(4) == u64::from(sum) { Ok(()) } else { damage(self.at()) }
    }

    /// The offset of the intent.
    pub(crate) fn at(self) -> u64 {
        self.words.offset()
    }

    /// Its length in bytes.
    pub(crate) fn bytes(self) -> u64 {
        8 * self.words.words() as u64
    }

    /// The number of keys.
    pub(crate) fn len(self) -> usize {
        self.changes
    }

    /// The number of keys that are not only read.
    pub(crate) fn changes(self) -> Result<usize> {
        let mut changes = 0;
        for i in 0..self.changes {
            changes += usize::from(self.get(i)?.plan != Plan::Read);
        }
        Ok(changes)
    }

    /// The maps that it changes, by the offsets of their entries.
    pub(crate) fn maps(self) -> Vec<u64> {
        let mut maps: Vec<u64> = (0..self.changes).map(|i| self.change(i)[0] & MAP).collect();
        maps.dedup();
        maps
    }

    fn change(self, i: usize) -> [u64; CHANGE] {
        std::array::from_fn(|n| self.words.load(HEADER + CHANGE * i + n, Ordering::Relaxed))
    }

    /// The place of a key that is a byte string: its first byte, and its length.
    fn place(self, word: u64) -> Result<(usize, usize)> {
        let (from, len) =
            ((word >> KEY_LENGTH) as usize, (word & ((1 << KEY_LENGTH) - 1)) as usize);
        let is_inside = from.checked_add(len).is_some_and(|end| end <= 8 * self.words.words());
        if is_inside { Ok((from, len)) } else { damage(self.at()) }
    }

    fn bytes_of_key(self, word: u64) -> Result<Vec<u8>> {
        let (from, len) = self.place(word)?;
        let mut bytes = vec![0; len];
        self.words.read(from, &mut bytes);
        Ok(bytes)
    }

    /// Change `i`.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`].
    pub(crate) fn get(self, i: usize) -> Result<Change> {
        let change @ [map, key, _, place] = self.change(i);
        let key = match map & IS_BYTES {
            0 => OwnedKey::Number(key),
            _ => OwnedKey::Bytes(self.bytes_of_key(place)?),
        };
        Ok(Change { map: map & MAP, key, plan: Plan::of(change) })
    }

    /// What the intent does to a key; `None` if it does not have the key.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`].
    pub(crate) fn find(self, map: u64, key: AnyKey<'_>) -> Result<Option<Plan>> {
        let (mut low, mut high) = (0, self.changes);
        while low < high {
            let middle = low.midpoint(high);
            let change = self.change(middle);
            match self.compare(change, map, key)? {
                Order::Less => low = middle + 1,
                Order::Greater => high = middle,
                Order::Equal => return Ok(Some(Plan::of(change))),
            }
        }
        Ok(None)
    }

    fn compare(self, change: [u64; CHANGE], map: u64, key: AnyKey<'_>) -> Result<Order> {
        let order = (change[0] & MAP, change[1]).cmp(&(map, key.word()));
        match key {
            AnyKey::Bytes(bytes) if order == Order::Equal => {
                Ok(self.bytes_of_key(change[3])?.as_slice().cmp(bytes))
            }
            _ => Ok(order),
        }
    }
}

fn damage<T>(offset: u64) -> Result<T> {
    let what = "several changes at once of which not all are there";
    Err(Error::Corrupt { offset, what })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::media::Heap;
    use crate::space::layout::PAGE;

    const AT: u64 = 65_536;

    #[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    fn written<'m>(media: &'m Heap, changes: &[Planned<'_>]) -> Intent<'m, Heap> {
        write(media, AT, &encode(changes, 7)).unwrap();
        Intent::enter(media, AT).unwrap()
    }

    fn some() -> Vec<Planned<'static>> {
        let put = |value: Option<u64>| value.map_or(Plan::Remove, Plan::Put);
        let number = |map, key, value| Planned { map, key: AnyKey::Number(key), plan: put(value) };
        let bytes = |key, value| Planned { map: 18_432, key: AnyKey::Bytes(key), plan: put(value) };
        let read = Planned { map: 17_408, key: AnyKey::Number(4), plan: Plan::Read };
        vec![
            number(16_384, 0, Some(5)),
            number(16_384, u64::MAX, None),
            number(17_408, 3, Some(u64::MAX)),
            read,
            bytes(b"", Some(64)),
            bytes(b"\0", None),
            bytes(b"abcdefgh", Some(128)),
            bytes(b"abcdefghi", Some(192)),
        ]
    }

    #[test]
    fn every_change_is_found_and_no_other() {
        let media = Heap::new(PAGE);
        media.grow(PAGE).unwrap();
        let changes = some();
        let intent = written(&media, &changes);
        intent.check().unwrap();
        assert_eq!(intent.len(), changes.len());
        for (i, Planned { map, key, plan }) in changes.into_iter().enumerate() {
            assert_eq!(intent.find(map, key).unwrap(), Some(plan));
            let change = intent.get(i).unwrap();
            assert_eq!((change.map, change.plan), (map, plan));
            match (key, change.key) {
                (AnyKey::Number(key), OwnedKey::Number(read)) => assert_eq!(key, read),
                (AnyKey::Bytes(key), OwnedKey::Bytes(read)) => assert_eq!(key, read),
                other => panic!("{other:?}"),
            }
        }
        for (map, key) in [
            (16_384, AnyKey::Number(1)),
            (17_408, AnyKey::Number(0)),
            (19_456, AnyKey::Number(3)),
            (18_432, AnyKey::Bytes(b"abcdefg")),
            (18_432, AnyKey::Bytes(b"abcdefghj")),
            (18_432, AnyKey::Bytes(b"\0\0")),
        ] {
            assert_eq!(intent.find(map, key).unwrap(), None, "{map} {key:?}");
        }
    }

    #[test]
    fn a_changed_word_is_noticed() {
        let media = Heap::new(PAGE);
        media.grow(PAGE).unwrap();
        let intent = written(&media, &some());
        let words = Region::new(&media, AT, (intent.bytes() / 8) as usize).unwrap();
        for i in 0..words.words() {
            let word = words.load(i, Ordering::Relaxed);
            words.store(i, word ^ 1 << 17, Ordering::Relaxed);
            assert!(Intent::enter(&media, AT).and_then(Intent::check).is_err(), "word {i}");
            words.store(i, word, Ordering::Relaxed);
        }
        intent.check().unwrap();
    }
}
