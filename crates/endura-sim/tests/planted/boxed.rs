//! A value of two lines behind a root, replaced whole: write it elsewhere, make it durable, swing
//! the root to it. The smallest structure with an order to get wrong.
//!
//! | line | words |
//! | --- | --- |
//! | 0, superblock | magic, offset of the header |
//! | 1, header | kind |
//! | 2, root | offset of the value, with its length in the upper half; the length alone (flawed) |
//! | 18, 20 | two places for values, of 8 or 16 words that all are the same |

use endura_engine::media::{Media, Ordering};
use endura_sim::choose::Random;
use endura_sim::sim::{Sim, act_as};
use endura_sim::subject::{Finding, Subject};

use crate::hunt::{Campaign, Hunt, words};
use crate::table::Planted;

const MAGIC: u64 = 0xB0CED;
const KIND: u64 = 0x1C1D;
const HEADER: u64 = 64;
const ROOT: u64 = 128;
/// In the upper part of a block of 512 bytes, as most objects of a heap are.
const PLACES: [u64; 2] = [18 * 64, 20 * 64];

/// The structure, with a fault or without.
pub(crate) struct Boxed(pub(crate) Option<Planted>);

#[derive(Debug, Clone, Copy)]
pub(crate) enum Op {
    /// Replaces the value, and returns the old one.
    Put(u64),
    /// A writer replaces the value and stands still between the new root and its flush; a reader
    /// comes by and returns what it finds.
    GetDuringPut(u64),
}

/// Even values are short, odd ones long.
fn length(value: u64) -> u64 {
    8 + value % 2 * 8
}

impl Boxed {
    fn has(&self, bug: Planted) -> bool {
        self.0 == Some(bug)
    }

    /// Makes the structure if nobody has, as every `open` does.
    fn format(&self, medium: &Sim) -> Result<(), Finding> {
        let superblock = words::<2>(medium, 0)?;
        if superblock.load(0, Ordering::Acquire) == MAGIC {
            return Ok(());
        }
        let header = words::<1>(medium, HEADER)?;
        header.store(0, KIND, Ordering::Release);
        if !self.has(Planted::ConstructorUnflushed) {
            header.flush(0, 1);
            // Before the superblock leads here.
            medium.fence();
        }
        if self.has(Planted::MagicFirst) {
            superblock.store(0, MAGIC, Ordering::Release);
            superblock.store(1, HEADER, Ordering::Release);
        } else {
            superblock.store(1, HEADER, Ordering::Release);
            superblock.store(0, MAGIC, Ordering::Release);
        }
        superblock.flush(0, 2);
        medium.drain();
        Ok(())
    }

    /// Where the value is, and its length in words.
    fn root(&self, medium: &Sim) -> Result<(u64, u64), Finding> {
        let root = words::<2>(medium, ROOT)?;
        let word = root.load(0, Ordering::Acquire);
        match self.has(Planted::RootInTwoWords) {
            true => Ok((word & 0xFFFF_FFFF, root.load(1, Ordering::Acquire))),
            false => Ok((word & 0xFFFF_FFFF, word >> 32)),
        }
    }

    fn read(&self, medium: &Sim) -> Result<u64, Finding> {
        let (at, length) = self.root(medium)?;
        if at == 0 {
            return Ok(0);
        }
        let object = words::<16>(medium, at)?;
        let value = object.load(0, Ordering::Acquire);
        match (1..length as usize).find(|&i| object.load(i, Ordering::Acquire) != value) {
            Some(i) => Err(format!("a torn value: word {i} of {length} is not {value}")),
            None if length != self::length(value) => Err(format!("{value} in {length} words")),
            None => Ok(value),
        }
    }

    /// Everything but what makes the new root durable.
    fn publish(&self, medium: &Sim, value: u64) -> Result<(), Finding> {
        let (old, _) = self.root(medium)?;
        let at = if old == PLACES[0] { PLACES[1] } else { PLACES[0] };
        let (object, root, length) =
            (words::<16>(medium, at)?, words::<2>(medium, ROOT)?, length(value));
        let swing = || match self.has(Planted::RootInTwoWords) {
            true => {
                root.store(0, at, Ordering::Release);
                root.store(1, length, Ordering::Release);
            }
            false => root.store(0, at | length << 32, Ordering::Release),
        };
        if self.has(Planted::PublishBeforeInit) {
            swing();
        }
        (0..length as usize).for_each(|i| object.store(i, value, Ordering::Release));
        match self.0 {
            Some(Planted::FlushOfThePointer) => root.flush(0, 1),
            Some(Planted::FlushRoundedTo512) => {
                // "Cache lines" of 512, of which the first word is flushed each.
                for block in (at & !511..at + 8 * length).step_by(512) {
                    words::<1>(medium, block)?.flush(0, 1);
                }
            }
            Some(Planted::HalfOfTheObjectFlushed) => object.flush(0, 1),
            _ => object.flush(0, length as usize),
        }
        if !self.has(Planted::NoFenceBeforePublish) {
            // Before the root leads to it.
            medium.fence();
        }
        if !self.has(Planted::PublishBeforeInit) {
            swing();
        }
        Ok(())
    }

    fn settle(&self, medium: &Sim) -> Result<(), Finding> {
        words::<2>(medium, ROOT)?.flush(0, 2);
        // Before the operation returns.
        medium.drain();
        Ok(())
    }
}

impl Subject for Boxed {
    type Open = Sim;
    type Op = Op;
    type Answer = u64;
    type Model = u64;

    fn create(&self, medium: Sim) -> Result<Sim, Finding> {
        medium.grow(4096).map_err(|error| error.to_string())?;
        Ok(medium)
    }

    fn open(&self, medium: Sim, _: u64) -> Result<Sim, Finding> {
        self.format(&medium)?;
        let header = words::<2>(&medium, 0)?.load(1, Ordering::Acquire);
        match header == HEADER && words::<1>(&medium, HEADER)?.load(0, Ordering::Acquire) == KIND {
            true => Ok(medium),
            false => Err(format!("no header at {header}")),
        }
    }

    fn empty(&self) -> u64 {
        0
    }

    fn apply(&self, medium: &Sim, op: &Op) -> Result<u64, Finding> {
        match *op {
            Op::Put(value) => {
                let old = self.read(medium)?;
                self.publish(medium, value)?;
                self.settle(medium)?;
                Ok(old)
            }
            Op::GetDuringPut(value) => {
                act_as(1);
                let published = self.publish(medium, value);
                act_as(0);
                published?;
                let found = self.read(medium)?;
                if !self.has(Planted::DirtyRead) {
                    words::<2>(medium, ROOT)?.help_flush(0, 2);
                }
                Ok(found)
            }
        }
    }

    fn specify(&self, model: &mut u64, op: &Op) -> u64 {
        match *op {
            Op::Put(value) => std::mem::replace(model, value),
            Op::GetDuringPut(value) => {
                *model = value;
                value
            }
        }
    }

    fn observe(&self, medium: &Sim) -> Result<u64, Finding> {
        self.read(medium)
    }

    fn continuation(&self, model: &u64, _: &mut Random) -> Vec<Op> {
        vec![Op::Put(model + 1), Op::Put(model + 2)]
    }
}

/// Opening alone, replacing once and twice, and a reader that meets a writer.
pub(crate) fn hunt(bug: Option<Planted>) -> Hunt {
    let runs = [vec![Op::Put(7), Op::Put(8)]];
    Campaign::of(&[Op::Put(7), Op::GetDuringPut(9)]).and(runs).hunt(&Boxed(bug), None)
}
