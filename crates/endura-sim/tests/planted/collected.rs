//! Chunks of one line, linked from four slots; which of them are free after a restart is found out by
//! a marker that goes from slot to slot while links come, go and move.
//!
//! | line | words |
//! | --- | --- |
//! | 0 | a byte for each slot: the number of its chunk, from 1; how many chunks were ever taken |
//! | 1.. | chunks: the value that was linked; the number, from 1, of a chunk that readers pass through |
//!
//! Links move by one store, as words of a tree do. One thread may stand still between an unlink and
//! the moment when it frees the chunk. The faults are those of a leak recovery that forgets one of its
//! rules (`docs/design.md`, what a crash strands): a chunk gets two owners, or none.

use std::cell::RefCell;

use endura_engine::media::{Media, Ordering};
use endura_sim::choose::Random;
use endura_sim::sim::Sim;
use endura_sim::subject::{Finding, Subject};

use crate::hunt::{Campaign, Hunt, words};
use crate::table::Planted;

const LINKS: u64 = 0;
const CHUNKS: u64 = 64;
const SLOTS: usize = 4;
/// What a chunk holds that is passed through.
const PASSAGE: u64 = 0xC0DE;

/// The allocator, with a fault or without.
pub(crate) struct Collected(pub(crate) Option<Planted>);

/// What a session knows.
#[derive(Default)]
struct Known {
    /// Chunks that there were when it began: the others are its own.
    limit: u64,
    /// Bit `i`: chunk `i` has an owner.
    marks: u64,
    free: Vec<u64>,
    /// Unlinked by the thread that stands still.
    held: Option<u64>,
    /// How many slots the marker has passed.
    passed: usize,
    swept: bool,
}

pub(crate) struct Open {
    medium: Sim,
    bug: Option<Planted>,
    known: RefCell<Known>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Op {
    /// Links a new chunk with a value where nothing is linked.
    Link(usize, u64),
    Unlink(usize),
    /// As `Unlink`, by a thread that stands still before it frees the chunk.
    UnlinkAndStand(usize),
    /// It goes on.
    Free,
    /// Moves a link to a slot where nothing is linked.
    Move(usize, usize),
    /// Lets readers of a chunk pass through another one, as those of a node that takes its neighbour over.
    Lead(usize),
    /// The marker passes a slot; or waits for the thread that stands; or sweeps.
    Collect,
}

use Op::{Collect, Free, Lead, Link, Move, Unlink, UnlinkAndStand};

impl Open {
    fn load(&self, word: usize) -> Result<u64, Finding> {
        Ok(words::<2>(&self.medium, LINKS)?.load(word, Ordering::Acquire))
    }

    /// Durable on return.
    fn commit(&self, word: usize, value: u64) -> Result<(), Finding> {
        let words = words::<2>(&self.medium, LINKS)?;
        words.store(word, value, Ordering::Release);
        words.flush(word, 1);
        self.medium.fence();
        Ok(())
    }

    fn link(&self, slot: usize) -> Result<Option<u64>, Finding> {
        Ok((self.load(0)? >> (8 * slot) & 0xFF).checked_sub(1))
    }

    /// The chunk that readers of another one pass through.
    fn passage(&self, chunk: u64) -> Result<Option<u64>, Finding> {
        let content = words::<2>(&self.medium, CHUNKS + 64 * chunk)?;
        Ok(content.load(1, Ordering::Acquire).checked_sub(1))
    }

    fn linked(&self) -> Result<Vec<u64>, Finding> {
        let links = (0..SLOTS).map(|slot| self.link(slot)).collect::<Result<Vec<_>, _>>()?;
        let mut linked: Vec<u64> = links.into_iter().flatten().collect();
        for i in 0..linked.len() {
            linked.extend(self.passage(linked[i])?);
        }
        Ok(linked)
    }

    /// Writes a chunk that nothing leads to, durably.
    fn write(&self, chunk: u64, value: u64) -> Result<(), Finding> {
        let content = words::<2>(&self.medium, CHUNKS + 64 * chunk)?;
        content.store(1, 0, Ordering::Release);
        content.store(0, value, Ordering::Release);
        content.flush(0, 2);
        // Before the link: what it leads to must be durable.
        self.medium.fence();
        Ok(())
    }

