//! The FAST & FAIR tree with every node size that a map can have.

use std::sync::Arc;

use crate::kind::Kind;
use crate::media::Media;
use crate::pool::{GcWalk, Guard, MapState, Space};
use crate::tree::fast_fair::{self, Cursor, LineBinary, Tree};
use crate::tree::{Change, Index, Len, Popped, TreeCheck};
use crate::types::Types;
use crate::{Error, Result};

/// How large the nodes of a FAST & FAIR map are, recorded with the map when it is made.
///
/// Larger nodes mean fewer levels and faster lookups and scans; smaller leaves mean fewer lines to
/// flush per insert. `docs/design.md` has the figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NodeLayout {
    /// Inner nodes of 2 KiB and leaves of 1 KiB: the default where nothing is flushed.
    Wide,
    /// Inner nodes of 1 KiB, leaves of 512 bytes: the default where lines are flushed.
    NarrowLeaves,
}

impl NodeLayout {
    /// Bytes of an inner node.
    pub fn inner_bytes(self) -> u64 {
        match self {
            Self::Wide => 2048,
            Self::NarrowLeaves => 1024,
        }
    }

    /// Bytes of a leaf.
    pub fn leaf_bytes(self) -> u64 {
        match self {
            Self::Wide => 1024,
            Self::NarrowLeaves => 512,
        }
    }

    /// That a map does not have nodes of sizes that this build does not know.
    pub(crate) fn check(map: &MapState) -> Result<()> {
        match Self::of(map) {
            None if map.kind() == Kind::FastFair.number() => unknown_nodes(map),
            _ => Ok(()),
        }
    }

    /// The layout of a map, from what the directory says.
    pub(crate) fn of(map: &MapState) -> Option<Self> {
        let parameters =
            |layout: &Self| ((layout.inner_bytes() / 8) << 16) | (layout.leaf_bytes() / 8);
        [Self::Wide, Self::NarrowLeaves]
            .into_iter()
            .filter(|_| map.kind() == Kind::FastFair.number())
            .find(|layout| parameters(layout) == map.parameters())
    }
}

/// A FAST & FAIR tree of any [`NodeLayout`] over one medium.
pub enum AnyLayout<M: Media> {
    /// [`NodeLayout::Wide`].
    Wide(Tree<M, 256, 128, LineBinary>),
    /// [`NodeLayout::NarrowLeaves`].
    NarrowLeaves(Tree<M, 128, 64, LineBinary>),
}

macro_rules! on_layout {
    ($any:expr, $tree:ident => $body:expr) => {
        match $any {
            AnyLayout::Wide($tree) => $body,
            AnyLayout::NarrowLeaves($tree) => $body,
        }
    };
}

impl<M: Media> AnyLayout<M> {
    /// Opens the map `name`, with the nodes that it has; makes it, with nodes of `layout`, if there
    /// is none.
    ///
    /// # Errors
    ///
    /// [`Error::WrongKind`] if the map is of another kind, or of another layout than the one asked
    /// for; [`Error::UnknownNodes`] if it has nodes of none; those of [`Space::open_map`].
    pub fn open(space: &Arc<Space<M>>, name: &str, layout: Option<NodeLayout>) -> Result<Self> {
        let made = layout.unwrap_or_else(|| Self::default_layout(space));
        Self::over_as(space, Self::find_or_create(space, name, made, &Types::numbers())?, layout)
    }

    /// The nodes that a map has for which nobody asked for others.
    pub(crate) fn default_layout(space: &Space<M>) -> NodeLayout {
        match space.media().needs_flush() {
            true => NodeLayout::NarrowLeaves,
            false => NodeLayout::Wide,
        }
    }

    /// The map `name`, whatever it is; made with these nodes and types if there is none.
    pub(crate) fn find_or_create(
        space: &Arc<Space<M>>,
        name: &str,
        layout: NodeLayout,
        types: &Types,
    ) -> Result<Arc<MapState>> {
        match layout {
            NodeLayout::Wide => Tree::<M, 256, 128, LineBinary>::find_or_create(space, name, types),
            NodeLayout::NarrowLeaves => {
                Tree::<M, 128, 64, LineBinary>::find_or_create(space, name, types)
            }
        }
    }

    /// The tree in an open map, which must have these nodes if any are asked for.
    pub(crate) fn over_as(
        space: &Arc<Space<M>>,
        map: Arc<MapState>,
        layout: Option<NodeLayout>,
    ) -> Result<Self> {
        // What is there, or has come in between, has the nodes that it has.
        let found = Self::over(space, map)?;
        match layout {
            Some(layout) if layout != found.layout() => Err(found.other_nodes()),
            _ => Ok(found),
        }
    }

    fn other_nodes(&self) -> Error {
        Error::OtherNodes { name: on_layout!(self, tree => tree.map().name().to_string()) }
    }

