//! A pool without trees: its pages and chunks, its directory of maps, its sessions.
//!
//! Chunks are linked by words of a table, each by one durable store, as a tree links its nodes. What
//! every chunk holds says by whom it is linked, so that a second owner is noticed. Two threads take
//! turns: the fence of one does not order the flushes of the other.

pub mod histories;
mod open;
mod walk;

use std::collections::{BTreeMap, BTreeSet};

use endura::lab::pool::PAGE;

use crate::choose::Random;
use crate::sim::{Sim, act_as};
use crate::subject::{Finding, Subject};

pub use open::OpenPool;

/// Bytes of the chunks that operations ask for: three classes, a run of two pages, one of three.
pub const SIZES: [u64; 5] = [512, 1024, 32 << 10, PAGE + 1, 3 * PAGE - 64];

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
    /// Unlinks a chunk and retires it.
    Unlink(usize),
    /// Frees what waits.
    Relieve,
    /// Allocates so many chunks of the second of [`SIZES`], and retires them: nothing that is stored for it
    /// is flushed or fenced but by the allocator.
    Spend(usize),
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
    /// Fills so many pages with what looks like directory entries, and frees them. Not to be crashed.
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

/// Pools on media that explorers make.
#[derive(Debug, Clone, Copy, Default)]
pub struct PoolSpace;

impl Subject for PoolSpace {
    type Open = OpenPool;
    type Op = PoolOp;
    type Answer = bool;
    type Model = PoolModel;

    fn create(&self, medium: Sim) -> Result<OpenPool, Finding> {
        OpenPool::over(medium)
    }

    /// A pool that was never finished is made again, as the first open of a file does.
    fn open(&self, medium: Sim, _: u64) -> Result<OpenPool, Finding> {
        OpenPool::over(medium)
    }

    fn empty(&self) -> PoolModel {
        PoolModel::default()
    }

    fn apply(&self, open: &OpenPool, op: &PoolOp) -> Result<bool, Finding> {
        let answer = open.take_turn(op);
        act_as(0);
        answer
    }

    fn specify(&self, model: &mut PoolModel, op: &PoolOp) -> bool {
        match *op {
            PoolOp::Link { slot, size } => {
                let fits = !model.links.contains_key(&slot);
                model.links.entry(slot).or_insert(size);
                fits
            }
            PoolOp::Unlink(slot) => model.links.remove(&slot).is_some(),
            PoolOp::Make(name, kind) => {
                let fits = !model.maps.contains_key(name);
                model.maps.entry(name.to_owned()).or_insert(kind);
                fits
            }
            PoolOp::Drop(name) | PoolOp::DropInside(name) => model.maps.remove(name).is_some(),
            PoolOp::Rename(from, to) => {
                let fits = model.maps.contains_key(from) && !model.maps.contains_key(to);
                let renamed = fits.then(|| model.maps.remove(from)).flatten();
                model.maps.extend(renamed.map(|kind| (to.to_owned(), kind)));
                fits
            }
            PoolOp::MakeMany(count) => {
                model.others += count;
                true
            }
            PoolOp::Relieve
            | PoolOp::Collect
            | PoolOp::Soil(_)
            | PoolOp::Spend(_)
            | PoolOp::Reopen
            | PoolOp::Probe => true,
        }
    }

    fn observe(&self, open: &OpenPool) -> Result<PoolModel, Finding> {
        open.observe()
    }

    fn verify(&self, open: &OpenPool, model: &PoolModel) -> Result<(), Finding> {
        open.verify(model)
    }

    /// Looks for second owners, in this session or after a close, and again once all is free.
    fn continuation(&self, model: &PoolModel, random: &mut Random) -> Vec<PoolOp> {
        let mut ops = vec![PoolOp::Probe];
        let linked: BTreeSet<usize> = model.links.keys().copied().collect();
        let size = random.below(SIZES.len() as u64) as usize;
        match random.below(4) {
            0 => ops.push(PoolOp::Reopen),
            1 => ops.extend([PoolOp::Make("another", 200), PoolOp::Drop("another")]),
            2 => ops.push(PoolOp::Link { slot: SLOTS - 1, size }),
            _ => {
                ops.extend(model.maps.keys().filter_map(|name| open::known(name)).map(PoolOp::Drop))
            }
        }
        // Before the marker comes to them, and after.
        for (i, slot) in linked.into_iter().enumerate() {
            ops.extend([PoolOp::Unlink(slot), PoolOp::Collect]);
            if i % 2 == 0 {
                ops.extend([PoolOp::Relieve, PoolOp::Link { slot, size: i % 3 }]);
            }
        }
        ops.extend([PoolOp::Relieve, PoolOp::Link { slot: SLOTS - 2, size }]);
        ops.extend([PoolOp::Collect, PoolOp::Collect, PoolOp::Collect, PoolOp::Probe]);
        ops
    }
}
