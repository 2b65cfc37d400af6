//! A tree in an open map.

use std::marker::PhantomData;
use std::sync::Arc;

use crate::Result;
use crate::kind::Kind;
use crate::media::Media;
use crate::space::{AnyKey, Guard, MapState, OpenMap, Space};
use crate::tree::wrong_kind::wrong_kind;
use crate::types::Types;

use crate::tree::roart::nodes::node::{NewNode, Node};
use crate::tree::roart::nodes::root::root_link;
use crate::tree::roart::nodes::word::{Link, NodeKind};
use crate::tree::roart::techniques::{Full, Techniques};

/// The number by which the directory records this kind of map.
pub(crate) const KIND: u8 = Kind::Roart.number();

/// The version of the format of nodes, arrays and records, as the directory records it.
pub(crate) const PARAMETERS: u64 = 1;

/// A ROART tree.
///
/// ```
/// use std::sync::Arc;
/// use endura_engine::media::Heap;
/// use endura_engine::space::{PAGE, Session, Space};
/// use endura_engine::tree::roart::Tree;
/// use endura_engine::tree::{ByteChange, ByteIndex};
///
/// let medium = Heap::new(8 * PAGE);
/// Space::format(&medium)?;
/// let session = Session { generation: 1, clean: true, read_only: false };
/// let space = Arc::new(Space::mount(medium, session)?);
///
/// let tree = Tree::<_>::open(&space, "docs")?;
/// tree.apply(b"user:1", |_| ByteChange::Put(b"Ada".into()))?;
/// assert_eq!(tree.get_with(b"user:1", |value| value.to_vec())?.as_deref(), Some(&b"Ada"[..]));
/// # Ok::<(), endura_engine::Error>(())
/// ```
pub struct Tree<M: Media, T = Full> {
    pub(crate) open: OpenMap<M>,
    /// The word that leads to the root, which is never replaced.
    pub(crate) root: Link,
    pub(crate) techniques: PhantomData<T>,
}

impl<M: Media, T> Clone for Tree<M, T> {
    fn clone(&self) -> Self {
        Self { open: self.open.clone(), root: self.root, techniques: PhantomData }
    }
}

impl<M: Media, T: Techniques> Tree<M, T> {
    /// Opens the map `name` of a pool; creates it if there is none.
    ///
    /// # Errors
    ///
    /// [`Error::WrongKind`](crate::Error::WrongKind) if the map of that name is of another kind,
    /// [`Error::OtherNodes`](crate::Error::OtherNodes) if it has another version of the format,
    /// [`Error::UnknownNodes`](crate::Error::UnknownNodes) if this build does not know its kind,
    /// [`Error::Corrupt`](crate::Error::Corrupt) if its root word leads nowhere, and those of [`Space::open_map`].
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
        space.open_typed_map(name, KIND, PARAMETERS, types, create)
    }

    /// Opens the tree of an open map.
    pub(crate) fn over(space: &Arc<Space<M>>, map: Arc<MapState>) -> Result<Self> {
        if map.kind() == KIND && map.parameters() == PARAMETERS {
            // The thread is pinned here, as in every operation: the space of a dropped map may belong to another map by
            // now.
            let guard = space.pin()?;
            let root = match map.is_dropped() {
                true => Link::NONE,
                false => root_link(guard.media(), map.root())?,
            };
            Ok(Self { open: OpenMap::new(space, map), root, techniques: PhantomData })
        } else {
            Err(wrong_kind(&map, Kind::Roart))
        }
    }

    /// Writes an empty tree and returns its root word. Nothing leads to the tree yet. It is durable after the caller's
    /// next fence.
    fn create(guard: &Guard<'_, M>) -> Result<u64> {
        let root = NewNode { kind: NodeKind::N256, prefix: &[], eok: Link::NONE, children: &[] };
        let at = guard.alloc(Node::<M>::bytes_of(root.kind))?;
        Node::create(guard, at, &root)?;
        Ok(at)
    }

    pub(crate) fn root<'g>(&self, guard: &'g Guard<'_, M>) -> Result<Node<'g, M>> {
        Node::root(guard.media(), self.root.at())
    }

    pub(crate) fn open_map(&self) -> &OpenMap<M> {
        &self.open
    }

    /// A function of its own: if this call were inlined into the long functions that write, an insert would cost 2 %
    /// more instructions.
    pub(crate) fn pin_mut(&self) -> Result<Guard<'_, M>> {
        self.open.pin_mut()
    }

    /// As [`pin_mut`](Self::pin_mut), for a write of one key.
    pub(crate) fn pin_mut_for(&self, key: &[u8]) -> Result<Guard<'_, M>> {
        self.open.pin_mut_for(|| AnyKey::Bytes(key))
    }
}
