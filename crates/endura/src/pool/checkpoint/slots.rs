//! Which slots of a checkpoint's file are free.

use std::ops::Range;

use crate::pool::checkpoint::bits::Bits;
use crate::pool::checkpoint::root::{ROOTS, can_hold_a_page};

/// Slots of a gap that is worth writing to, but for the last ones.
const LEAST_GAP: u32 = 16;
/// Slots of the file for each one in use, from which on every gap is.
const MOST_SPARSE: u64 = 2;

/// The slots in use. All others are free, also those behind the end of the file.
#[derive(Debug, Clone)]
pub(crate) struct Slots {
    used: Bits,
}

impl Slots {
    /// The roots are in use.
    pub(crate) fn new() -> Self {
        let mut used = Bits::default();
        (0..ROOTS).for_each(|slot| _ = used.insert(slot));
        Self { used }
    }

    pub(crate) fn in_use(&self) -> u64 {
        self.used.count()
    }

    /// Says that a slot is in use; `false` if it is already.
    #[must_use]
    pub(crate) fn claim(&mut self, slot: u32) -> bool {
        self.used.insert(slot)
    }

    /// Frees a slot. The roots are never free: slot 0 stands for a page that has none.
    pub(crate) fn free(&mut self, slot: u32) {
        if can_hold_a_page(slot) {
            self.used.remove(slot);
        }
    }

    /// The free runs of slots, lowest first; the last one does not end.
    fn gaps(&self) -> impl Iterator<Item = Range<u32>> {
        let mut at = 0;
        std::iter::from_fn(move || {
            if at == u32::MAX {
                return None;
            }
            let first = self.used.first_out(at);
            at = self.used.first_in(first).unwrap_or(u32::MAX);
            Some(first..at)
        })
    }

    /// Takes `count` slots that lie side by side: the first such gap.
    pub(crate) fn take_run(&mut self, count: u32) -> Option<Range<u32>> {
        let gap = self.gaps().find(|gap| gap.end - gap.start >= count)?;
        let taken = gap.start..gap.start + count;
        taken.clone().for_each(|slot| _ = self.claim(slot));
        Some(taken)
    }

    /// Slots that a gap must have, to be worth writing to. Pages that stay for long may leave gaps everywhere that are all
    /// too short: then any will do.
    pub(crate) fn least_gap(&self) -> u32 {
        let is_sparse = u64::from(self.used.end()) > MOST_SPARSE * self.in_use();
        if is_sparse { 1 } else { LEAST_GAP }
    }

    /// Where `count` slots are free, in gaps of at least `least` slots, lowest first. (A disk that seeks writes a few long
    /// pieces in a tenth of the time of many short ones.)
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

    /// The end of the slots that [`take`](Self::take) would take.
    pub(crate) fn end_of(&self, count: u32, least: u32) -> Option<u32> {
        Some(self.pieces(count, least)?.last().map_or(0, |piece| piece.end))
    }

    /// Takes `count` slots, in as few pieces as there are gaps of at least `least` slots.
    pub(crate) fn take(&mut self, count: u32, least: u32) -> Option<Vec<u32>> {
        let taken: Vec<u32> = self.pieces(count, least)?.into_iter().flatten().collect();
        taken.iter().for_each(|&slot| _ = self.claim(slot));
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_taken_from_gaps_that_are_long_enough() {
        let mut slots = Slots::new();
        assert_eq!(slots.take(5, 1), Some(vec![2, 3, 4, 5, 6]));
        assert_eq!(slots.in_use(), 7);
        [0, 3, 5, 6].into_iter().for_each(|slot| slots.free(slot));
        assert_eq!(slots.take_run(2), Some(5..7));
        assert_eq!(slots.end_of(2, 2), Some(9));
        assert_eq!(slots.take(2, 2), Some(vec![7, 8]));
        assert_eq!((slots.end_of(1, 1), slots.end_of(2, 1)), (Some(4), Some(10)));
        assert_eq!(slots.take(2, 1), Some(vec![3, 9]));
        assert!(!slots.claim(9) && slots.claim(200) && !slots.claim(200));
        assert_eq!(slots.take_run(190), Some(10..200));
        assert_eq!(slots.take(1, 1), Some(vec![201]));
        assert_eq!(slots.take(u32::MAX, 1), None);
    }
}
