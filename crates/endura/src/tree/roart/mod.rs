//! ROART: a radix tree with leaf arrays, from byte strings to byte strings (Ma, Zeng, Liu, Chen, Xu,
//! Lu; USENIX FAST 2021), corrected. What was corrected, and why, stands in `docs/trees.md`.
//!
//! # Structure
//!
//! A node decides by one byte of the key; the bytes that all keys below share are its
//! prefix. A child is a node, a record, or a leaf array of up to 128 records in
//! no order (the paper's leaf compaction). A key that ends at a node has a place of its own there, so
//! that any key may be a prefix of another. A word that leads to a child says what it is, so
//! that it can be entered before its first line has come. The root is a node of 256 children that
//! decides by the first byte; it is never replaced.
//!
//! # Who may write what, and when it is durable
//!
//! Records are never written to once they can be reached, nor are the prefix and the depth of a
//! node. What changes in a tree is one word at a time: a child of a node, a slot of an array. Its
//! writer holds the lock of the node or array, and stores it in the manner of link and persist
//! (`publish`): what the word leads to is durable before, and the word carries a tag until it is
//! durable itself. Whoever has to change the parent's word as well locks the parent while it holds
//! the child, never the other way round. A node or array that is replaced keeps its contents and is
//! obsolete: nobody can lock it any more.
//!
//! Fingerprints, the index of a node of 48, locks and counts are volatile in meaning, though they lie
//! in the pool: they are never flushed, and the first writer of a session to lock a chunk makes them
//! anew (the paper's selective persistence, without its per-node recovery).
//!
//! # What a reader may see
//!
//! Readers wait for no lock, and searches check no version: every word that they follow was right at the
//! moment they loaded it, and what it leads to does not change. (A scan that has sorted an array may hold
//! its lock for a few stores, to leave the order there.) Where they meet the tag they make the line
//! durable first; also where the word is empty, for that a key is absent may rest on it. In a chunk
//! that nobody has locked in this session they search without fingerprints and index.
//!
//! # Crash after store k: what recovery sees
//!
//! There is no recovery pass. Locks of an earlier session are void, readers read every state below
//! as it is. "Before" and "after" mean the map without and with the operation in flight.
//!
//! | operation, store | what is there | readers see | the next writer |
//! | --- | --- | --- | --- |
//! | any, record written | a record that nothing leads to | before | nothing; its chunk is stranded |
//! | any, new array or node written | chunks that nothing leads to | before | nothing; they are stranded |
//! | insert or update, word with tag | the record, if the word is durable | before or after | clears the tag |
//! | insert or update, word without tag | the record | after | nothing |
//! | remove, empty word with tag | the record, if that is not durable | before or after | clears the tag |
//! | remove, empty word | nothing | after | nothing |
//! | remove, last of an array; parent's word not yet | an empty array | after | uses it, or takes it out when a remove comes by |
//! | remove, node with one child left; parent's word not yet | the node | after | the same |
//! | array or node replaced, parent's word with tag | the old or the new one, whole | the same map, or after | clears the tag |
//! | array or node replaced, parent's word | the new one | after | nothing; the old one is stranded |
//! | prefix split, parent's word | the new node over the old one | after | nothing |
//! | collapse, parent's word | the child in place of the node | the same map | nothing; the node is stranded |

mod array;
mod attempt;
mod batch;
mod count;
mod descend;
mod draft;
mod ends;
mod entered;
mod fresh;
mod insert;
mod inventory;
mod lock;
mod lookup;
mod many;
mod mark;
mod node;
mod order;
mod publish;
mod record;
mod sample;
mod scan;
mod shrink;
mod sort;
mod split;
mod techniques;
mod tour;
mod verify;
mod walk;
mod word;
mod write;

use std::io;
use std::marker::PhantomData;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use crate::media::{Mark, Media, Ordering, Region};
use crate::pool::{Guard, MapState, Space};
use crate::tree::ends::Trust;
use crate::tree::{ByteChange, ByteIndex, Bytes, Len};
use crate::{Error, Result};

use descend::{Care, Sought, Spot};
use lookup::lookup;
use node::{NewNode, Node};
use word::{Link, NodeKind};

