//! The bitmap of the free chunks of a slab page.

use crate::pool::alloc::class::Class;

/// One bit per place in the page, set where the chunk is free. The places before the first chunk
/// are never free.
///
/// The lowest free chunk is handed out first, so that the memory behind the highest chunk in use stays
/// untouched, and the page's tail (see `header`) long.
#[derive(Debug, Clone)]
pub(crate) struct Bitmap {
    words: Box<[u64]>,
    free: usize,
    /// No word below this one has a bit.
    from: usize,
}

impl Bitmap {
    /// Words of a bitmap of this class.
    pub(crate) fn words_of(class: Class) -> usize {
        class.end().div_ceil(64)
    }

    /// Every chunk in use.
    pub(crate) fn all_used(class: Class) -> Self {
        let words = Self::words_of(class);
        Self { words: vec![0; words].into(), free: 0, from: words }
    }

    /// Every chunk free.
    pub(crate) fn all_free(class: Class) -> Self {
        let mut bitmap = Self::all_used(class);
        bitmap.words.fill(u64::MAX);
        // Not the places before the first chunk, nor those behind the last.
        bitmap.words[0] &= u64::MAX << class.first();
        if let (Some(last), rest @ 1..) = (bitmap.words.last_mut(), class.end() % 64) {
            *last &= !(u64::MAX << rest);
        }
        bitmap.free = class.per_page();
        bitmap.from = 0;
        bitmap
    }

    /// The chunks from number `from` on free, all others in use.
    pub(crate) fn free_from(class: Class, from: usize) -> Self {
        let mut bitmap = Self::all_free(class);
        for (i, word) in bitmap.words.iter_mut().enumerate() {
            let below = from.saturating_sub(64 * i).min(64) as u32;
            *word &= u64::MAX.checked_shl(below).unwrap_or(0);
        }
        bitmap.free = bitmap.words.iter().map(|word| word.count_ones() as usize).sum();
        bitmap
    }

    /// The bitmap with these words; none if they mark what is no chunk of the class.
    pub(crate) fn from_words(class: Class, words: Box<[u64]>) -> Option<Self> {
        let all = Self::all_free(class);
        let fits = words.len() == all.words.len()
            && words.iter().zip(&all.words).all(|(word, chunks)| word & !chunks == 0);
        let free = words.iter().map(|word| word.count_ones() as usize).sum();
        fits.then_some(Self { words, free, from: 0 })
    }

    /// The chunks that are free in one of the two; `None` if some are in both.
    pub(crate) fn with(&self, class: Class, other: &Self) -> Option<Self> {
        let pairs = || self.words.iter().zip(&other.words);
        if pairs().any(|(one, other)| one & other != 0) {
            return None;
        }
        Self::from_words(class, pairs().map(|(one, other)| one | other).collect())
    }

    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    /// Free chunks.
    pub(crate) fn free(&self) -> usize {
        self.free
    }

    /// Whether this chunk is free.
    pub(crate) fn is_free(&self, chunk: usize) -> bool {
        self.words.get(chunk / 64).is_some_and(|word| word >> (chunk % 64) & 1 == 1)
    }

    /// The lowest free chunk.
    pub(crate) fn lowest(&mut self) -> Option<usize> {
        while let Some(&word) = self.words.get(self.from) {
            if word != 0 {
                return Some(64 * self.from + word.trailing_zeros() as usize);
            }
            self.from += 1;
        }
        None
    }

    /// Takes the lowest free chunk.
    pub(crate) fn take(&mut self) -> Option<usize> {
        let chunk = self.lowest()?;
        self.words[self.from] &= self.words[self.from] - 1;
        self.free -= 1;
        Some(chunk)
    }

    /// Makes a chunk free; `false` if it already is.
    #[must_use]
    pub(crate) fn give(&mut self, chunk: usize) -> bool {
        let (word, bit) = (chunk / 64, 1 << (chunk % 64));
        let fresh = self.words[word] & bit == 0;
        if fresh {
            self.words[word] |= bit;
            self.free += 1;
            self.from = self.from.min(word);
        }
        fresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_come_lowest_first_and_each_once() {
        for class in Class::all() {
            let mut bitmap = Bitmap::all_free(class);
            assert_eq!(bitmap.free(), class.per_page());
            let taken: Vec<_> = std::iter::from_fn(|| bitmap.take()).collect();
            assert_eq!(taken, (class.first()..class.end()).collect::<Vec<_>>());
            assert_eq!(bitmap.free(), 0);
            assert!(bitmap.give(class.end() - 1) && bitmap.give(class.first()));
            assert!(!bitmap.give(class.first()), "freed twice");
            assert_eq!(bitmap.take(), Some(class.first()));
            assert_eq!(bitmap.take(), Some(class.end() - 1));
            assert_eq!(bitmap.take(), None);
        }
    }

    #[test]
    fn chunks_from_a_number_on_are_free() {
        for class in Class::all() {
            for from in [0, class.first(), class.first() + 1, class.end() / 2, class.end()] {
                let mut bitmap = Bitmap::free_from(class, from);
                let free = from.max(class.first())..class.end();
                assert_eq!(bitmap.free(), free.len());
                assert!(std::iter::from_fn(|| bitmap.take()).eq(free));
            }
        }
    }

    #[test]
    fn words_that_mark_no_chunk_are_refused() {
        let class = Class::of(512).unwrap();
        let words = |first: u64| {
            let mut words = vec![0; Bitmap::words_of(class)];
            words[0] = first;
            words.into_boxed_slice()
        };
        assert!(Bitmap::from_words(class, words(1)).is_none(), "the header's place");
        assert!(Bitmap::from_words(class, words(2)).is_some_and(|b| b.free() == 1));
        assert!(Bitmap::from_words(class, vec![0; 3].into()).is_none());
    }
}
