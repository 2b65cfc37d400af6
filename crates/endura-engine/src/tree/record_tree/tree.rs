//! A tree in an open map.

use std::sync::Arc;

use crate::media::Media;
use crate::space::{MapState, OpenMap, Space};
use crate::tree::numbers::{NumberTree, Values};
use crate::tree::records::record::Record;
use crate::types::Types;
use crate::{Error, Result};

/// The most bytes of a key.
const LONGEST: usize = 8;

/// A tree of numbers `T` with the offsets of records as its values.
///
/// ```
/// use std::sync::Arc;
/// use endura_engine::media::Heap;
/// use endura_engine::space::{PAGE, Session, Space};
/// use endura_engine::tree::fast_fair::{LineBinary, Tree};
/// use endura_engine::tree::record_tree::RecordTree;
/// use endura_engine::tree::{ByteChange, ByteIndex};
///
/// let medium = Heap::new(8 * PAGE);
/// Space::format(&medium)?;
/// let session = Session { generation: 1, clean: true, read_only: false };
/// let space = Arc::new(Space::mount(medium, session)?);
///
/// let tree = RecordTree::<Tree<_, 64, 64, LineBinary>>::open(&space, "people")?;
/// let key = 7_u64.to_be_bytes();
/// tree.apply(&key, |_| ByteChange::Put(b"Ada".into()))?;
/// assert_eq!(tree.get_with(&key, |value| value.to_vec())?.as_deref(), Some(&b"Ada"[..]));
/// # Ok::<(), endura_engine::Error>(())
/// ```
#[derive(Clone)]
pub struct RecordTree<T> {
    pub(crate) tree: T,
}

/// The number of a key, or of the bound of a range: its first bytes, and zeros behind them. For two byte strings in order
/// the numbers are in order, or equal.
#[inline(always)]
pub(crate) fn number_of(key: &[u8]) -> u64 {
    let mut bytes = [0; LONGEST];
    let len = key.len().min(LONGEST);
    bytes[..len].copy_from_slice(&key[..len]);
    u64::from_be_bytes(bytes)
}

/// The number of a key.
///
/// # Errors
///
/// [`Error::KeyTooLong`].
#[inline(always)]
pub(crate) fn number_of_key(key: &[u8]) -> Result<u64> {
    match key.len() {
        0..=LONGEST => Ok(number_of(key)),
        len => Err(Error::KeyTooLong { len: len as u64, max: LONGEST as u64 }),
    }
}

impl<M: Media, T: NumberTree<Medium = M>> RecordTree<T> {
    /// Opens the map `name` of a pool; creates it if there is none.
    ///
    /// # Errors
    ///
    /// Those of `open` of the tree of numbers.
    pub fn open(space: &Arc<Space<M>>, name: &str) -> Result<Self> {
        Self::over(space, Self::find_or_create(space, name, &Types::byte_strings())?)
    }

    /// Finds the map `name`, of any kind; creates it with these types if there is none.
    pub(crate) fn find_or_create(
        space: &Arc<Space<M>>,
        name: &str,
        types: &Types,
    ) -> Result<Arc<MapState>> {
        T::find_or_create(space, name, types, Values::Records)
    }

    /// Opens the tree of an open map.
    pub(crate) fn over(space: &Arc<Space<M>>, map: Arc<MapState>) -> Result<Self> {
        T::over(space, map, Values::Records).map(|tree| Self { tree })
    }

    /// The tree of numbers, whose values are the offsets of records.
    pub fn numbers(&self) -> &T {
        &self.tree
    }

    pub(crate) fn open_map(&self) -> &OpenMap<M> {
        self.tree.open_map()
    }
}

/// The record at `at`, to which the tree leads from this number.
///
/// # Errors
///
/// [`Error::Corrupt`] if it is the record of another number, or none.
#[inline(always)]
pub(crate) fn record_at<M: Media>(media: &M, at: u64, number: u64) -> Result<Record<'_, M>> {
    let record = Record::enter(media, at)?;
    if record.number() == Some(number) { Ok(record) } else { Err(of_another_key(at)) }
}

/// The record at `at`, to which the tree leads from the number of `key`.
///
/// # Errors
///
/// As for [`record_at`], and [`Error::Encode`] if the key of the record has another length than `key`.
#[inline(always)]
pub(crate) fn record_of<'m, M: Media>(
    media: &'m M,
    at: u64,
    (key, number): (&[u8], u64),
) -> Result<Record<'m, M>> {
    let record = record_at(media, at, number)?;
    if record.key_len() == key.len() { Ok(record) } else { Err(of_another_length()) }
}

#[cold]
fn of_another_length() -> Error {
    let source = "a key of another length than those of the map".into();
    Error::Encode { type_name: "key".to_owned(), source }
}

#[cold]
fn of_another_key(offset: u64) -> Error {
    Error::Corrupt { offset, what: "the record of another key" }
}
