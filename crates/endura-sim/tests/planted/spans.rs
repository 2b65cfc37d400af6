//! Spans of units in one page, each with a word in the page's table, as `endura`'s pool has them; linked from three slots.
//! Each unit of a linked span is stamped with its slot.
//!
//! What is free is known in memory. After a crash the table says it: it is a chain of spans, from the first unit to the
//! last. The faults make it say something else.

use std::cell::Cell;

use endura_engine::media::{Media, Ordering};
use endura_sim::choose::Random;
use endura_sim::sim::Sim;
use endura_sim::subject::{Finding, Subject};

use crate::hunt::{Campaign, Hunt, words};
use crate::table::Planted;

/// The word of unit `i` is `i` words behind: two lines.
const TABLE: u64 = 0;
const LINKS: u64 = 128;
/// Unit `i` is `i` lines behind.
const UNITS: u64 = 1024;
const FIRST: usize = 2;
const END: usize = 16;
const SLOTS: usize = 3;

/// The allocator, with a fault or without.
pub(crate) struct Spans(pub(crate) Option<Planted>);

pub(crate) struct Open {
    medium: Sim,
    bug: Option<Planted>,
    /// Which units are free.
    free: Cell<[bool; END]>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Op {
    /// Takes a span of so many units for a slot that has none.
    Take(usize, usize),
    /// Gives the span of a slot back.
    Give(usize),
}

impl Open {
    fn word(&self, unit: usize) -> Result<(bool, usize), Finding> {
        let word = words::<END>(&self.medium, TABLE)?.load(unit, Ordering::Acquire);
        Ok((word & 1 == 1, (word >> 1) as usize))
    }

    fn write(&self, unit: usize, is_free: bool, units: usize) -> Result<(), Finding> {
        let word = u64::from(is_free) | (units as u64) << 1;
        let table = words::<END>(&self.medium, TABLE)?;
        table.store(unit, word, Ordering::Release);
        table.flush(unit, 1);
        Ok(())
    }

    fn link(&self, slot: usize) -> Result<Option<(usize, usize)>, Finding> {
        let link = words::<SLOTS>(&self.medium, LINKS)?.load(slot, Ordering::Acquire);
        Ok((link != 0).then_some(((link & 0xFF) as usize, (link >> 8) as usize)))
    }

    fn set_link(&self, slot: usize, link: u64) -> Result<(), Finding> {
        let links = words::<SLOTS>(&self.medium, LINKS)?;
        links.store(slot, link, Ordering::Release);
        links.flush(slot, 1);
        self.medium.fence();
        Ok(())
    }

    fn set_free(&self, first: usize, units: usize, is_free: bool) {
        let mut free = self.free.get();
        free[first..first + units].fill(is_free);
        self.free.set(free);
    }

    /// The lowest run of free units that is long enough: its first, and its end.
    fn fit(&self, units: usize) -> Option<(usize, usize)> {
        let free = self.free.get();
        let end_of = |first: usize| (first..END).find(|&unit| !free[unit]).unwrap_or(END);
        let starts = (FIRST..END).filter(|&unit| free[unit] && (unit == FIRST || !free[unit - 1]));
        starts.map(|first| (first, end_of(first))).find(|(first, end)| end - first >= units)
    }

    fn take(&self, units: usize) -> Result<Option<usize>, Finding> {
        let Some((first, end)) = self.fit(units) else { return Ok(None) };
        let rest = first + units;
        if rest < end {
            let from = if self.bug == Some(Planted::FreeOfWrongLength) { first } else { rest };
            self.write(rest, true, end - from)?;
            if self.bug != Some(Planted::SpanBeforeItsRest) {
                self.medium.fence();
            }
        }
        self.write(first, false, units)?;
        self.medium.fence();
        self.set_free(first, units, false);
        Ok(Some(first))
    }

    fn give(&self, first: usize, units: usize) -> Result<(), Finding> {
        self.write(first, true, units)?;
        self.medium.fence();
        self.set_free(first, units, true);
        Ok(())
    }

