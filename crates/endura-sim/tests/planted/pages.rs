//! A page allocator whose only persistent state is how many pages there are, and a header for each.
//!
//! | line | words |
//! | --- | --- |
//! | 0 | pages ever taken |
//! | 1 | three links: first page + 1, with the number of pages in the upper half |
//! | 2.. | headers: pages of the run that begins here, 0 = none |
//!
//! Which pages are free is known in memory only, and found out anew at each start from the headers
//! and the links. The faults are the traces V14 and V15 of `docs/trees.md`.

use std::cell::{Cell, RefCell};

use endura::lab::media::{Media, Ordering};
use endura_sim::choose::Random;
use endura_sim::sim::{Sim, act_as};
use endura_sim::subject::{Finding, Subject};

use crate::hunt::{Campaign, Hunt, words};
use crate::table::Planted;

const NEXT: u64 = 0;
const LINKS: u64 = 64;
const HEADERS: u64 = 128;
const PAGES: u64 = 12;

/// The allocator, with a fault or without.
pub(crate) struct Pages(pub(crate) Option<Planted>);

pub(crate) struct Open {
    medium: Sim,
    bug: Option<Planted>,
    /// Pages that threads have taken for themselves; `NEXT` follows.
    taken: Cell<u64>,
    free: RefCell<Vec<u64>>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Op {
    /// Takes a run of so many pages, and links it in place of what was linked.
    Link(usize, u64),
    /// The same for one page, while another thread, which took the page after it, has stored the
    /// new number of pages and stands still before it flushes.
    LinkDuringGrowth(usize),
    Unlink(usize),
}

impl Open {
    fn word(&self, at: u64) -> Result<u64, Finding> {
        Ok(words::<1>(&self.medium, at)?.load(0, Ordering::Acquire))
    }

    fn set(&self, at: u64, value: u64) -> Result<(), Finding> {
        words::<1>(&self.medium, at)?.store(0, value, Ordering::Release);
        Ok(())
    }

    fn settle(&self, at: u64) -> Result<(), Finding> {
        words::<1>(&self.medium, at)?.flush(0, 1);
        self.medium.fence();
        Ok(())
    }

    fn write(&self, at: u64, value: u64) -> Result<(), Finding> {
        self.set(at, value)?;
        self.settle(at)
    }

    fn link(&self, slot: usize) -> Result<u64, Finding> {
        Ok(words::<3>(&self.medium, LINKS)?.load(slot, Ordering::Acquire))
    }

    fn set_link(&self, slot: usize, value: u64) -> Result<(), Finding> {
        words::<3>(&self.medium, LINKS)?.store(slot, value, Ordering::Release);
        self.settle(LINKS)
    }

    /// The pages that a link leads to.
    fn run(&self, slot: usize) -> Result<std::ops::Range<u64>, Finding> {
        let link = self.link(slot)?;
        let (first, count) = ((link & 0xFFFF_FFFF).saturating_sub(1), link >> 32);
        Ok(first..first + count)
    }

    /// Makes `NEXT` at least `count`, durably.
    fn cover(&self, count: u64) -> Result<(), Finding> {
        if self.word(NEXT)? < count {
            self.set(NEXT, count)?;
        } else if self.bug == Some(Planted::V14) {
            return Ok(());
        }
        // Also if it was large enough: whoever stored that may not have flushed it yet.
        self.settle(NEXT)
    }

    fn reserve(&self, count: u64) -> u64 {
        let first = self.taken.get();
        assert!(first + count <= PAGES, "out of pages");
        self.taken.set(first + count);
        first
    }

    fn take(&self, count: u64) -> Result<u64, Finding> {
        let freed = if count == 1 { self.free.borrow_mut().pop() } else { None };
        let first = freed.unwrap_or_else(|| self.reserve(count));
        // Before the page can be linked: who walks the headers after a crash must find this one.
        self.write(HEADERS + 64 * first, count)?;
        self.cover(first + count)?;
        Ok(first)
    }

    fn free(&self, run: std::ops::Range<u64>) -> Result<(), Finding> {
        if run.is_empty() {
            return Ok(());
        }
        if self.bug != Some(Planted::V15) {
            // Before one of its pages gets a new owner: a header that still spans them would free
            // them all.
            self.write(HEADERS + 64 * run.start, 0)?;
        }
        self.free.borrow_mut().extend(run);
        Ok(())
    }