pub(crate) use inventory::Inventory;
pub use scan::Cursor;
pub use techniques::{Full, Techniques};
pub use verify::Survey;
pub(crate) use verify::{survey, void_locks};

/// The number of this kind of map in the directory.
pub(crate) const KIND: u8 = 3;

/// The format of nodes, arrays and records, as the directory records it.
pub(crate) const PARAMETERS: u64 = 1;

/// A ROART tree.
///
/// ```
/// use std::sync::Arc;
/// use endura::ByteMap;
/// use endura::lab::media::Heap;
/// use endura::lab::pool::{PAGE, Session, Space};
/// use endura::lab::tree::roart::Tree;
///
/// let medium = Heap::new(8 * PAGE);
/// Space::format(&medium)?;
/// let session = Session { generation: 1, clean: true, read_only: false };
/// let space = Arc::new(Space::mount(medium, session)?);
///
/// let map = ByteMap::over(Tree::<_>::open(&space, "docs")?);
/// map.insert(b"user:1", b"Ada")?;
/// assert_eq!(map.get(b"user:1")?.as_deref(), Some(&b"Ada"[..]));
/// # Ok::<(), endura::Error>(())
/// ```
pub struct Tree<M: Media, T = Full> {
    space: Arc<Space<M>>,
    map: Arc<MapState>,
    /// The root is never replaced.
    root: Link,
    techniques: PhantomData<T>,
}

impl<M: Media, T> Clone for Tree<M, T> {
    fn clone(&self) -> Self {
        let (space, map) = (Arc::clone(&self.space), Arc::clone(&self.map));
        Self { space, map, root: self.root, techniques: PhantomData }
    }
}

/// The word that leads to the root of the tree whose root word is at `root_at`.
fn root_link<M: Media>(media: &M, root_at: u64) -> Result<Link> {
    // Acquire: pairs with the Release of whoever made the map. It never changes.
    let at = Region::new(media, root_at, 1)?.load(0, Ordering::Acquire);
    let nowhere = || Error::Corrupt { offset: root_at, what: "not where a root can be" };
    Link::root(at).ok_or_else(nowhere)
}

/// The root of the tree whose root word is at `root_at`.
fn root_node<M: Media>(media: &M, root_at: u64) -> Result<Node<'_, M>> {
    Node::root(media, root_link(media, root_at)?.at())
}

impl<M: Media, T: Techniques> Tree<M, T> {
    /// Opens the map `name` of a pool; makes it if there is none.
    ///
    /// # Errors
    ///
    /// [`Error::WrongKind`] if there is a map of that name and another kind, [`Error::Corrupt`] if it cannot
    /// have a root, and those of [`Space::open_map`].
    pub fn open(space: &Arc<Space<M>>, name: &str) -> Result<Self> {
        let map = space.open_map(name, KIND, PARAMETERS, |guard, _| Self::create(guard))?;
        Self::over(space, map)
    }

    /// The tree in an open map.
    pub(crate) fn over(space: &Arc<Space<M>>, map: Arc<MapState>) -> Result<Self> {
        if map.kind() == KIND && map.parameters() == PARAMETERS {
            // As in every operation: the place of a map that was dropped may be another's by now.
            let guard = space.pin()?;
            let root = match map.is_dropped() {
                true => Link::NONE,
                false => root_link(guard.media(), map.root())?,
            };
            Ok(Self { space: Arc::clone(space), map, root, techniques: PhantomData })
        } else {
            let (name, found) = (map.name().to_string(), "map of another kind or format");
            Err(Error::WrongKind { name, found, want: "Roart" })
        }
    }

    /// Writes an empty tree and gives its root word. Nothing leads to it yet; it is durable once
    /// the caller's next fence is.
    fn create(guard: &Guard<'_, M>) -> Result<u64> {
        let root = NewNode { kind: NodeKind::N256, prefix: &[], eok: Link::NONE, children: &[] };
        let at = guard.alloc(Node::<M>::bytes_of(root.kind))?;
        Node::create(guard, at, &root)?;
        Ok(at)
    }