    /// Walks the table; what it calls free is free, and so is what nothing links.
    fn load(&self) -> Result<(), Finding> {
        let table = words::<END>(&self.medium, TABLE)?;
        if table.load(FIRST, Ordering::Acquire) == 0 {
            self.write(FIRST, true, END - FIRST)?;
            self.medium.fence();
        }
        let linked = (0..SLOTS).map(|slot| self.link(slot)).collect::<Result<Vec<_>, _>>()?;
        let mut unit = FIRST;
        while unit < END {
            let (is_free, units) = self.word(unit)?;
            if units == 0 || unit + units > END {
                return Err(format!("a span of {units} units at unit {unit}"));
            }
            if is_free {
                self.set_free(unit, units, true);
            } else if !linked.contains(&Some((unit, units))) {
                self.give(unit, units)?;
            }
            unit += units;
        }
        Ok(())
    }

    fn stamp(&self, unit: usize) -> Result<u64, Finding> {
        Ok(words::<1>(&self.medium, UNITS + 64 * unit as u64)?.load(0, Ordering::Acquire))
    }
}

impl Subject for Spans {
    type Open = Open;
    type Op = Op;
    type Answer = bool;
    type Model = [usize; SLOTS];

    fn create(&self, medium: Sim) -> Result<Open, Finding> {
        medium.grow(4096).map_err(|error| error.to_string())?;
        self.open(medium, 1)
    }

    fn open(&self, medium: Sim, _: u64) -> Result<Open, Finding> {
        let open = Open { medium, bug: self.0, free: Cell::default() };
        open.load()?;
        Ok(open)
    }

    /// How many units each slot has.
    fn empty(&self) -> Self::Model {
        [0; SLOTS]
    }

    fn apply(&self, open: &Open, op: &Op) -> Result<bool, Finding> {
        match *op {
            Op::Take(slot, units) => {
                if open.link(slot)?.is_some() {
                    return Ok(false);
                }
                let first = open.take(units)?.ok_or("no room")?;
                for unit in first..first + units {
                    let word = words::<1>(&open.medium, UNITS + 64 * unit as u64)?;
                    word.store(0, slot as u64 + 1, Ordering::Release);
                    word.flush(0, 1);
                }
                open.medium.fence();
                open.set_link(slot, (first | units << 8) as u64)?;
                Ok(true)
            }
            Op::Give(slot) => {
                let Some((first, units)) = open.link(slot)? else { return Ok(false) };
                open.set_link(slot, 0)?;
                open.give(first, units)?;
                Ok(true)
            }
        }
    }

    fn specify(&self, model: &mut Self::Model, op: &Op) -> bool {
        match *op {
            Op::Take(slot, units) if model[slot] == 0 => model[slot] = units,
            Op::Give(slot) if model[slot] > 0 => model[slot] = 0,
            _ => return false,
        }
        true
    }

    fn observe(&self, open: &Open) -> Result<Self::Model, Finding> {
        let mut found = [0; SLOTS];
        for (slot, count) in found.iter_mut().enumerate() {
            let Some((first, units)) = open.link(slot)? else { continue };
            *count = units;
            for unit in first..first + units {
                match open.stamp(unit)? {
                    stamp if stamp == slot as u64 + 1 => {}
                    stamp => return Err(format!("unit {unit} of slot {slot} has {stamp}")),
                }
            }
        }
        Ok(found)
    }

    /// Every unit is free or linked.
    fn verify(&self, open: &Open, model: &Self::Model) -> Result<(), Finding> {
        let free = open.free.get().iter().filter(|&&is_free| is_free).count();
        let linked: usize = model.iter().sum();
        match free + linked == END - FIRST {
            true => Ok(()),
            false => Err(format!("{free} units are free and {linked} linked")),
        }
    }

    fn continuation(&self, model: &Self::Model, _: &mut Random) -> Vec<Op> {
        (0..SLOTS).filter(|&slot| model[slot] == 0).map(|slot| Op::Take(slot, 2)).collect()
    }
}

/// Spans that are taken from a whole page, from a gap, and over two that were freed.
pub(crate) fn hunt(bug: Option<Planted>) -> Hunt {
    let gap = vec![Op::Take(0, 4), Op::Take(1, 4)];
    let freed = vec![Op::Give(0), Op::Take(2, 2), Op::Give(1), Op::Take(0, 5)];
    let campaign = Campaign::of(&[Op::Take(0, 7), Op::Take(2, 3), Op::Give(0)]);
    campaign.from([gap]).and([freed]).hunt(&Spans(bug), None)
}
