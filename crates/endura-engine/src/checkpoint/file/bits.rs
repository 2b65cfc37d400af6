//! A set of small numbers, as bits.

/// A set of numbers, with one bit for each number up to the largest one, and a few more.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bits {
    words: Vec<u64>,
    count: u64,
}

impl Bits {
    /// How many numbers are in the set.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The end of the bits: a multiple of 64 above all numbers of the set.
    pub(crate) fn end(&self) -> u32 {
        u32::try_from(64 * self.words.len()).unwrap_or(u32::MAX)
    }

    pub(crate) fn has(&self, n: u32) -> bool {
        self.words.get(n as usize / 64).is_some_and(|word| word >> (n % 64) & 1 == 1)
    }

    /// Adds a number; `false` if the set has it.
    pub(crate) fn insert(&mut self, n: u32) -> bool {
        if self.has(n) {
            return false;
        }
        let word = n as usize / 64;
        self.words.resize(self.words.len().max(word + 1), 0);
        self.words[word] |= 1 << (n % 64);
        self.count += 1;
        true
    }

    /// Removes a number, if the set has it.
    pub(crate) fn remove(&mut self, n: u32) {
        if self.has(n) {
            self.words[n as usize / 64] &= !(1 << (n % 64));
            self.count -= 1;
            while self.words.pop_if(|word| *word == 0).is_some() {}
        }
    }

    /// The first number of the set from `from` on. Takes a step for each 64 numbers before it.
    pub(crate) fn first_in(&self, from: u32) -> Option<u32> {
        self.find(from, 0)
    }

    /// The first number from `from` on that is not in the set.
    pub(crate) fn first_out(&self, from: u32) -> u32 {
        self.find(from, u64::MAX).unwrap_or(self.end().max(from))
    }

    fn find(&self, from: u32, flip: u64) -> Option<u32> {
        let first = from as usize / 64;
        let words = self.words.iter().enumerate().skip(first);
        let mut masked = words.map(|(i, word)| match i == first {
            true => (i, (word ^ flip) & u64::MAX << (from % 64)),
            false => (i, word ^ flip),
        });
        let (i, word) = masked.find(|&(_, word)| word != 0)?;
        Some(i as u32 * 64 + word.trailing_zeros())
    }

    /// All numbers of the set, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> {
        let mut next = Some(0);
        std::iter::from_fn(move || {
            let n = self.first_in(next?)?;
            next = n.checked_add(1);
            Some(n)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_set_of_bits_is_a_set() {
        let (mut bits, mut set) = (Bits::default(), BTreeSet::new());
        let mut seed = 1_u64;
        for _ in 0..2_000 {
            seed = seed.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
            let n = (seed >> 33) as u32 % 300;
            if seed >> 63 == 0 {
                assert_eq!(bits.insert(n), set.insert(n));
            } else {
                bits.remove(n);
                set.remove(&n);
            }
            let end = set.last().map_or(0, |last| (last / 64 + 1) * 64);
            assert_eq!((bits.count(), bits.end()), (set.len() as u64, end));
            assert!(bits.iter().eq(set.iter().copied()));
            assert_eq!(bits.first_in(n), set.range(n..).next().copied());
            assert_eq!(Some(bits.first_out(n)), (n..).find(|n| !set.contains(n)));
        }
    }
}
