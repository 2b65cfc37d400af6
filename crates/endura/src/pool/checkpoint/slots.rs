//! Which slots of a checkpoint's file are free.

use std::ops::Range;

use crate::pool::checkpoint::root::ROOTS;

/// One bit for each slot of the file: set where it is in use. What lies behind the last bit is free as well.
#[derive(Debug, Clone, Default)]
pub(crate) struct Slots {
    words: Vec<u64>,
    in_use: u64,
}

impl Slots {
    /// The roots are in use.
    pub(crate) fn new() -> Self {
        let mut slots = Self::default();
        (0..ROOTS).for_each(|slot| _ = slots.claim(slot));
        slots
    }

    /// Slots up to the last one in use, and a few more.
    pub(crate) fn end(&self) -> u32 {
        u32::try_from(64 * self.words.len()).unwrap_or(u32::MAX)
    }

    pub(crate) fn in_use(&self) -> u64 {
        self.in_use
    }

    pub(crate) fn is_free(&self, slot: u32) -> bool {
        self.words.get(slot as usize / 64).is_none_or(|word| word >> (slot % 64) & 1 == 0)
    }

    /// Says that a slot is in use; `false` if it is already.
    #[must_use]
    pub(crate) fn claim(&mut self, slot: u32) -> bool {
        if !self.is_free(slot) {
            return false;
        }
        let word = slot as usize / 64;
        self.words.resize(self.words.len().max(word + 1), 0);
        self.words[word] |= 1 << (slot % 64);
        self.in_use += 1;
        true
    }

    pub(crate) fn free(&mut self, slot: u32) {
        if !self.is_free(slot) {
            self.words[slot as usize / 64] &= !(1 << (slot % 64));
            self.in_use -= 1;
            // A round that found no room must not ask for it again when it is tried with fewer pages.
            while self.words.pop_if(|word| *word == 0).is_some() {}
        }
    }

    /// The free runs of slots, lowest first; the last one does not end.
    fn gaps(&self) -> impl Iterator<Item = Range<u32>> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let first = (at..self.end()).find(|&slot| self.is_free(slot)).unwrap_or(self.end());
            let end = (first..self.end()).find(|&slot| !self.is_free(slot)).unwrap_or(u32::MAX);
            (at < u32::MAX).then(|| {
                at = end;
                first..end
            })
        })
    }

    /// Takes `count` slots that lie side by side: the first such gap.
    pub(crate) fn take_run(&mut self, count: u32) -> Option<Range<u32>> {
        let gap = self.gaps().find(|gap| gap.end - gap.start >= count)?;
        let taken = gap.start..gap.start + count;
        taken.clone().for_each(|slot| _ = self.claim(slot));
        Some(taken)
    }

    /// Takes `count` slots, in as few pieces as there are gaps of at least `least` slots, lowest first. (A disk that seeks
    /// writes a few long pieces in a tenth of the time of many short ones.)
    pub(crate) fn take(&mut self, count: u32, least: u32) -> Option<Vec<u32>> {
        let mut taken: Vec<u32> = Vec::with_capacity(count as usize);
        for gap in self.gaps() {
            let missing = count - taken.len() as u32;
            if missing == 0 {
                break;
            }
            if gap.end - gap.start >= least.min(missing) {
                taken.extend(gap.take(missing as usize));
            }
        }
        if taken.len() < count as usize {
            return None;
        }
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
        [3, 5, 6].into_iter().for_each(|slot| slots.free(slot));
        assert_eq!(slots.take_run(2), Some(5..7));
        assert_eq!(slots.take(2, 2), Some(vec![7, 8]));
        assert_eq!(slots.take(2, 1), Some(vec![3, 9]));
        assert!(!slots.claim(9) && slots.claim(200) && !slots.is_free(200));
        assert_eq!(slots.take_run(190), Some(10..200));
        assert_eq!(slots.take(1, 1), Some(vec![201]));
    }
}
