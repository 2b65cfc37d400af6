//! A tree in an open map.

use std::marker::PhantomData;
use std::sync::Arc;

use crate::kind::Kind;
use crate::media::{Media, Ordering, Region, has_pair_exchange};
use crate::space::{Guard, MapState, OpenMap, Space};
use crate::tree::numbers::Values;
use crate::tree::wrong_kind::wrong_kind;
use crate::types::Types;
use crate::{Error, Result};

use crate::tree::nbtree::blocks::block::Block;
use crate::tree::nbtree::blocks::chunks::RESERVE;
use crate::tree::nbtree::design::{Design, TwoLayers};
use crate::tree::nbtree::keys::form::KeyForm;
use crate::tree::nbtree::keys::key::PARTITIONS;
use crate::tree::nbtree::keys::numbers::NumberKeys;
use crate::tree::nbtree::metadata::body::ROOM;
use crate::tree::nbtree::metadata::shared::Metadata;

/// The number by which the directory records this kind of map.
pub(crate) const KIND: u8 = Kind::NbTree.number();

/// The offset of the word that leads to the first block of a partition.
pub(crate) fn head(map: &MapState, partition: usize) -> u64 {
    map.spare() + 8 * partition as u64
}

/// An NBTree with blocks of `W` words (8 to 128, whole cache lines), two of which are the header, and inner nodes of at
/// most `FANOUT` children (4 to 64). The pool holds only the blocks, so that maps with the same `W` look the same there
/// for any `FANOUT`.
///
/// ```
/// use std::sync::Arc;
/// use endura_engine::media::Heap;
/// use endura_engine::space::{PAGE, Session, Space};
/// use endura_engine::tree::nbtree::Tree;
/// use endura_engine::tree::{Change, Index};
///
/// let medium = Heap::new(8 * PAGE);
/// Space::format(&medium)?;
/// let session = Session { generation: 1, clean: true, read_only: false };
/// let space = Arc::new(Space::mount(medium, session)?);
///
/// // The paper's leaves of 1 KiB.
/// let tree = Tree::<_, 128, 64>::open(&space, "seen")?;
/// tree.apply(7, |_| Change::Put(1))?;
/// assert_eq!(tree.get(7)?, Some(1));
/// # Ok::<(), endura_engine::Error>(())
/// ```
pub struct Tree<M: Media, const W: usize, const FANOUT: usize, D: Design = TwoLayers> {
    pub(crate) open: OpenMap<M>,
    pub(crate) meta: Arc<Metadata<D::Keys>>,
    pub(crate) design: PhantomData<D>,
}

impl<M: Media, const W: usize, const FANOUT: usize, D: Design> Clone for Tree<M, W, FANOUT, D> {
    fn clone(&self) -> Self {
        Self { open: self.open.clone(), meta: Arc::clone(&self.meta), design: PhantomData }
    }
}

impl<M: Media, const W: usize, const FANOUT: usize> Tree<M, W, FANOUT> {
    /// Opens the map `name` of a pool; creates it if there is none.
    ///
    /// # Errors
    ///
    /// [`Error::WrongKind`] if the map of that name is of another kind, [`Error::OtherNodes`] if its blocks have
    /// another size, [`Error::UnknownNodes`] if this build does not know its kind, [`Error::Unsupported`] if the
    /// processor has no atomic exchange of two words ([`has_pair_exchange`]), and those of [`Space::open_map`].
    pub fn open(space: &Arc<Space<M>>, name: &str) -> Result<Self> {
        Self::open_as(space, name)
    }

    /// Opens the tree of an open map.
    pub(crate) fn over(space: &Arc<Space<M>>, map: Arc<MapState>) -> Result<Self> {
        Self::with_values(space, map, Values::Numbers)
    }
}