    /// Checks the whole tree and tells `visit` of every chunk, records included: its offset and its
    /// bytes. Exact only while nobody writes ([`Space::quiesce`]). O(n).
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] at the first claim that does not hold, and those of [`Space::pin`].
    pub fn survey(&self, visit: &mut dyn FnMut(u64, u64)) -> Result<Survey> {
        survey(&self.pin()?, self.map.root(), visit)
    }

    fn root<'g>(&self, guard: &'g Guard<'_, M>) -> Result<Node<'g, M>> {
        Node::root(guard.media(), self.root.at())
    }

    /// The place of a key.
    fn find<'g>(
        &self,
        guard: &'g Guard<'g, M>,
        key: &Sought<'_>,
        care: Care,
    ) -> Result<Spot<'g, M>> {
        descend::find(guard, self.root(guard)?, key, care)
    }

    fn map(&self) -> &MapState {
        &self.map
    }

    fn space(&self) -> &Space<M> {
        &self.space
    }

    #[inline(always)]
    fn pin(&self) -> Result<Guard<'_, M>> {
        self.unless_dropped(self.space.pin()?)
    }

    fn pin_mut(&self) -> Result<Guard<'_, M>> {
        self.unless_dropped(self.space.pin_mut()?)
    }

    /// Asked after the pin: whoever drops the map waits for pins that were told no.
    #[inline]
    fn unless_dropped<'s>(&'s self, guard: Guard<'s, M>) -> Result<Guard<'s, M>> {
        if self.map.is_dropped() { Err(Error::Dropped) } else { Ok(guard) }
    }
}

impl<M: Media, T: Techniques> ByteIndex for Tree<M, T> {
    type Cursor = Cursor;

    fn get_with<R>(&self, key: &[u8], read: impl FnOnce(Bytes<'_>) -> R) -> Result<Option<R>> {
        let guard = self.pin()?;
        guard.media().mark(Mark::Begin);
        let found = lookup(&guard, self.root, key)?;
        let result = found.map(|record| read(record.value()));
        guard.media().mark(Mark::Acknowledged);
        Ok(result)
    }

    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        self.lookup_many(keys)
    }

    fn modify<'v>(
        &self,
        key: &[u8],
        mut decide: impl FnMut(Option<Bytes<'_>>) -> ByteChange<'v>,
    ) -> Result<()> {
        self.space.with_room(|| {
            self.write(key, &mut |old: Option<Bytes<'_>>| {
                let change = decide(old);
                (!self.space.is_elsewhere()).then_some(change)
            })
        })
    }

    fn apply<'v>(
        &self,
        key: &[u8],
        mut decide: impl FnMut(Option<Bytes<'_>>) -> ByteChange<'v>,
    ) -> Result<()> {
        self.space.with_room(|| self.write(key, &mut |old: Option<Bytes<'_>>| Some(decide(old))))
    }

    #[inline(always)]
    fn is_elsewhere(&self) -> bool {
        self.space.is_elsewhere()
    }

    fn insert_from(
        &self,
        key: &[u8],
        len: usize,
        mut write: impl FnMut(&mut dyn io::Write) -> Result<()>,
    ) -> Result<()> {
        self.space.with_room(|| self.write_from(key, len, &mut write))
    }

    fn scan_up(
        &self,
        cursor: &mut Cursor,
        (from, to): (Bound<&[u8]>, Bound<&[u8]>),
        mut visit: impl FnMut(Bytes<'_>, Bytes<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.scan::<true>(cursor, from, to, &mut visit)
    }

    fn scan_down(
        &self,
        cursor: &mut Cursor,
        (from, to): (Bound<&[u8]>, Bound<&[u8]>),
        mut visit: impl FnMut(Bytes<'_>, Bytes<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.scan::<false>(cursor, to, from, &mut visit)
    }

    fn first<R>(&self, read: impl FnOnce(Bytes<'_>, Bytes<'_>) -> R) -> Result<Option<R>> {
        self.end::<true, R>(Trust::Blind, read)
    }

    fn last<R>(&self, read: impl FnOnce(Bytes<'_>, Bytes<'_>) -> R) -> Result<Option<R>> {
        self.end::<false, R>(Trust::Blind, read)
    }

    fn check_ends(&self) -> Result<()> {
        self.end::<true, _>(Trust::Checked, |_, _| ())?;
        self.end::<false, _>(Trust::Checked, |_, _| ()).map(drop)
    }

    fn len(&self) -> Result<Len> {
        self.length()
    }
}
