//! NBTree: a B+-tree whose writers never wait for each other, with its keys and values in the pool
//! and all else in DRAM (Zhang, Zheng, Wu, Zhang; PVLDB 15(6), 2022), corrected. What was corrected,
//! and why, stands in `docs/trees.md`.
//!
//! # Structure
//!
//! In the pool lie *blocks* of 63 unsorted entries (`block`), chained in key order; for each there
//! is a *leaf* in DRAM with a byte of each key (`leaf`), and above these inner nodes (`route`). A
//! lookup reads one line of the pool. An insert claims a slot of a block and writes one line of it;
//! updates and removes write in place (`insert`, `write`). An entry lies in the line that its key tells,
//! if there was room (`claims`): that line is asked for together with the leaf.
//!
//! # Who may write what, and when it is durable
//!
//! Every word of a block that others can reach changes by compare-and-exchange only, but for the
//! value of a slot that its writer has claimed and not published. What an operation has stored is
//! durable when it returns. A full block is not changed in place: its entries go to new blocks
//! (`change`, `settle`), in steps each of which any thread can do for any other.
//!
//! # Progress
//!
//! Lookups and scans take no step for anybody else and never start over (a scan goes leaf by leaf).
//! Writers are lock-free: whatever a thread that stands still has begun, another completes. Two things
//! are outside of that: space is handed out under short locks of the pool, in which no operation
//! stops; and of the threads that first use a partition after an open one makes its index.
//!
//! # What a reader may see
//!
//! Words that a writer has stored and not made durable. A leaf counts such writers; a reader that
//! finds one flushes the lines that its answer rests on, before it gives it.
//!
//! # Crash after store k: what recovery sees
//!
//! There is no recovery pass (`restart`). "Before" and "after" mean the map without and with the
//! operation in flight.
//!
//! | operation, store | what is there | readers see | the next writers |
//! | --- | --- | --- | --- |
//! | insert, value (I3) | a slot that is EMPTY | before | pass over it |
//! | insert, PENDING (I3) | an insert that is not decided | before | never meet it: its tag is not set |
//! | insert, KILLED (I4) | the same | before | pass over it |
//! | insert, LIVE (I5) | the entry | after | nothing |
//! | update, the pair | the value | after | nothing |
//! | remove, the pair | DEAD | after | pass over it |
//! | change, a slot or `next` frozen (S1) | a block that cannot be changed | no difference | copy it |
//! | change, new blocks written (S3) | blocks that nothing leads to | no difference | nothing; they are stranded |
//! | change, FORWARD (S5) | the new blocks | no difference | S7, when the new leaf changes |
//! | merge, FORWARD (S5) | one new block for two | no difference | the same; the right one is stranded |
//! | change, `next` of the block before (S7) | the same | no difference | nothing; the old one is stranded |

mod block;
mod body;
mod change;
mod chunks;
mod claims;
mod control;
mod count;
mod design;
mod ends;
mod insert;
mod inventory;
mod key;
mod leaf;
mod many;
mod mark;
mod merge;
mod metadata;
mod order;
mod read;
mod rebuild;
mod reroute;
mod restart;
mod route;
mod scan;
mod settle;
mod tags;
mod verify;
mod write;

use std::marker::PhantomData;
use std::sync::Arc;

use crate::media::{Media, Ordering, Region, has_pair_exchange};
use crate::pool::{Guard, MapState, Space};
use crate::tree::ends::{self as map_ends, Trust};
use crate::tree::{Change, Index, Len, Survey};
use crate::{Error, Result};

use block::Block;
use body::ROOM;
use chunks::RESERVE;
use key::{Local, PARTITIONS, join};
use metadata::Metadata;

pub use design::{Design, TwoLayers};
pub(crate) use inventory::Inventory;
pub use rebuild::Stats;
pub use scan::Cursor;
pub(crate) use verify::survey;

/// The number of this kind of map in the directory.
pub(crate) const KIND: u8 = 2;

/// Where the word lies that leads to the first block of a partition.
fn head(map: &MapState, partition: usize) -> u64 {
    map.spare() + 8 * partition as u64
}

/// An NBTree with blocks of `W` words (8 to 128, whole lines), two of which are the header, and inner
/// nodes of at most `FANOUT` children (4 to 64). The pool holds the blocks only: maps of one `W` and any `FANOUT` are
/// the same.
///
/// ```
/// use std::sync::Arc;
/// use endura::Map;
/// use endura::lab::media::Heap;
/// use endura::lab::pool::{PAGE, Session, Space};
/// use endura::lab::tree::nbtree::Tree;
///
/// let medium = Heap::new(8 * PAGE);
/// Space::format(&medium)?;
/// let session = Session { generation: 1, clean: true, read_only: false };
/// let space = Arc::new(Space::mount(medium, session)?);
///
/// // The paper's leaves of 1 KiB.
/// let map = Map::over(Tree::<_, 128, 64>::open(&space, "seen")?);
/// map.insert(7, 1)?;
/// assert_eq!(map.get(7)?, Some(1));
/// # Ok::<(), endura::Error>(())
/// ```
pub struct Tree<M: Media, const W: usize, const FANOUT: usize, D = TwoLayers> {
    space: Arc<Space<M>>,
    map: Arc<MapState>,
    meta: Arc<Metadata>,
    design: PhantomData<D>,
}