impl<M: Media, const W: usize, const FANOUT: usize, D: Design<Keys = NumberKeys>>
    Tree<M, W, FANOUT, D>
{
    /// The block size, as the directory records it.
    pub(crate) const PARAMETERS: u64 = W as u64;

    /// As [`open`](Tree::open), for any [`Design`] with numbers. All handles of one map must have the same design.
    ///
    /// # Errors
    ///
    /// As for [`open`](Tree::open).
    pub fn open_as(space: &Arc<Space<M>>, name: &str) -> Result<Self> {
        let types = Types::numbers();
        let map = Self::find_or_create(space, name, &types, Values::Numbers)?;
        Self::with_values(space, map, Values::Numbers)
    }

    /// Finds the map `name`, of any kind. If there is none, creates it, with blocks of this tree's size and with these
    /// `types` and values.
    pub(crate) fn find_or_create(
        space: &Arc<Space<M>>,
        name: &str,
        types: &Types,
        values: Values,
    ) -> Result<Arc<MapState>> {
        Self::find_or_create_as(space, name, types, values.parameters(Self::PARAMETERS))
    }

    /// Opens the tree of an open map with values of this sort.
    pub(crate) fn with_values(
        space: &Arc<Space<M>>,
        map: Arc<MapState>,
        values: Values,
    ) -> Result<Self> {
        Self::over_as(space, map, values.parameters(Self::PARAMETERS))
    }
}

impl<M: Media, const W: usize, const FANOUT: usize, D: Design> Tree<M, W, FANOUT, D> {
    const FITS: () = assert!(FANOUT >= 4 && FANOUT <= ROOM);

    /// Finds the map `name`, of any kind. If there is none, creates it with these types, and with these parameters in the
    /// directory.
    pub(crate) fn find_or_create_as(
        space: &Arc<Space<M>>,
        name: &str,
        types: &Types,
        parameters: u64,
    ) -> Result<Arc<MapState>> {
        space.open_typed_map(name, KIND, parameters, types, Self::create)
    }

    /// Opens the tree of an open map with these parameters.
    pub(crate) fn over_as(
        space: &Arc<Space<M>>,
        map: Arc<MapState>,
        parameters: u64,
    ) -> Result<Self> {
        let () = Self::FITS;
        if !has_pair_exchange() {
            let what = "an NBTree without `cmpxchg16b`: use a FAST & FAIR map on this processor";
            return Err(Error::Unsupported { what });
        }
        if map.kind() != KIND || map.parameters() != parameters {
            return Err(wrong_kind(&map, Kind::NbTree));
        }
        let meta = map
            .beside(|| Metadata::of(&map, FANOUT))
            .ok_or_else(|| wrong_kind(&map, Kind::NbTree))?;
        Ok(Self { open: OpenMap::new(space, map), meta, design: PhantomData })
    }

    /// Writes an empty tree, one block for each partition, with a reserve, and returns its root word. Nothing leads to
    /// the tree yet. The blocks are flushed; the caller flushes the entry, and fences before it publishes the map. If
    /// the call fails, no chunk stays allocated.
    fn create(guard: &Guard<'_, M>, entry: u64) -> Result<u64> {
        let mut blocks = [0; PARTITIONS + RESERVE];
        let (of_partitions, of_reserve) = (D::Keys::PARTITIONS, PARTITIONS..PARTITIONS + RESERVE);
        let mut taken = Vec::with_capacity(blocks.len());
        for i in (0..of_partitions).chain(of_reserve) {
            match guard.alloc(Block::<M, W, D::Keys>::BYTES) {
                Ok(at) => taken.push(at),
                Err(error) => {
                    let taken = taken.into_iter();
                    taken.for_each(|at| guard.discard(at, Block::<M, W, D::Keys>::BYTES));
                    return Err(error);
                }
            }
            blocks[i] = taken[taken.len() - 1];
        }
        let words = Region::new(guard.media(), MapState::spare_of(entry), blocks.len())?;
        for (i, &at) in blocks.iter().enumerate() {
            if i < of_partitions {
                let fences = (&D::Keys::first(), &D::Keys::end());
                let header = D::Keys::header(guard.media(), i, fences, 0)?;
                let block = Block::<M, W, D::Keys>::at(guard.media(), at)?;
                block.initialise(&header, 0, &[]);
            }
            // The store is Relaxed: a thread that finds the map sees LIVE, which the caller stores, or waits for the
            // caller's lock.
            words.store(i, at, Ordering::Relaxed);
        }
        Ok(of_partitions as u64)
    }

    pub(crate) fn head(&self, partition: usize) -> u64 {
        head(self.open.map(), partition)
    }
}
