//! Pools as a subject.

use std::collections::BTreeSet;

use super::open::{self, OpenPool};
use super::ops::{PoolModel, PoolOp, SIZES, SLOTS};
use crate::choose::Random;
use crate::sim::{Sim, act_as};
use crate::subject::{Finding, Subject};

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
            PoolOp::Link { slot, size } | PoolOp::LinkAside { slot, size } => {
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
            | PoolOp::Spend(..)
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