impl<M: Media, const W: usize, const FANOUT: usize, D> Clone for Tree<M, W, FANOUT, D> {
    fn clone(&self) -> Self {
        let Self { space, map, meta, design } = self;
        let (space, map, meta) = (Arc::clone(space), Arc::clone(map), Arc::clone(meta));
        Self { space, map, meta, design: *design }
    }
}

impl<M: Media, const W: usize, const FANOUT: usize> Tree<M, W, FANOUT> {
    /// Opens the map `name` of a pool; makes it if there is none.
    ///
    /// # Errors
    ///
    /// [`Error::WrongKind`] if there is a map of that name that is no NBTree with such blocks,
    /// [`Error::Unsupported`] where the processor cannot exchange two words at once
    /// ([`has_pair_exchange`]), and those of [`Space::open_map`].
    pub fn open(space: &Arc<Space<M>>, name: &str) -> Result<Self> {
        Self::open_as(space, name)
    }

    /// The tree in an open map.
    pub(crate) fn over(space: &Arc<Space<M>>, map: Arc<MapState>) -> Result<Self> {
        Self::over_as(space, map)
    }
}

impl<M: Media, const W: usize, const FANOUT: usize, D: Design> Tree<M, W, FANOUT, D> {
    const FITS: () = assert!(FANOUT >= 4 && FANOUT <= ROOM);

    /// The block size, as the directory records it.
    pub(crate) const PARAMETERS: u64 = W as u64;

    /// As [`open`](Tree::open), for any [`Design`]. All handles of one map must be of one.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn open_as(space: &Arc<Space<M>>, name: &str) -> Result<Self> {
        let map = space.open_map(name, KIND, Self::PARAMETERS, Self::create)?;
        Self::over_as(space, map)
    }

    fn over_as(space: &Arc<Space<M>>, map: Arc<MapState>) -> Result<Self> {
        let () = Self::FITS;
        if !has_pair_exchange() {
            let what = "an NBTree without `cmpxchg16b`: use a FAST & FAIR map on this processor";
            return Err(Error::Unsupported { what });
        }
        let wrong = |found| Error::WrongKind {
            name: map.name().to_string(),
            found,
            want: "NbTree with these blocks",
        };
        if map.kind() != KIND || map.parameters() != Self::PARAMETERS {
            return Err(wrong("map of another kind or with other blocks"));
        }
        let meta = map
            .beside(|| Metadata::of(&map, FANOUT))
            .ok_or_else(|| wrong("map of another kind or with other blocks"))?;
        Ok(Self { space: Arc::clone(space), map, meta, design: PhantomData })
    }

    /// Writes an empty tree, one block a partition, with a reserve, and gives its root word. Nothing leads to it yet.
    /// The blocks are flushed; the caller flushes the entry, and fences before it names the map. Fails with nothing
    /// taken.
    fn create(guard: &Guard<'_, M>, entry: u64) -> Result<u64> {
        let mut blocks = [0; PARTITIONS + RESERVE];
        for i in 0..blocks.len() {
            match guard.alloc(Block::<M, W>::BYTES) {
                Ok(at) => blocks[i] = at,
                Err(error) => {
                    let taken = blocks[..i].iter();
                    taken.for_each(|&at| guard.discard(at, Block::<M, W>::BYTES));
                    return Err(error);
                }
            }
        }
        let words = Region::new(guard.media(), MapState::spare_of(entry), blocks.len())?;
        for (i, &at) in blocks.iter().enumerate() {
            if i < PARTITIONS {
                let block = Block::<M, W>::at(guard.media(), at)?;
                block.initialise(join(i, Local(0)), 0, &[]);
            }
            // Relaxed: who finds the map sees LIVE, which the caller stores, or waits for its lock.
            words.store(i, at, Ordering::Relaxed);
        }
        Ok(PARTITIONS as u64)
    }

    /// Checks all blocks and tells `visit` of each: its offset and its bytes. Exact only while nobody
    /// writes ([`Space::quiesce`]). O(n).
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] at the first claim that does not hold, and those of [`Space::pin`].
    pub fn survey(&self, visit: &mut dyn FnMut(u64, u64)) -> Result<Survey> {
        survey::<M, W>(&self.pin()?, &self.map, visit)
    }

    fn head(&self, partition: usize) -> u64 {
        head(&self.map, partition)
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
}

impl<M: Media, const W: usize, const FANOUT: usize, D: Design> Index for Tree<M, W, FANOUT, D> {
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
            self.write(key, &mut |old| {
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
        self.space.with_room(|| self.write(key, &mut |old| Some(decide(old))))
    }

    #[inline(always)]
    fn next_up(&self, cursor: &mut Cursor) -> Option<(u64, u64)> {
        self.read_seat(cursor)
    }

    #[inline(always)]
    fn next_down(&self, cursor: &mut Cursor) -> Option<(u64, u64)> {
        self.read_seat(cursor)
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
