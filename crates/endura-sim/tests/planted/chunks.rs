//! Chunks of one line in pages of two, linked from four slots; each chunk is stamped with its slot.
//!
//! Which chunks are free is known in memory only: two threads keep a list each, and a page all of
//! whose chunks are free can be taken as a whole. The faults let a chunk have two owners, or none.

use std::cell::RefCell;

use endura_engine::media::{Media, Ordering};
use endura_sim::choose::Random;
use endura_sim::sim::{Sim, act_as};
use endura_sim::subject::{Finding, Subject};

use crate::hunt::{Campaign, Hunt, words};
use crate::table::Planted;

const LINKS: u64 = 0;
/// Bit `i`: chunk `i` is in use. Only the fault that leaks believes it.
const USED: u64 = 64;
const CHUNKS: u64 = 128;
const COUNT: u64 = 8;
const SLOTS: usize = 4;

/// The allocator, with a fault or without.
pub(crate) struct Chunks(pub(crate) Option<Planted>);

#[derive(Default)]
struct Lists {
    /// Each thread's free chunks, with what incarnation their page had then.
    of: [Vec<(u64, u64)>; 2],
    /// For each page how many chunks are free, and how often it was taken whole.
    free: [u64; 4],
    incarnation: [u64; 4],
}

pub(crate) struct Open {
    medium: Sim,
    bug: Option<Planted>,
    lists: RefCell<Lists>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Op {
    /// A thread links a chunk of its own list.
    Link(usize, usize),
    /// Links a whole page.
    LinkPage(usize),
    /// A thread takes the link to a chunk out, and keeps the chunk.
    Unlink(usize, usize),
    /// Thread 1 moves what this slot links to another chunk, and stands still between the new link
    /// and its flush; thread 0 links the other slot.
    LinkDuringMove(usize, usize),
}

impl Open {
    fn link(&self, slot: usize) -> Result<(u64, u64), Finding> {
        let link = words::<SLOTS>(&self.medium, LINKS)?.load(slot, Ordering::Acquire);
        Ok(((link & 0xFFFF_FFFF).saturating_sub(1), link >> 32))
    }

    fn set_link(&self, slot: usize, chunk: u64, count: u64) -> Result<(), Finding> {
        let word = if count == 0 { 0 } else { (chunk + 1) | count << 32 };
        words::<SLOTS>(&self.medium, LINKS)?.store(slot, word, Ordering::Release);
        Ok(())
    }

    fn settle(&self, at: u64) -> Result<(), Finding> {
        words::<1>(&self.medium, at)?.flush(0, 1);
        self.medium.fence();
        Ok(())
    }

    /// Writes what a link will lead to.
    fn stamp(&self, chunk: u64, slot: usize) -> Result<(), Finding> {
        let at = CHUNKS + 64 * chunk;
        words::<1>(&self.medium, at)?.store(0, slot as u64 + 1, Ordering::Release);
        self.settle(at)
    }

    fn mark(&self, chunk: u64, used: bool) -> Result<(), Finding> {
        if self.bug == Some(Planted::LeakBeforeLink) {
            let word = words::<1>(&self.medium, USED)?;
            let others = word.load(0, Ordering::Acquire) & !(1 << chunk);
            word.store(0, others | u64::from(used) << chunk, Ordering::Release);
            self.settle(USED)?;
        }
        Ok(())
    }

    fn take(&self, thread: usize) -> Result<u64, Finding> {
        let mut lists = self.lists.borrow_mut();
        while let Some((chunk, incarnation)) = lists.of[thread].pop() {
            let page = chunk as usize / 2;
            // An entry from before the page was taken whole is void.
            if lists.incarnation[page] == incarnation || self.bug == Some(Planted::V16) {
                lists.free[page] = lists.free[page].saturating_sub(1);
                self.mark(chunk, true)?;
                return Ok(chunk);
            }
        }
        Err("out of chunks".to_owned())
    }

    fn take_page(&self) -> Result<u64, Finding> {
        let mut lists = self.lists.borrow_mut();
        let page = lists.free.iter().position(|&free| free == 2).ok_or("out of pages")?;
        lists.free[page] = 0;
        lists.incarnation[page] += 1;
        Ok(2 * page as u64)
    }

    fn give(&self, thread: usize, chunk: u64) -> Result<(), Finding> {
        self.mark(chunk, false)?;
        let mut lists = self.lists.borrow_mut();
        let page = chunk as usize / 2;
        lists.free[page] += 1;
        let incarnation = lists.incarnation[page];
        lists.of[thread].push((chunk, incarnation));
        Ok(())
    }

    /// All chunks but those in use are free, half of them each thread's.
    fn sweep(&self) -> Result<(), Finding> {
        for chunk in (0..COUNT).rev() {
            let used = match self.bug == Some(Planted::LeakBeforeLink) {
                true => {
                    words::<1>(&self.medium, USED)?.load(0, Ordering::Acquire) >> chunk & 1 == 1
                }
                false => self.is_linked(chunk)?,
            };
            if !used {
                self.give((chunk % 2) as usize, chunk)?;
            }
        }
        Ok(())
    }

