//! A tree in an open map.

use std::marker::PhantomData;
use std::sync::Arc;

use crate::kind::Kind;
use crate::media::Media;
use crate::space::{Guard, MapState, OpenMap, Space};
use crate::tree::fast_fair::nodes::lock_word::LockWord;
use crate::tree::fast_fair::path::root::Root;
use crate::tree::fast_fair_bytes::nodes::node::{ByteNode, DEAD};
use crate::tree::fast_fair_bytes::nodes::texts::Texts;
use crate::tree::fast_fair_bytes::nodes::whole::Init;
use crate::tree::key_word::{KeyWord, Seven, parameters};
use crate::tree::records::fresh::Fresh;
use crate::tree::wrong_kind::wrong_kind;
use crate::types::Types;
use crate::{Error, Result};

/// The number by which the directory records this kind of map.
pub(crate) const KIND: u8 = Kind::FastFair.number();

/// A FAST & FAIR tree of byte strings, with inner nodes of `INNER` words and leaves of `LEAF` words. The first 16 words of
/// each node are its header and its texts. `K` says how many bytes of a key a node has.
///
/// ```
/// use std::sync::Arc;
/// use endura_engine::media::Heap;
/// use endura_engine::space::{PAGE, Session, Space};
/// use endura_engine::tree::fast_fair_bytes::Tree;
/// use endura_engine::tree::{ByteChange, ByteIndex};
///
/// let medium = Heap::new(8 * PAGE);
/// Space::format(&medium)?;
/// let session = Session { generation: 1, clean: true, read_only: false };
/// let space = Arc::new(Space::mount(medium, session)?);
///
/// let tree = Tree::<_, 128, 128>::open(&space, "docs")?;
/// tree.apply(b"user:1", |_| ByteChange::Put(b"Ada".into()))?;
/// assert_eq!(tree.get_with(b"user:1", |value| value.to_vec())?.as_deref(), Some(&b"Ada"[..]));
/// # Ok::<(), endura_engine::Error>(())
/// ```
pub struct Tree<M: Media, const INNER: usize, const LEAF: usize, K = Seven> {
    pub(crate) open: OpenMap<M>,
    pub(crate) words: PhantomData<K>,
}

impl<M: Media, const INNER: usize, const LEAF: usize, K> Clone for Tree<M, INNER, LEAF, K> {
    fn clone(&self) -> Self {
        Self { open: self.open.clone(), words: PhantomData }
    }
}

impl<M: Media, const INNER: usize, const LEAF: usize, K: KeyWord> Tree<M, INNER, LEAF, K> {
    /// The node sizes, and that keys are byte strings, as the directory records them.
    pub(crate) const PARAMETERS: u64 = parameters::<K>((INNER as u64) << 16 | LEAF as u64);

    /// Opens the map `name` of a pool; creates it if there is none.
    ///
    /// # Errors
    ///
    /// [`Error::WrongKind`] if the map of that name is of another kind, [`Error::OtherNodes`] if its nodes have other
    /// sizes, [`Error::UnknownNodes`] if this build does not know its kind, and those of [`Space::open_map`].
    pub fn open(space: &Arc<Space<M>>, name: &str) -> Result<Self> {
        Self::over(space, Self::find_or_create(space, name, &Types::byte_strings())?)
    }

    /// Finds the map `name`, of any kind; creates it with these types if there is none.
    pub(crate) fn find_or_create(
        space: &Arc<Space<M>>,
        name: &str,
        types: &Types,
    ) -> Result<Arc<MapState>> {
        let create = |guard: &Guard<'_, M>, _| Self::create(guard);
        space.open_typed_map(name, KIND, Self::PARAMETERS, types, create)
    }

    /// Opens the tree of an open map.
    pub(crate) fn over(space: &Arc<Space<M>>, map: Arc<MapState>) -> Result<Self> {
        if map.kind() == KIND && map.parameters() == Self::PARAMETERS {
            Ok(Self { open: OpenMap::new(space, map), words: PhantomData })
        } else {
            Err(wrong_kind(&map, Kind::FastFair))
        }
    }

    /// Writes an empty tree, of one leaf under a root, and returns its root word. Nothing leads to the tree yet. The tree is
    /// durable after the caller's next fence. If the call fails, no chunk stays allocated.
    fn create(guard: &Guard<'_, M>) -> Result<u64> {
        let mut fresh = Fresh::new(guard);
        let leaf = fresh.alloc(ByteNode::<M, LEAF>::BYTES)?;
        let root = fresh.alloc(ByteNode::<M, INNER>::BYTES)?;
        let empty = Texts { prefix: &[], low: &[] };
        let init = |at, level| {
            let lock = LockWord::created(guard, at);
            Init { lock, high: DEAD, sibling: 0, level }
        };
        let node = ByteNode::<M, LEAF>::fresh(guard.media(), leaf)?;
        node.initialise(&init(leaf, 0), &empty, 0, [].into_iter());
        node.flush();
        let node = ByteNode::<M, INNER>::fresh(guard.media(), root)?;
        node.initialise(&init(root, 1), &empty, 0, [(0, leaf)].into_iter());
        // The caller fences before it stores the root word.
        node.flush();
        fresh.linked();
        Ok(Root { at: root, level: 1 }.word())
    }

    /// The map's entry in the directory, with its counters.
    pub fn map(&self) -> &MapState {
        self.open.map()
    }

    pub(crate) fn open_map(&self) -> &OpenMap<M> {
        &self.open
    }

    pub(crate) fn no_leaf(&self) -> Error {
        Error::Corrupt { offset: self.open.map().root(), what: "a tree without leaves" }
    }
}
