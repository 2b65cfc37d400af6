//! A set of chunks, with one bit for each.

use crate::numbered::Numbered;
use crate::space::alloc::class::{Class, Room};
use crate::space::layout::UNIT;

/// Words of a group of bits.
const WORDS: usize = 16;

/// A set of chunks anywhere in the pool. The set takes at most 1/100 of the memory of its chunks.
#[derive(Default)]
pub(crate) struct ChunkSet {
    /// By class, then by the number of the group.
    slabs: Numbered<Group>,
    /// Chunks with a span or pages of their own, and their bytes as requested.
    alone: Numbered<u64>,
}

/// Neighbouring places at which a chunk of the class can begin: one bit for each.
#[derive(Clone)]
struct Group {
    class: Class,
    number: u64,
    words: [u64; WORDS],
}

impl Group {
    /// The chunks of the group, each with its bytes.
    fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        let bits = (0..WORDS).flat_map(move |word| {
            let is_set = move |bit: &u32| self.words[word] >> bit & 1 == 1;
            (0..64).filter(is_set).map(move |bit| (word, bit))
        });
        bits.map(|(word, bit)| (at(self.class, self.number, word, bit), self.class.size()))
    }
}

/// The number by which a group is found among those of all classes. Offsets have at most 48 bits.
fn among_all(class: Class, group: u64) -> u64 {
    (class.index() as u64) << 48 | group
}

/// The distance in bytes between places at which chunks of the class can begin: spans begin at units, and the chunks of
/// a span follow each other without a gap.
fn distance(class: Class) -> u64 {
    // The largest power of two in the size.
    UNIT.min(1 << class.size().trailing_zeros())
}

/// The group of a chunk at `at`, the chunk's word in the group, and its bit.
fn place(class: Class, at: u64) -> (u64, usize, u64) {
    let number = at / distance(class);
    let group = number / (64 * WORDS as u64);
    (group, (number / 64) as usize % WORDS, 1 << (number % 64))
}

/// The offset of the chunk with this bit.
fn at(class: Class, group: u64, word: usize, bit: u32) -> u64 {
    (64 * (group * WORDS as u64 + word as u64) + u64::from(bit)) * distance(class)
}

impl ChunkSet {
    /// Adds a chunk of `bytes` bytes, as requested. The pool must have such a chunk. Returns whether the chunk is new
    /// in the set.
    pub(crate) fn insert(&mut self, at: u64, bytes: u64) -> bool {
        let Room::Slab(class) = Room::of(bytes) else {
            return self.alone.insert(at, bytes).is_none();
        };
        let (group, word, bit) = place(class, at);
        let fresh = || Group { class, number: group, words: [0; WORDS] };
        let words = &mut self.slabs.get_or_insert_with(among_all(class, group), fresh).words;
        let is_new = words[word] & bit == 0;
        words[word] |= bit;
        is_new
    }

    /// Removes about `count` chunks, and returns them with their bytes.
    pub(crate) fn take(&mut self, count: usize) -> Vec<(u64, u64)> {
        let mut chunks = Vec::with_capacity(count);
        while chunks.len() < count {
            if let Some(first) = self.slabs.first()
                && let Some(Group { class, number, words }) = self.slabs.get_mut(first)
            {
                match words.iter().position(|&word| word != 0) {
                    Some(word) => {
                        let bit = words[word].trailing_zeros();
                        words[word] &= words[word] - 1;
                        chunks.push((at(*class, *number, word, bit), class.size()));
                    }
                    None => _ = self.slabs.remove(first),
                }
            } else if let Some(at) = self.alone.first()
                && let Some(bytes) = self.alone.remove(at)
            {
                chunks.push((at, bytes));
            } else {
                break;
            }
        }
        chunks
    }

    /// All chunks, each with its bytes.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        let alone = self.alone.iter().map(|(at, &bytes)| (at, bytes));
        self.slabs.iter().flat_map(|(_, group)| group.iter()).chain(alone)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.slabs.is_empty() && self.alone.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::layout::PAGE;

    #[test]
    fn what_goes_in_comes_out_once() {
        let mut set = ChunkSet::default();
        let chunks = [
            (2 * PAGE + 64, 64),
            (PAGE + 4096 + 80, 80),
            (PAGE + 512, 512),
            (PAGE + 1024, 512),
            (9 * PAGE, 512),
            (4096 + 2112, 2112),
            (PAGE + 16_384, 16_384),
            (3 * PAGE + UNIT, 20_000),
            (5 * PAGE + 64, 3 * PAGE),
        ];
        for (at, bytes) in chunks {
            assert!(set.insert(at, bytes) && !set.insert(at, bytes));
        }
        assert!(set.iter().eq(chunks));
        let taken: Vec<_> = std::iter::from_fn(|| set.take(1).pop()).collect();
        assert_eq!(taken, chunks);
        assert!(set.is_empty());
    }
}