    fn is_linked(&self, chunk: u64) -> Result<bool, Finding> {
        let leads = |slot| self.link(slot).map(|(at, count)| (at..at + count).contains(&chunk));
        (0..SLOTS).try_fold(false, |any, slot| Ok(any || leads(slot)?))
    }

    fn new_link(&self, slot: usize, thread: usize) -> Result<(), Finding> {
        let chunk = self.take(thread)?;
        self.stamp(chunk, slot)?;
        self.set_link(slot, chunk, 1)?;
        self.settle(LINKS)
    }

    /// Thread 1's half of [`Op::LinkDuringMove`]. (Thread 0 will find the chunk: the lists of this
    /// allocator spill over at once.)
    fn move_away(&self, slot: usize) -> Result<(), Finding> {
        let (old, _) = self.link(slot)?;
        let chunk = self.take(1)?;
        self.stamp(chunk, slot)?;
        self.set_link(slot, chunk, 1)?;
        if self.bug != Some(Planted::FreeBeforeUnlinkDurable) {
            // Before the old chunk can be taken: a crash may bring the old link back.
            self.settle(LINKS)?;
        }
        self.give(0, old)
    }
}

impl Subject for Chunks {
    type Open = Open;
    type Op = Op;
    type Answer = ();
    type Model = [u64; SLOTS];

    fn create(&self, medium: Sim) -> Result<Open, Finding> {
        medium.grow(4096).map_err(|error| error.to_string())?;
        self.open(medium, 1)
    }

    fn open(&self, medium: Sim, _: u64) -> Result<Open, Finding> {
        let open = Open { medium, bug: self.0, lists: RefCell::default() };
        open.sweep()?;
        Ok(open)
    }

    /// How many chunks each slot links.
    fn empty(&self) -> Self::Model {
        [0; SLOTS]
    }

    fn apply(&self, open: &Open, op: &Op) -> Result<(), Finding> {
        match *op {
            Op::Link(slot, thread) => open.new_link(slot, thread),
            Op::LinkPage(slot) => {
                let first = open.take_page()?;
                open.stamp(first, slot)?;
                open.stamp(first + 1, slot)?;
                open.set_link(slot, first, 2)?;
                open.settle(LINKS)
            }
            Op::Unlink(slot, thread) => {
                let (chunk, count) = open.link(slot)?;
                if count != 1 {
                    return Ok(());
                }
                open.set_link(slot, 0, 0)?;
                open.settle(LINKS)?;
                open.give(thread, chunk)
            }
            Op::LinkDuringMove(moved, slot) => {
                act_as(1);
                let stands = open.move_away(moved);
                act_as(0);
                stands?;
                open.new_link(slot, 0)
            }
        }
    }

    fn specify(&self, model: &mut Self::Model, op: &Op) {
        match *op {
            Op::Link(slot, _) | Op::LinkDuringMove(_, slot) => model[slot] = 1,
            Op::LinkPage(slot) => model[slot] = 2,
            Op::Unlink(slot, _) if model[slot] == 1 => model[slot] = 0,
            Op::Unlink(..) => {}
        }
    }

    fn observe(&self, open: &Open) -> Result<Self::Model, Finding> {
        let mut found = [0; SLOTS];
        for (slot, count) in found.iter_mut().enumerate() {
            let (first, chunks) = open.link(slot)?;
            *count = chunks;
            for chunk in first..first + chunks {
                let stamp =
                    words::<1>(&open.medium, CHUNKS + 64 * chunk)?.load(0, Ordering::Acquire);
                if stamp != slot as u64 + 1 {
                    return Err(format!("slot {slot} leads to chunk {chunk}, which has {stamp}"));
                }
            }
        }
        Ok(found)
    }

    /// Every chunk is free or linked.
    fn verify(&self, open: &Open, model: &Self::Model) -> Result<(), Finding> {
        let (free, linked): (u64, u64) =
            (open.lists.borrow().free.iter().sum(), model.iter().sum());
        match free + linked == COUNT {
            true => Ok(()),
            false => Err(format!("{free} chunks are free and {linked} linked, of {COUNT}")),
        }
    }

    fn continuation(&self, model: &Self::Model, _: &mut Random) -> Vec<Op> {
        (0..SLOTS).filter(|&slot| model[slot] == 0).map(|slot| Op::Link(slot, slot % 2)).collect()
    }
}

/// Links by two threads, a page that becomes free and is taken whole, and a move that meets a link.
pub(crate) fn hunt(bug: Option<Planted>) -> Hunt {
    let both = vec![Op::Link(0, 0), Op::Link(1, 1)];
    let freed = vec![Op::Unlink(0, 0), Op::Unlink(1, 1), Op::LinkPage(2), Op::Link(3, 0)];
    let mut campaign = Campaign::of(&[Op::LinkDuringMove(1, 2), Op::Link(2, 0)]).and([freed]);
    campaign.starts = vec![both];
    campaign.hunt(&Chunks(bug), None)
}
