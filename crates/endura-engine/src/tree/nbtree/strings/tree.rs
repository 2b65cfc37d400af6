//! A tree of byte strings in an open map.

use std::sync::Arc;

use crate::Result;
use crate::media::Media;
use crate::space::{MapState, OpenMap, Space};
use crate::tree::key_word::{KeyWord, Seven, parameters};
use crate::types::Types;

use crate::tree::nbtree::design::Strings;
use crate::tree::nbtree::tree::Tree;

/// An NBTree of byte strings, with blocks of `W` words (16 to 128, whole cache lines), eight of which are the header.
///
/// ```
/// use std::sync::Arc;
/// use endura_engine::media::Heap;
/// use endura_engine::space::{PAGE, Session, Space};
/// use endura_engine::tree::nbtree::ByteTree;
/// use endura_engine::tree::{ByteChange, ByteIndex};
///
/// let medium = Heap::new(8 * PAGE);
/// Space::format(&medium)?;
/// let session = Session { generation: 1, clean: true, read_only: false };
/// let space = Arc::new(Space::mount(medium, session)?);
///
/// let tree = ByteTree::<_, 128, 64>::open_strings(&space, "docs")?;
/// tree.apply(b"user:1", |_| ByteChange::Put(b"Ada".into()))?;
/// assert_eq!(tree.get_with(b"user:1", |value| value.to_vec())?.as_deref(), Some(&b"Ada"[..]));
/// # Ok::<(), endura_engine::Error>(())
/// ```
pub type ByteTree<M, const W: usize, const FANOUT: usize, K = Seven> =
    Tree<M, W, FANOUT, Strings<K>>;

impl<M: Media, const W: usize, const FANOUT: usize, K: KeyWord> ByteTree<M, W, FANOUT, K> {
    /// The block size, and that keys are byte strings, as the directory records them.
    pub(crate) const PARAMETERS: u64 = {
        assert!(W >= 16, "a block has room for entries behind its header");
        parameters::<K>(W as u64)
    };

    /// Opens the map `name` of a pool; creates it if there is none.
    ///
    /// # Errors
    ///
    /// Those of [`open`](Tree::open).
    pub fn open_strings(space: &Arc<Space<M>>, name: &str) -> Result<Self> {
        Self::over_strings(
            space,
            Self::find_or_create_strings(space, name, &Types::byte_strings())?,
        )
    }

    /// Finds the map `name`, of any kind; creates it with these types if there is none.
    pub(crate) fn find_or_create_strings(
        space: &Arc<Space<M>>,
        name: &str,
        types: &Types,
    ) -> Result<Arc<MapState>> {
        Self::find_or_create_as(space, name, types, Self::PARAMETERS)
    }

    /// Opens the tree of an open map.
    pub(crate) fn over_strings(space: &Arc<Space<M>>, map: Arc<MapState>) -> Result<Self> {
        Self::over_as(space, map, Self::PARAMETERS)
    }

    pub(crate) fn open_map(&self) -> &OpenMap<M> {
        &self.open
    }
}
