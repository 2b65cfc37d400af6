//! FAST & FAIR: a B+-tree whose nodes are sorted in place by 8-byte stores, each of which leaves a
//! tree that readers understand (Hwang, Kim, Won, Nam; USENIX FAST 2018), corrected. What was
//! corrected, and why, stands in `docs/trees.md`.
//!
//! # Structure
//!
//! Every node covers the keys from `low` up to `high` and knows its right sibling; the levels are
//! chains. Separators in inner nodes are hints: whoever arrives too far left moves right. All
//! nodes, inner ones included, are records `(key, value)` sorted by key (`node`).
//!
//! # Who may write what, and when it is durable
//!
//! Only the holder of a node's lock writes to it, except for the lock word. Every change is one of
//! four *primitives* (shift right, shift left, one value, header), announced in the lock word
//! before its first store. The stores of a primitive are durable before the next primitive begins
//! and before the lock is released. A node that nobody can reach is written freely, and is durable
//! before the store that links it.
//!
//! # What a reader may see
//!
//! Readers take no lock. They read the lock word, the node, and the lock word again; the answer
//! counts if at most the one primitive that the first look announced ran meanwhile. While one is
//! announced they scan in the direction in which it moves entries, so that they miss none. An
//! answer that rests on stores which may not be durable yet is made durable before it is given.
//!
//! # Crash after store k: what recovery sees
//!
//! There is no recovery pass. Locks of an earlier session are void, readers read every state below
//! as it is, and the first writer that locks a node in a session mends it (`repair`). "Before" and
//! "after" mean the map without and with the operation in flight.
//!
//! | operation, store | what is there | readers see | the next writer |
//! | --- | --- | --- | --- |
//! | insert, value copied right (I3) | a dead slot with a new value | before | nothing |
//! | insert, key copied right (I3) | one entry twice, the right copy counts | before | drops the left copy |
//! | insert, new value (I4) | the left copy with another value | before | drops the left copy |
//! | insert, new key (I4) | the entry | after | nothing |
//! | remove, key overwritten (D2) | the right neighbour twice | after | drops the left copy |
//! | remove, value copied left (D3) | the left copy with the right value | after | drops the left copy |
//! | remove, next key overwritten (D3) | the next entry twice | after | drops the left copy |
//! | update, value | the value | after | nothing |
//! | split, new node written (S2) | a node that nothing leads to | before | nothing; its chunk is stranded |
//! | split, `sib` = N, SPLITTING (S3) | L owns all, N shadows it | before | takes the split back |
//! | split, `high` = N.low (S3) | N owns the right half | after, if the entry went there | settles the tag, posts N |
//! | split, `sib` = N, NORMAL (S3) | the same, without a separator | the same | posts N when it moves right |
//! | post (P2) | as for an insert, of a hint | no difference | as for an insert |
//! | root written, root word not | a node that nothing leads to | no difference | grows the root |
//! | merge, separator gone (M2) | N without a separator | no difference | posts N when it moves right |
//! | merge, entries copied (M3) | copies that are dead in L | no difference | nothing |
//! | merge, `sib` = N, MERGING (M4) | N owns its half | no difference | settles the tag, posts N |
//! | merge, `high` = N.high (M4) | L owns all, N is passed through | no difference | unlinks N |
//! | merge, `sib` = N.sib, NORMAL (M4) | L owns all | no difference | nothing; N's chunk is stranded |
//! | root shrunk, root word stored | the child is the root | no difference | nothing; the chunk is stranded |

mod count;
mod ends;
mod inventory;
#[cfg(all(test, loom))]
mod loom;
mod many;
mod mark;
mod merge;
mod node;
mod post;
mod read;
mod repair;
mod route;
mod scan;
mod search;
mod split;
#[cfg(all(test, not(loom)))]
mod tests;
mod verify;
mod version;
mod write;

use std::marker::PhantomData;
use std::sync::Arc;

use crate::media::Media;
use crate::pool::{Guard, MapState, Space};
use crate::tree::ends::{self as map_ends, Trust};
use crate::tree::{Change, Index, Len};
use crate::{Error, Result};

use node::{Fences, Init, MIDDLE, Node};
use route::Root;
use version::Version;

pub use super::{Repairs, Survey};
pub(crate) use inventory::Inventory;
pub use scan::Cursor;
pub use search::{Keys, LineBinary, STRIDE, Search};
pub(crate) use verify::survey;
pub(crate) use version::{check_lock, void_lock};

