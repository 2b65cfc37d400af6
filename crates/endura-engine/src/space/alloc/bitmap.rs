//! The bitmap of the free chunks of a span.

/// One bit per chunk of the span, set where it is free.
///
/// The lowest free chunk is handed out first. So the memory after the highest chunk in use stays untouched, and the
/// span's tail (see [`table`](super::page::table)) stays long.
#[derive(Debug, Clone)]
pub(crate) struct Bitmap {
    words: Box<[u64]>,
    /// Chunks of the span.
    chunks: u32,
    free: u32,
    /// No word below this one has a bit that is set.
    from: u32,
}

impl Bitmap {
    /// How many words a bitmap of `chunks` chunks has.
    pub(crate) fn words_of(chunks: usize) -> usize {
        chunks.div_ceil(64)
    }

    /// A bitmap of `chunks` chunks, all in use.
    pub(crate) fn all_used(chunks: usize) -> Self {
        let words = Self::words_of(chunks);
        Self { words: vec![0; words].into(), chunks: chunks as u32, free: 0, from: words as u32 }
    }

    /// A bitmap of `chunks` chunks, all free.
    pub(crate) fn all_free(chunks: usize) -> Self {
        let mut bitmap = Self::all_used(chunks);
        bitmap.words.fill(u64::MAX);
        // Clears the bits after the last chunk.
        if let (Some(last), rest @ 1..) = (bitmap.words.last_mut(), chunks % 64) {
            *last &= !(u64::MAX << rest);
        }
        (bitmap.free, bitmap.from) = (bitmap.chunks, 0);
        bitmap
    }

    /// A bitmap of `chunks` chunks: those from number `from` on are free, all others in use.
    pub(crate) fn free_from(chunks: usize, from: usize) -> Self {
        let mut bitmap = Self::all_free(chunks);
        for (i, word) in bitmap.words.iter_mut().enumerate() {
            let below = from.saturating_sub(64 * i).min(64) as u32;
            *word &= u64::MAX.checked_shl(below).unwrap_or(0);
        }
        bitmap.free = bitmap.words.iter().map(|word| word.count_ones()).sum();
        bitmap
    }

    /// The bitmap of `chunks` chunks with these words; `None` if the words mark chunks beyond the last one.
    pub(crate) fn from_words(chunks: usize, words: Box<[u64]>) -> Option<Self> {
        let all = Self::all_free(chunks);
        let fits = words.len() == all.words.len()
            && words.iter().zip(&all.words).all(|(word, chunks)| word & !chunks == 0);
        let free = words.iter().map(|word| word.count_ones()).sum();
        fits.then_some(Self { words, chunks: all.chunks, free, from: 0 })
    }

    /// The union of two bitmaps. `None` if a chunk is free in both.
    pub(crate) fn with(&self, other: &Self) -> Option<Self> {
        let pairs = || self.words.iter().zip(&other.words);
        if self.chunks != other.chunks || pairs().any(|(one, other)| one & other != 0) {
            return None;
        }
        Self::from_words(self.chunks(), pairs().map(|(one, other)| one | other).collect())
    }

    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    /// Chunks of the span.
    pub(crate) fn chunks(&self) -> usize {
        self.chunks as usize
    }

    /// Free chunks.
    pub(crate) fn free(&self) -> usize {
        self.free as usize
    }

    /// Whether all chunks are free.
    pub(crate) fn is_empty(&self) -> bool {
        self.free == self.chunks
    }

    /// Whether this chunk is free.
    pub(crate) fn is_free(&self, chunk: usize) -> bool {
        self.words.get(chunk / 64).is_some_and(|word| word >> (chunk % 64) & 1 == 1)
    }

    /// The lowest free chunk.
    pub(crate) fn lowest(&mut self) -> Option<usize> {
        while let Some(&word) = self.words.get(self.from as usize) {
            if word != 0 {
                return Some(64 * self.from as usize + word.trailing_zeros() as usize);
            }
            self.from += 1;
        }
        None
    }

    /// Takes the lowest free chunk.
    pub(crate) fn take(&mut self) -> Option<usize> {
        let chunk = self.lowest()?;
        let word = &mut self.words[self.from as usize];
        *word &= *word - 1;
        self.free -= 1;
        Some(chunk)
    }

    /// Makes a chunk free; `false` if it already is, or the span has no such chunk.
    #[must_use]
    pub(crate) fn give(&mut self, chunk: usize) -> bool {
        let (word, bit) = (chunk / 64, 1 << (chunk % 64));
        let fresh = chunk < self.chunks() && self.words[word] & bit == 0;
        if fresh {
            self.words[word] |= bit;
            self.free += 1;
            self.from = self.from.min(word as u32);
        }
        fresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHUNKS: [usize; 6] = [1, 4, 63, 64, 65, 1000];

    #[test]
    fn chunks_come_lowest_first_and_each_once() {
        for chunks in CHUNKS {
            let mut bitmap = Bitmap::all_free(chunks);
            assert!(bitmap.free() == chunks && bitmap.is_empty());
            let taken: Vec<_> = std::iter::from_fn(|| bitmap.take()).collect();
            assert_eq!(taken, (0..chunks).collect::<Vec<_>>());
            assert_eq!(bitmap.free(), 0);
            assert!(bitmap.give(chunks - 1));
            assert!(!bitmap.give(chunks - 1), "freed twice");
            assert!(!bitmap.give(chunks) && !bitmap.give(chunks + 64), "no such chunk");
            assert_eq!(bitmap.take(), Some(chunks - 1));
            assert_eq!(bitmap.take(), None);
        }
    }

    #[test]
    fn chunks_from_a_number_on_are_free() {
        for chunks in CHUNKS {
            for from in [0, 1, chunks / 2, chunks] {
                let mut bitmap = Bitmap::free_from(chunks, from);
                assert_eq!(bitmap.free(), chunks - from);
                assert!(std::iter::from_fn(|| bitmap.take()).eq(from..chunks));
            }
        }
    }

    #[test]
    fn words_that_mark_no_chunk_are_refused() {
        assert!(Bitmap::from_words(65, [0, 1].into()).is_some_and(|b| b.free() == 1));
        assert!(Bitmap::from_words(65, [0, 2].into()).is_none(), "behind the last");
        assert!(Bitmap::from_words(65, [0; 3].into()).is_none());
    }

    #[test]
    fn what_is_free_in_both_is_refused() {
        let (low, high) = (Bitmap::from_words(70, [1, 0].into()), Bitmap::free_from(70, 69));
        let low = low.unwrap();
        assert_eq!(low.with(&high).unwrap().free(), 2);
        assert!(low.with(&low).is_none() && low.with(&Bitmap::all_used(65)).is_none());
    }
}
