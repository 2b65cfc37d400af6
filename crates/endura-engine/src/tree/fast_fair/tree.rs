//! A tree in an open map.

use std::marker::PhantomData;
use std::sync::Arc;

use crate::kind::Kind;
use crate::media::Media;
use crate::space::{MapState, OpenMap, Space};
use crate::tree::numbers::Values;
use crate::tree::wrong_kind::wrong_kind;
use crate::{Error, Result};

use crate::tree::fast_fair::nodes::search::Search;

/// The number by which the directory records this kind of map.
pub(crate) const KIND: u8 = Kind::FastFair.number();

/// A FAST & FAIR tree with inner nodes of `INNER` words and leaves of `LEAF` words. The first 8 words of each node are
/// its header. `S` is the method by which a node is searched.
///
/// ```
/// use std::sync::Arc;
/// use endura_engine::media::Heap;
/// use endura_engine::space::{PAGE, Session, Space};
/// use endura_engine::tree::fast_fair::{LineBinary, Tree};
/// use endura_engine::tree::{Change, Index};
///
/// let medium = Heap::new(8 * PAGE);
/// Space::format(&medium)?;
/// let session = Session { generation: 1, clean: true, read_only: false };
/// let space = Arc::new(Space::mount(medium, session)?);
///
/// // The paper's nodes: 512 bytes.
/// let tree = Tree::<_, 64, 64, LineBinary>::open(&space, "hits")?;
/// tree.apply(7, |_| Change::Put(1))?;
/// assert_eq!(tree.get(7)?, Some(1));
/// # Ok::<(), endura_engine::Error>(())
/// ```
pub struct Tree<M: Media, const INNER: usize, const LEAF: usize, S> {
    pub(crate) open: OpenMap<M>,
    pub(crate) search: PhantomData<S>,
}

impl<M: Media, const INNER: usize, const LEAF: usize, S> Clone for Tree<M, INNER, LEAF, S> {
    fn clone(&self) -> Self {
        Self { open: self.open.clone(), search: PhantomData }
    }
}

impl<M: Media, const INNER: usize, const LEAF: usize, S: Search> Tree<M, INNER, LEAF, S> {
    /// Opens the tree of an open map.
    pub(crate) fn over(space: &Arc<Space<M>>, map: Arc<MapState>) -> Result<Self> {
        Self::with_values(space, map, Values::Numbers)
    }

    /// Opens the tree of an open map with values of this sort.
    pub(crate) fn with_values(
        space: &Arc<Space<M>>,
        map: Arc<MapState>,
        values: Values,
    ) -> Result<Self> {
        if map.kind() == KIND && map.parameters() == values.parameters(Self::PARAMETERS) {
            Ok(Self { open: OpenMap::new(space, map), search: PhantomData })
        } else {
            Err(wrong_kind(&map, Kind::FastFair))
        }
    }

    /// The node sizes, as the directory records them.
    pub(crate) const PARAMETERS: u64 = (INNER as u64) << 16 | LEAF as u64;

    pub(crate) fn root_at(&self) -> u64 {
        self.open.map().root()
    }

    /// The map's entry in the directory, with its counters.
    pub fn map(&self) -> &MapState {
        self.open.map()
    }

    pub(crate) fn no_leaf(&self) -> Error {
        Error::Corrupt { offset: self.root_at(), what: "a tree without leaves" }
    }
}
