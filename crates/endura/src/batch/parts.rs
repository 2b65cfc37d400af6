//! The parts of a commit, encoded, until it is made.

use std::ops::Range;
use std::sync::Arc;

use endura_engine::index::Tree;
use endura_engine::index::commit::{Act, IsSame, Operation};
use endura_engine::media::Mapped;
use endura_engine::session::{Handle, Open};

use crate::{Error, Result};

/// Parts for which there is space at once, and maps that are compared.
const FEW: usize = 16;

/// An encoded key or value.
#[derive(Debug, Clone)]
enum Kept {
    /// In a map of words.
    Word(u64),
    /// In a map of byte strings: where its bytes are.
    Bytes(Range<usize>),
}

/// One part.
struct Part {
    /// The place of its map in the list of maps.
    map: u32,
    key: Kept,
    act: Act<Kept>,
    is_same: IsSame,
}

/// A key or a value, as its map stores it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Encoded<'e> {
    Word(u64),
    Bytes(&'e [u8]),
}

/// Parts in the order in which they were added.
#[derive(Default)]
pub(super) struct Parts {
    /// The maps. One may be there more than once.
    maps: Vec<Arc<Handle>>,
    parts: Vec<Part>,
    /// The encodings of all parts, one behind the other.
    bytes: Vec<u8>,
}

impl Parts {
    pub(super) fn len(&self) -> usize {
        self.parts.len()
    }

    pub(super) fn clear(&mut self) {
        self.maps.clear();
        self.parts.clear();
        self.bytes.clear();
    }

    fn keep(&mut self, encoded: Encoded<'_>) -> Kept {
        match encoded {
            Encoded::Word(word) => Kept::Word(word),
            Encoded::Bytes(bytes) => {
                let from = self.bytes.len();
                self.bytes.extend_from_slice(bytes);
                Kept::Bytes(from..self.bytes.len())
            }
        }
    }

    /// Adds a part.
    ///
    /// # Errors
    ///
    /// [`Error::OtherPool`] if the map is of another pool; those of lengths.
    pub(super) fn add(
        &mut self,
        pool: &Arc<Open>,
        map: &Arc<Handle>,
        key: Encoded<'_>,
        act: Act<Encoded<'_>>,
        is_same: IsSame,
    ) -> Result<()> {
        if !map.is_of(pool) {
            return Err(Error::OtherPool);
        }
        if let (Tree::Bytes(tree), Encoded::Bytes(key)) = (&map.tree, key) {
            let bytes = |value| if let Encoded::Bytes(bytes) = value { bytes } else { &[] };
            let act = match act {
                Act::Put(value) => Act::Put(bytes(value)),
                Act::Delete => Act::Delete,
                Act::Expect(value) => Act::Expect(value.map(bytes)),
            };
            Operation::Bytes { tree, key, act, is_same }.check()?;
        }
        let key = self.keep(key);
        let act = match act {
            Act::Put(value) => Act::Put(self.keep(value)),
            Act::Delete => Act::Delete,
            Act::Expect(value) => Act::Expect(value.map(|value| self.keep(value))),
        };
        if self.parts.is_empty() {
            self.parts.reserve(FEW);
        }
        let map = self.place_of(map);
        self.parts.push(Part { map, key, act, is_same });
        Ok(())
    }

    /// The place of a map in the list.
    #[inline]
    fn place_of(&mut self, map: &Arc<Handle>) -> u32 {
        // There are no more than parts, which are in memory.
        match self.maps.last() {
            Some(last) if Arc::ptr_eq(last, map) => self.maps.len() as u32 - 1,
            _ => self.new_place_of(map),
        }
    }

    /// As [`place_of`](Self::place_of), for another map than the part before. Of many maps only the newest are looked at.
    fn new_place_of(&mut self, map: &Arc<Handle>) -> u32 {
        let newest = self.maps.len().saturating_sub(FEW);
        let found = self.maps[newest..].iter().rposition(|other| Arc::ptr_eq(other, map));
        if let Some(place) = found {
            return (newest + place) as u32;
        }
        self.maps.push(Arc::clone(map));
        self.maps.len() as u32 - 1
    }

    fn slice(&self, kept: &Kept) -> &[u8] {
        match kept {
            Kept::Bytes(range) => &self.bytes[range.clone()],
            Kept::Word(_) => &[],
        }
    }

    fn operation<'p>(&'p self, part: &'p Part) -> Operation<'p, Mapped> {
        match (&self.maps[part.map as usize].tree, &part.key) {
            (Tree::Words(tree), &Kept::Word(key)) => {
                let word = |kept: &Kept| if let Kept::Word(word) = kept { *word } else { 0 };
                let act = match &part.act {
                    Act::Put(value) => Act::Put(word(value)),
                    Act::Delete => Act::Delete,
                    Act::Expect(value) => Act::Expect(value.as_ref().map(word)),
                };
                Operation::Word { tree, key, act }
            }
            (Tree::Bytes(tree), key) => {
                let act = match &part.act {
                    Act::Put(value) => Act::Put(self.slice(value)),
                    Act::Delete => Act::Delete,
                    Act::Expect(value) => Act::Expect(value.as_ref().map(|v| self.slice(v))),
                };
                Operation::Bytes { tree, key: self.slice(key), act, is_same: part.is_same }
            }
            (Tree::Words(_), Kept::Bytes(_)) => unreachable!("encoded as its map stores it"),
        }
    }

    /// Makes all changes at once.
    pub(super) fn commit(&self, pool: &Open) -> Result<()> {
        let operations: Vec<Operation<'_, Mapped>> =
            self.parts.iter().map(|part| self.operation(part)).collect();
        pool.commit(&operations)
    }
}