    /// The tree in an open map.
    pub(crate) fn over(space: &Arc<Space<M>>, map: Arc<MapState>) -> Result<Self> {
        NodeLayout::check(&map)?;
        match NodeLayout::of(&map) {
            Some(NodeLayout::NarrowLeaves) => Tree::over(space, map).map(Self::NarrowLeaves),
            // Of another kind: says so.
            Some(NodeLayout::Wide) | None => Tree::over(space, map).map(Self::Wide),
        }
    }

    /// A walk over its nodes, for a collection.
    pub(super) fn marking(&self) -> Box<dyn GcWalk<M>> {
        on_layout!(self, tree => tree.marking())
    }

    /// The sizes of its nodes.
    pub fn layout(&self) -> NodeLayout {
        match self {
            Self::Wide(_) => NodeLayout::Wide,
            Self::NarrowLeaves(_) => NodeLayout::NarrowLeaves,
        }
    }
}

fn unknown_nodes<T>(map: &MapState) -> Result<T> {
    Err(Error::UnknownNodes { name: map.name().to_string() })
}

/// Checks the FAST & FAIR tree of `map` and tells `visit` of every node: its offset and its bytes.
pub(super) fn check_tree<M: Media>(
    guard: &Guard<'_, M>,
    map: &MapState,
    visit: &mut dyn FnMut(u64, u64),
) -> Result<TreeCheck> {
    match NodeLayout::of(map) {
        Some(NodeLayout::Wide) => fast_fair::check_tree::<M, 256, 128>(guard, map.root(), visit),
        Some(NodeLayout::NarrowLeaves) => {
            fast_fair::check_tree::<M, 128, 64>(guard, map.root(), visit)
        }
        None => unknown_nodes(map),
    }
}

/// Tells `note` of some nodes more of the FAST & FAIR tree of `map`; whether that was the end.
pub(super) fn inventory<M: Media>(
    inventory: &mut fast_fair::Inventory,
    media: &M,
    map: &MapState,
    note: &mut dyn FnMut(u64, u64) -> bool,
    bite: usize,
) -> Result<bool> {
    match NodeLayout::of(map) {
        Some(NodeLayout::Wide) => inventory.step::<M, 256, 128>(media, map, note, bite),
        Some(NodeLayout::NarrowLeaves) => inventory.step::<M, 128, 64>(media, map, note, bite),
        None => unknown_nodes(map),
    }
}

impl<M: Media> Index for AnyLayout<M> {
    type Cursor = Cursor;

    #[inline]
    fn get(&self, key: u64) -> Result<Option<u64>> {
        on_layout!(self, tree => tree.get(key))
    }

    fn get_many(&self, keys: &[u64]) -> Result<Vec<Option<u64>>> {
        on_layout!(self, tree => tree.get_many(keys))
    }

    #[inline]
    fn modify(&self, key: u64, decide: impl FnMut(Option<u64>) -> Change) -> Result<Option<u64>> {
        on_layout!(self, tree => tree.modify(key, decide))
    }

    #[inline]
    fn apply(&self, key: u64, decide: impl FnMut(Option<u64>) -> Change) -> Result<Option<u64>> {
        on_layout!(self, tree => tree.apply(key, decide))
    }

    #[inline(always)]
    fn next_up(&self, cursor: &mut Cursor) -> Option<(u64, u64)> {
        on_layout!(self, tree => tree.next_up(cursor))
    }

    #[inline(always)]
    fn next_down(&self, cursor: &mut Cursor) -> Option<(u64, u64)> {
        on_layout!(self, tree => tree.next_down(cursor))
    }

    fn scan_up(&self, cursor: &mut Cursor, key: u64) -> Result<Option<(u64, u64)>> {
        on_layout!(self, tree => tree.scan_up(cursor, key))
    }

    fn scan_down(&self, cursor: &mut Cursor, key: u64) -> Result<Option<(u64, u64)>> {
        on_layout!(self, tree => tree.scan_down(cursor, key))
    }

    fn first(&self) -> Result<Option<(u64, u64)>> {
        on_layout!(self, tree => tree.first())
    }

    fn last(&self) -> Result<Option<(u64, u64)>> {
        on_layout!(self, tree => tree.last())
    }

    fn check_ends(&self) -> Result<()> {
        on_layout!(self, tree => tree.check_ends())
    }

    fn pop(&self, smallest: bool, entry: (u64, u64)) -> Result<Popped> {
        on_layout!(self, tree => tree.pop(smallest, entry))
    }

    fn len(&self) -> Result<Len> {
        on_layout!(self, tree => tree.len())
    }

    fn exact_len(&self) -> Result<u64> {
        on_layout!(self, tree => tree.exact_len())
    }
}