    /// Walks the headers: what no link leads to is free.
    fn sweep(&self) -> Result<(), Finding> {
        let next = self.word(NEXT)?;
        self.taken.set(next);
        let linked = (0..3).map(|slot| self.run(slot)).collect::<Result<Vec<_>, _>>()?;
        let mut page = 0;
        while page < next {
            let count = self.word(HEADERS + 64 * page)?.clamp(1, next - page);
            if !linked.iter().any(|run| run.contains(&page)) {
                self.free(page..page + count)?;
            }
            page += count;
        }
        Ok(())
    }
}

impl Subject for Pages {
    type Open = Open;
    type Op = Op;
    type Answer = ();
    type Model = [u64; 3];

    fn create(&self, medium: Sim) -> Result<Open, Finding> {
        medium.grow(4096).map_err(|error| error.to_string())?;
        self.open(medium, 1)
    }

    fn open(&self, medium: Sim, _: u64) -> Result<Open, Finding> {
        let (taken, free) = (Cell::new(0), RefCell::default());
        let open = Open { medium, bug: self.0, taken, free };
        open.sweep()?;
        Ok(open)
    }

    /// How many pages each link leads to.
    fn empty(&self) -> Self::Model {
        [0; 3]
    }

    fn apply(&self, open: &Open, op: &Op) -> Result<(), Finding> {
        match *op {
            Op::Link(slot, count) => {
                let (first, old) = (open.take(count)?, open.run(slot)?);
                open.set_link(slot, (first + 1) | count << 32)?;
                open.free(old)
            }
            Op::LinkDuringGrowth(slot) => {
                let first = open.reserve(1);
                act_as(1);
                let other = open.reserve(1);
                let stored = open.set(NEXT, other + 1);
                act_as(0);
                stored?;
                open.write(HEADERS + 64 * first, 1)?;
                open.cover(first + 1)?;
                open.set_link(slot, (first + 1) | 1 << 32)
            }
            Op::Unlink(slot) => {
                let run = open.run(slot)?;
                // Durable before the pages can be taken again.
                open.set_link(slot, 0)?;
                open.free(run)
            }
        }
    }

    fn specify(&self, model: &mut Self::Model, op: &Op) {
        match *op {
            Op::Link(slot, count) => model[slot] = count,
            Op::LinkDuringGrowth(slot) => model[slot] = 1,
            Op::Unlink(slot) => model[slot] = 0,
        }
    }

    fn observe(&self, open: &Open) -> Result<Self::Model, Finding> {
        Ok([open.link(0)? >> 32, open.link(1)? >> 32, open.link(2)? >> 32])
    }

    /// No page has two owners: two links, or a link and the free list, or a link and whoever asks
    /// for a new page next.
    fn verify(&self, open: &Open, _: &Self::Model) -> Result<(), Finding> {
        let mut owned: Vec<u64> = open.free.borrow().clone();
        for slot in 0..3 {
            owned.extend(open.run(slot)?);
        }
        owned.sort_unstable();
        if let Some(pair) = owned.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("page {} has two owners", pair[0]));
        }
        match owned.last() {
            Some(&last) if last >= open.taken.get() => {
                Err(format!("page {last} is linked and will be handed out again"))
            }
            _ => Ok(()),
        }
    }

    fn continuation(&self, model: &Self::Model, _: &mut Random) -> Vec<Op> {
        let vacant = (0..3).filter(|&slot| model[slot] == 0).map(|slot| Op::Link(slot, 1));
        vacant.chain((0..3).map(Op::Unlink)).chain([Op::Link(1, 1), Op::Link(2, 2)]).collect()
    }
}

/// Runs of one and two pages, linked and unlinked, and one that meets another thread's growth.
pub(crate) fn hunt(bug: Option<Planted>) -> Hunt {
    let two = vec![Op::Link(0, 2)];
    let reused = vec![Op::Unlink(0), Op::Link(1, 1), Op::Link(2, 1)];
    Campaign::of(&[Op::Link(0, 1), Op::LinkDuringGrowth(1), Op::Unlink(0)])
        .and([reused])
        .from([two])
        .hunt(&Pages(bug), None)
}
