//! What pools are asked for, and what they hold then.

use std::collections::BTreeMap;

use endura_engine::space::PAGE;

/// Bytes of the chunks that operations ask for: two classes; runs of 5 units, of 18, of 480, after which there is no
/// room for another one in their page; a run of two pages, one of three.
pub const SIZES: [u64; 7] = [512, 1024, 20 << 10, 70 << 10, PAGE + 1, 3 * PAGE - 64, 480 * UNIT];

/// Bytes of a unit.
pub const UNIT: u64 = 4096;

/// Slots of the table of links.
pub const SLOTS: usize = 24;

/// An operation of a pool.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PoolOp {
    /// Allocates a chunk and links it, if nothing is linked there.
    Link {
        /// Where.
        slot: usize,
        /// Its number in [`SIZES`].
        size: usize,
    },
    /// The same, with a chunk in a span that was set aside for a commit. What is left of the span is given back.
    LinkAside {
        /// Where.
        slot: usize,
        /// Its number in [`SIZES`].
        size: usize,
    },
    /// Unlinks a chunk and retires it.
    Unlink(usize),
    /// Frees what waits.
    Relieve,
    /// Allocates so many chunks of a size, a number in [`SIZES`], and retires them: nothing that is stored for it
    /// is flushed or fenced but by the allocator.
    Spend(usize, usize),
    /// Makes a map of a kind, with one node, if there is none of that name.
    Make(&'static str, u8),
    /// Drops a map.
    Drop(&'static str),
    /// The same inside another operation: what is freed of it waits.
    DropInside(&'static str),
    /// Gives a map the second name, if there is one of the first name and none of the second.
    Rename(&'static str, &'static str),
    /// Makes so many maps without nodes. Not to be crashed.
    MakeMany(u64),
    /// Fills so many units with what looks like directory entries, and frees them. Not to be crashed.
    Soil(u64),
    /// Collects a little of what the last crash stranded.
    Collect,
    /// Closes the pool and opens it again.
    Reopen,
    /// Allocates chunks of many sizes, looks whether any of them belongs to somebody, writes to them,
    /// and gives them back.
    Probe,
}

/// What a pool holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct PoolModel {
    /// The size, as a number in [`SIZES`], of the chunk in each slot.
    pub links: BTreeMap<usize, usize>,
    /// The maps that have a node, with their kinds.
    pub maps: BTreeMap<String, u8>,
    /// How many maps have none.
    pub others: u64,
}
