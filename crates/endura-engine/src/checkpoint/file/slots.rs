//! Which slots of a checkpoint's file are free.

use std::ops::Range;

use crate::checkpoint::file::bits::Bits;
use crate::checkpoint::file::root::{ROOTS, can_hold_a_page};

/// A gap of fewer slots than this is not worth writing to, except for the last slots of a call.
const LEAST_GAP: u32 = 16;
/// If the file has more slots than this for each one in use, every gap is worth writing to.
const MOST_SPARSE: u64 = 2;

/// The slots in use. All others are free, also those beyond the end of the file.
#[derive(Debug, Clone)]
pub(crate) struct Slots {
    used: Bits,
    /// No slot below this one is free. So the calls of a round do not each look at all slots before it.
    lowest: u32,
}

impl Slots {
    /// No slots but those of the roots are in use.
    pub(crate) fn new() -> Self {
        let mut used = Bits::default();
        (0..ROOTS).for_each(|slot| _ = used.insert(slot));
        Self { used, lowest: ROOTS }
    }

    pub(crate) fn in_use(&self) -> u64 {
        self.used.count()
    }

    /// Marks a slot as in use. Returns `false` if it is in use already.
    #[must_use]
    pub(crate) fn claim(&mut self, slot: u32) -> bool {
        let was_free = self.used.insert(slot);
        if slot == self.lowest {
            self.lowest = self.used.first_out(slot);
        }
        was_free
    }

    /// Frees a slot. The slots of the roots are never freed, because slot 0 stands for a page that has no slot.
    pub(crate) fn free(&mut self, slot: u32) {
        if can_hold_a_page(slot) {
            self.used.remove(slot);
            self.lowest = self.lowest.min(slot);
        }
    }

    /// The free runs of slots, lowest first. The last one has no end.
    fn gaps(&self) -> impl Iterator<Item = Range<u32>> {
        let mut at = self.lowest;
        std::iter::from_fn(move || {
            if at == u32::MAX {
                return None;
            }
            let first = self.used.first_out(at);
            at = self.used.first_in(first).unwrap_or(u32::MAX);
            Some(first..at)
        })
    }

    /// Takes `count` slots in a row, from the first gap that is long enough.
    pub(crate) fn take_run(&mut self, count: u32) -> Option<Range<u32>> {
        let gap = self.gaps().find(|gap| gap.end - gap.start >= count)?;
        let taken = gap.start..gap.start + count;
        taken.clone().for_each(|slot| _ = self.claim(slot));
        Some(taken)
    }

    /// The number of slots that a gap must have to be worth writing to. Pages that stay for long may leave only short
    /// gaps everywhere: then any gap will do.
    fn least_gap(&self) -> u32 {
        let is_sparse = u64::from(self.used.end()) > MOST_SPARSE * self.in_use();
        if is_sparse { 1 } else { LEAST_GAP }
    }

    /// Free places for `count` slots, lowest first, in gaps of at least `least` slots each. (A disk that seeks writes a
    /// few long pieces in a tenth of the time of many short ones.)
    fn pieces(&self, count: u32, least: u32) -> Option<Vec<Range<u32>>> {
        let (mut pieces, mut missing) = (Vec::new(), count);
        for gap in self.gaps() {
            let length = gap.end - gap.start;
            if missing == 0 {
                break;
            }
            if length >= least.min(missing) {
                let taken = length.min(missing);
                pieces.push(gap.start..gap.start + taken);
                missing -= taken;
            }
        }
        (missing == 0).then_some(pieces)
    }

    /// The number of slots that the file must have, so that `count` slots can be taken from gaps that are worth writing
    /// to.
    pub(crate) fn room_for(&self, count: u32) -> Option<u32> {
        Some(end_of(&self.pieces(count, self.least_gap())?))
    }

    /// Takes `count` slots, ascending. If a file of `room` slots has enough of them only in short gaps, takes the slots
    /// of those gaps: the file must not grow if there was [space](Self::room_for) for the slots.
    pub(crate) fn take(&mut self, count: u32, room: u32) -> Option<Vec<u32>> {
        let mut pieces = self.pieces(count, self.least_gap())?;
        if end_of(&pieces) > room {
            let short = self.pieces(count, 1).filter(|short| end_of(short) <= room);
            pieces = short.unwrap_or(pieces);
        }
        let taken: Vec<u32> = pieces.into_iter().flatten().collect();
        taken.iter().for_each(|&slot| _ = self.claim(slot));
        Some(taken)
    }
}

fn end_of(pieces: &[Range<u32>]) -> u32 {
    pieces.last().map_or(0, |piece| piece.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_taken_from_gaps_that_are_long_enough() {
        let mut slots = Slots::new();
        assert_eq!(slots.take(100, 0), Some((2..102).collect()));
        assert_eq!(slots.in_use(), 102);
        [0, 3, 5, 6].into_iter().for_each(|slot| slots.free(slot));
        (20..40).for_each(|slot| slots.free(slot));
        assert_eq!(slots.in_use(), 79);
        assert_eq!(slots.take_run(2), Some(5..7));
        // The last slots go wherever they fit.
        let count_and_end = |count| slots.pieces(count, 16).map(|all| (all.len(), end_of(&all)));
        assert_eq!([17, 20, 21].map(count_and_end), [Some((1, 37)), Some((1, 40)), Some((2, 103))]);
        assert_eq!(slots.room_for(21), Some(103));
        assert_eq!(slots.take(22, 102), Some((20..40).chain([102, 103]).collect()));
        [20, 22].into_iter().for_each(|slot| slots.free(slot));
        assert_eq!(slots.take(4, 104), Some(vec![104, 105, 106, 107]));
        assert_eq!(slots.take(3, 108), Some(vec![3, 20, 22]));
        assert!(!slots.claim(9) && slots.claim(900) && !slots.claim(900));
        assert_eq!(slots.take_run(700), Some(108..808));
        (108..808).for_each(|slot| slots.free(slot));
        (50..90).step_by(2).for_each(|slot| slots.free(slot));
        assert_eq!(slots.take(2, 0), Some(vec![50, 52]));
        assert_eq!(slots.take(u32::MAX, u32::MAX), None);
    }
}