/// The number of this kind of map in the directory.
pub(crate) const KIND: u8 = 1;

/// A node that its parent should name: its lower fence, its offset, the parent's level.
#[derive(Debug, Clone, Copy)]
struct Separator {
    key: u64,
    child: u64,
    level: u64,
}

/// A FAST & FAIR tree of inner nodes of `INNER` words and leaves of `LEAF` words, 8 of which are
/// the header, searched by `S`.
///
/// ```
/// use std::sync::Arc;
/// use endura::Map;
/// use endura::lab::media::Heap;
/// use endura::lab::pool::{PAGE, Session, Space};
/// use endura::lab::tree::fast_fair::{LineBinary, Tree};
///
/// let medium = Heap::new(8 * PAGE);
/// Space::format(&medium)?;
/// let session = Session { generation: 1, clean: true, read_only: false };
/// let space = Arc::new(Space::mount(medium, session)?);
///
/// // The paper's nodes: 512 bytes.
/// let map = Map::over(Tree::<_, 64, 64, LineBinary>::open(&space, "hits")?);
/// map.insert(7, 1)?;
/// assert_eq!(map.get(7)?, Some(1));
/// # Ok::<(), endura::Error>(())
/// ```
pub struct Tree<M: Media, const INNER: usize, const LEAF: usize, S> {
    space: Arc<Space<M>>,
    map: Arc<MapState>,
    search: PhantomData<S>,
}

impl<M: Media, const INNER: usize, const LEAF: usize, S> Clone for Tree<M, INNER, LEAF, S> {
    fn clone(&self) -> Self {
        Self { space: Arc::clone(&self.space), map: Arc::clone(&self.map), search: PhantomData }
    }
}

impl<M: Media, const INNER: usize, const LEAF: usize, S: Search> Tree<M, INNER, LEAF, S> {
    /// Opens the map `name` of a pool; makes it if there is none.
    ///
    /// # Errors
    ///
    /// [`Error::WrongKind`] if there is a map of that name with other nodes, and those of
    /// [`Space::open_map`].
    pub fn open(space: &Arc<Space<M>>, name: &str) -> Result<Self> {
        Self::over(space, Self::find_or_create(space, name)?)
    }

    /// The map `name`, whatever it is; made with these nodes if there is none.
    pub(crate) fn find_or_create(space: &Arc<Space<M>>, name: &str) -> Result<Arc<MapState>> {
        space.open_map(name, KIND, Self::PARAMETERS, |guard, _| Self::create(guard))
    }

    /// The tree in an open map.
    pub(crate) fn over(space: &Arc<Space<M>>, map: Arc<MapState>) -> Result<Self> {
        if map.kind() == KIND && map.parameters() == Self::PARAMETERS {
            Ok(Self { space: Arc::clone(space), map, search: PhantomData })
        } else {
            let name = map.name().to_string();
            let found = "map of another kind or with other node sizes";
            Err(Error::WrongKind { name, found, want: "FastFair with these node sizes" })
        }
    }

    /// The node sizes, as the directory records them.
    pub(crate) const PARAMETERS: u64 = (INNER as u64) << 16 | LEAF as u64;

    /// Writes an empty tree and gives its root word. Nothing leads to it yet; it is durable once
    /// the caller's next fence is. Fails with nothing taken.
    fn create(guard: &Guard<'_, M>) -> Result<u64> {
        let sizes = [Node::<M, LEAF>::BYTES, Node::<M, LEAF>::BYTES, Node::<M, INNER>::BYTES];
        let mut taken = [0; 3];
        for i in 0..3 {
            match guard.alloc(sizes[i]) {
                Ok(at) => taken[i] = at,
                Err(error) => {
                    (0..i).for_each(|i| guard.discard(taken[i], sizes[i]));
                    return Err(error);
                }
            }
        }
        Self::write_empty(guard, taken)
    }