    fn lead(&self, slot: usize) -> Result<(), Finding> {
        let Some(chunk) = self.link(slot)? else { return Ok(()) };
        if self.passage(chunk)?.is_some() {
            return Ok(());
        }
        let through = self.take()?;
        self.write(through, PASSAGE)?;
        let content = words::<2>(&self.medium, CHUNKS + 64 * chunk)?;
        content.store(1, through + 1, Ordering::Release);
        content.flush(1, 1);
        self.medium.fence();
        Ok(())
    }

    /// The word of links with another one in a slot.
    fn with(&self, links: u64, slot: usize, chunk: Option<u64>) -> u64 {
        links & !(0xFF << (8 * slot)) | chunk.map_or(0, |chunk| chunk + 1) << (8 * slot)
    }

    fn keep(&self, chunk: u64, unless: Planted) {
        if self.bug != Some(unless) {
            self.known.borrow_mut().marks |= 1 << chunk;
        }
    }

    fn take(&self) -> Result<u64, Finding> {
        if let Some(chunk) = self.known.borrow_mut().free.pop() {
            return Ok(chunk);
        }
        let chunk = self.load(1)?;
        self.commit(1, chunk + 1)?;
        Ok(chunk)
    }

    fn put(&self, slot: usize, value: u64) -> Result<(), Finding> {
        if self.link(slot)?.is_some() {
            return Ok(());
        }
        let chunk = self.take()?;
        self.write(chunk, value)?;
        self.commit(0, self.with(self.load(0)?, slot, Some(chunk)))
    }

    fn unlink(&self, slot: usize) -> Result<Option<u64>, Finding> {
        let chunk = self.link(slot)?;
        if chunk.is_some() {
            self.commit(0, self.with(self.load(0)?, slot, None))?;
        }
        let passage = chunk.map_or(Ok(None), |chunk| self.passage(chunk))?;
        passage.into_iter().for_each(|through| self.free(through));
        Ok(chunk)
    }

    fn free(&self, chunk: u64) {
        self.keep(chunk, Planted::CollectForgetsFrees);
        self.known.borrow_mut().free.push(chunk);
    }

    fn shift(&self, from: usize, to: usize) -> Result<(), Finding> {
        let (Some(chunk), None) = (self.link(from)?, self.link(to)?) else { return Ok(()) };
        // Before the chunk leaves: the marker may have passed where it goes.
        self.keep(chunk, Planted::CollectForgetsMoves);
        self.passage(chunk)?.into_iter().for_each(|i| self.keep(i, Planted::CollectForgetsMoves));
        let links = self.with(self.load(0)?, from, None);
        self.commit(0, self.with(links, to, Some(chunk)))
    }

    fn collect(&self) -> Result<(), Finding> {
        let passed = self.known.borrow().passed;
        if passed < SLOTS {
            let chunk = self.link(passed)?;
            let through = match chunk {
                Some(chunk) if self.bug != Some(Planted::V17) => self.passage(chunk)?,
                _ => None,
            };
            let mut known = self.known.borrow_mut();
            chunk.into_iter().chain(through).for_each(|chunk| known.marks |= 1 << chunk);
            known.passed += 1;
            return Ok(());
        }
        let taken = self.load(1)?;
        let mut known = self.known.borrow_mut();
        let must_wait = known.held.is_some() && self.bug != Some(Planted::CollectWithoutGrace);
        if !known.swept && !must_wait {
            let all = if self.bug == Some(Planted::CollectNewChunks) { taken } else { known.limit };
            let unmarked: Vec<u64> = (0..all).filter(|i| known.marks >> i & 1 == 0).collect();
            known.free.extend(unmarked);
            known.swept = true;
        }
        Ok(())
    }
}

impl Subject for Collected {
    type Open = Open;
    type Op = Op;
    type Answer = ();
    type Model = [Option<u64>; SLOTS];

    fn create(&self, medium: Sim) -> Result<Open, Finding> {
        medium.grow(4096).map_err(|error| error.to_string())?;
        self.open(medium, 1)
    }

    fn open(&self, medium: Sim, _: u64) -> Result<Open, Finding> {
        let open = Open { medium, bug: self.0, known: RefCell::default() };
        open.known.borrow_mut().limit = open.load(1)?;
        Ok(open)
    }

    /// The value that each slot leads to.
    fn empty(&self) -> Self::Model {
        [None; SLOTS]
    }