    /// Writes two leaves, either side of the middle of the key space, and a root over them.
    fn write_empty(guard: &Guard<'_, M>, [low, high, at]: [u64; 3]) -> Result<u64> {
        let media = guard.media();
        let leaves = [(0, low, MIDDLE, high), (MIDDLE, high, 0, 0)];
        for (low, at, high, sibling) in leaves {
            let leaf = Node::<M, LEAF>::fresh(media, at)?;
            let fences = Fences { low, high };
            let lock = Version::created(guard, at);
            leaf.initialise(Init { lock, fences, sibling, level: 0 }, 0);
            leaf.flush();
        }
        let root = Node::<M, INNER>::fresh(media, at)?;
        let fences = Fences { low: 0, high: 0 };
        let lock = Version::created(guard, at);
        root.initialise(Init { lock, fences, sibling: 0, level: 1 }, 2);
        for (slot, (low, leaf, ..)) in leaves.into_iter().enumerate() {
            root.write_record(slot, (low, leaf));
        }
        // The caller fences before it names the root.
        root.flush();
        Ok(Root { at, level: 1 }.word())
    }

    /// Checks the whole tree and tells `visit` of every node: its offset and its bytes. Exact only
    /// while nobody writes ([`Space::quiesce`]). O(n).
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] at the first claim that does not hold, and those of [`Space::pin`].
    pub fn survey(&self, visit: &mut dyn FnMut(u64, u64)) -> Result<Survey> {
        survey::<M, INNER, LEAF>(&self.pin()?, self.root_at(), visit)
    }

    fn root_at(&self) -> u64 {
        self.map.root()
    }

    /// Its entry in the directory, with what is counted.
    pub fn map(&self) -> &MapState {
        &self.map
    }

    fn space(&self) -> &Space<M> {
        &self.space
    }

    #[inline(always)]
    fn pin(&self) -> Result<Guard<'_, M>> {
        self.unless_dropped(self.space.pin()?)
    }

    #[inline(always)]
    fn pin_mut(&self) -> Result<Guard<'_, M>> {
        self.unless_dropped(self.space.pin_mut()?)
    }

    /// Asked after the pin: whoever drops the map waits for pins that were told no.
    #[inline(always)]
    fn unless_dropped<'s>(&'s self, guard: Guard<'s, M>) -> Result<Guard<'s, M>> {
        if self.map.is_dropped() { Err(Error::Dropped) } else { Ok(guard) }
    }

    fn no_leaf(&self) -> Error {
        Error::Corrupt { offset: self.root_at(), what: "a tree without leaves" }
    }
}

impl<M: Media, const INNER: usize, const LEAF: usize, S: Search> Index for Tree<M, INNER, LEAF, S> {
    type Cursor = Cursor;

    #[inline]
    fn get(&self, key: u64) -> Result<Option<u64>> {
        self.lookup(key)
    }

    fn get_many(&self, keys: &[u64]) -> Result<Vec<Option<u64>>> {
        self.lookup_many(keys)
    }

    #[inline]
    fn modify(
        &self,
        key: u64,
        mut decide: impl FnMut(Option<u64>) -> Change,
    ) -> Result<Option<u64>> {
        self.space.with_room(|| {
            self.write(key, |old| {
                let change = decide(old);
                (!self.space.is_elsewhere()).then_some(change)
            })
        })
    }

    #[inline]
    fn apply(
        &self,
        key: u64,
        mut decide: impl FnMut(Option<u64>) -> Change,
    ) -> Result<Option<u64>> {
        self.space.with_room(|| self.write(key, |old| Some(decide(old))))
    }

    #[inline(always)]
    fn next_up(&self, cursor: &mut Cursor) -> Option<(u64, u64)> {
        self.read_seat::<true>(cursor)
    }

    #[inline(always)]
    fn next_down(&self, cursor: &mut Cursor) -> Option<(u64, u64)> {
        self.read_seat::<false>(cursor)
    }

    #[inline]
    fn scan_up(&self, cursor: &mut Cursor, key: u64) -> Result<Option<(u64, u64)>> {
        self.scan::<true>(cursor, key)
    }

    #[inline]
    fn scan_down(&self, cursor: &mut Cursor, key: u64) -> Result<Option<(u64, u64)>> {
        self.scan::<false>(cursor, key)
    }

    fn first(&self) -> Result<Option<(u64, u64)>> {
        map_ends::end::<true>(self, Trust::Blind)
    }

    fn last(&self) -> Result<Option<(u64, u64)>> {
        map_ends::end::<false>(self, Trust::Blind)
    }

    fn check_ends(&self) -> Result<()> {
        map_ends::end::<true>(self, Trust::Checked)?;
        map_ends::end::<false>(self, Trust::Checked).map(drop)
    }

    fn len(&self) -> Result<Len> {
        self.length()
    }
}