    fn apply(&self, open: &Open, op: &Op) -> Result<(), Finding> {
        match *op {
            Link(slot, value) => open.put(slot, value),
            Unlink(slot) => {
                open.unlink(slot)?.into_iter().for_each(|chunk| open.free(chunk));
                Ok(())
            }
            UnlinkAndStand(slot) => {
                let chunk = open.unlink(slot)?;
                let before = std::mem::replace(&mut open.known.borrow_mut().held, chunk);
                before.into_iter().for_each(|chunk| open.free(chunk));
                Ok(())
            }
            Free => {
                let held = open.known.borrow_mut().held.take();
                held.into_iter().for_each(|chunk| open.free(chunk));
                Ok(())
            }
            Move(from, to) => open.shift(from, to),
            Lead(slot) => open.lead(slot),
            Collect => open.collect(),
        }
    }

    fn specify(&self, model: &mut Self::Model, op: &Op) {
        match *op {
            Link(slot, value) => _ = model[slot].get_or_insert(value),
            Unlink(slot) | UnlinkAndStand(slot) => model[slot] = None,
            Move(from, to) if model[to].is_none() => model[to] = model[from].take(),
            Move(..) | Lead(_) | Free | Collect => {}
        }
    }

    fn observe(&self, open: &Open) -> Result<Self::Model, Finding> {
        let mut found = [None; SLOTS];
        for (slot, value) in found.iter_mut().enumerate() {
            if let Some(chunk) = open.link(slot)? {
                let content = words::<1>(&open.medium, CHUNKS + 64 * chunk)?;
                *value = Some(content.load(0, Ordering::Acquire));
                if let Some(through) = open.passage(chunk)? {
                    let passed = words::<1>(&open.medium, CHUNKS + 64 * through)?;
                    let found = passed.load(0, Ordering::Acquire);
                    if found != PASSAGE {
                        return Err(format!("a reader passes through a chunk with {found:#x}"));
                    }
                }
            }
        }
        Ok(found)
    }

    /// Every chunk has one owner: a slot, the thread that stands, the list of free ones; once all was
    /// swept, none has none.
    fn verify(&self, open: &Open, _: &Self::Model) -> Result<(), Finding> {
        let (linked, taken, known) = (open.linked()?, open.load(1)?, open.known.borrow());
        let mut owned: Vec<u64> =
            linked.iter().chain(&known.free).chain(&known.held).copied().collect();
        owned.sort_unstable();
        if let Some(pair) = owned.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("chunk {} has two owners", pair[0]));
        }
        match known.swept && owned.len() as u64 != taken {
            true => Err(format!("{} chunks of {taken} have an owner", owned.len())),
            false => Ok(()),
        }
    }

    /// Collects to the end, and hands out what is free.
    fn continuation(&self, model: &Self::Model, _: &mut Random) -> Vec<Op> {
        let vacant = (0..SLOTS).filter(|&slot| model[slot].is_none());
        let links = vacant.map(|slot| Link(slot, 90 + slot as u64));
        [Free].into_iter().chain([Collect; SLOTS + 1]).chain(links).collect()
    }
}

/// Links that come, go and move before and behind the marker.
pub(crate) fn hunt(bug: Option<Planted>) -> Hunt {
    let full: Vec<Op> = (0..SLOTS).map(|slot| Link(slot, 10 + slot as u64)).collect();
    let holes = [&full[..], &[Unlink(0), Unlink(2)]].concat();
    let around = |before: usize, ops: &[Op]| {
        let after = [&[Collect; SLOTS][..], &[Free, Collect], &[Link(0, 7), Link(2, 8)]].concat();
        [&[Collect].repeat(before)[..], ops, &after].concat()
    };
    let runs = (0..=SLOTS).flat_map(|before| {
        [
            around(before, &[]),
            around(before, &[Link(0, 5), Link(2, 6)]),
            around(before, &[Unlink(3)]),
            around(before, &[Unlink(1), Link(1, 4)]),
            around(before, &[Move(3, 0), Move(1, 2)]),
            around(before, &[UnlinkAndStand(3)]),
            around(before, &[Lead(1), Unlink(3)]),
        ]
    });
    let runs: Vec<Vec<Op>> = runs.collect();
    let led = [&full[..], &[Lead(1), Lead(3), Unlink(0)]].concat();
    Campaign::of(&[Collect]).from([full, holes, led]).and(runs).hunt(&Collected(bug), None)
}
