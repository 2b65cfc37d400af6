//! A set of chunks, one bit each.

use std::collections::BTreeMap;

use crate::pool::alloc::bitmap::Bitmap;
use crate::pool::alloc::class::Class;
use crate::pool::alloc::slab::chunk_number;
use crate::pool::layout::PAGE;
use crate::{Error, Result};

/// Chunks anywhere in the pool: takes 1/256 of the memory of their pages, or less.
#[derive(Default)]
pub(crate) struct ChunkSet {
    /// By page. A chunk that is free in the bitmap is in the set.
    slabs: BTreeMap<u64, (Class, Bitmap)>,
    /// Chunks that take whole pages, with their bytes as requested.
    large: BTreeMap<u64, u64>,
}

impl ChunkSet {
    /// Adds a chunk of `bytes` bytes, as requested; whether it was not in the set.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] if no chunk of that size begins there, or its page has chunks of another.
    pub(crate) fn insert(&mut self, at: u64, bytes: u64) -> Result<bool> {
        let Some(class) = Class::of(bytes) else {
            return Ok(self.large.insert(at, bytes).is_none());
        };
        let new = || (class, Bitmap::all_used(class));
        let (found, bitmap) = self.slabs.entry(at / PAGE).or_insert_with(new);
        match chunk_number(class, at) {
            Some(number) if *found == class => Ok(bitmap.give(number)),
            _ => Err(Error::Corrupt { offset: at, what: "a reached chunk that is none" }),
        }
    }

    /// Takes about so many out, each with its bytes.
    pub(crate) fn take(&mut self, count: usize) -> Vec<(u64, u64)> {
        let mut chunks = Vec::with_capacity(count);
        while chunks.len() < count {
            if let Some(mut page) = self.slabs.first_entry() {
                let at = page.key() * PAGE;
                let (class, bitmap) = page.get_mut();
                match bitmap.take() {
                    Some(number) => chunks.push((at + class.place(number), class.size())),
                    None => _ = page.remove(),
                }
            } else if let Some(chunk) = self.large.pop_first() {
                chunks.push(chunk);
            } else {
                break;
            }
        }
        chunks
    }

    /// All of them, each with its bytes.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        let in_page = |(&page, (class, bitmap)): (&u64, &(Class, Bitmap))| {
            let (class, bitmap) = (*class, bitmap.clone());
            let numbers =
                (class.first()..class.end()).filter(move |&number| bitmap.is_free(number));
            numbers.map(move |number| (page * PAGE + class.place(number), class.size()))
        };
        let large = self.large.iter().map(|(&at, &bytes)| (at, bytes));
        self.slabs.iter().flat_map(in_page).chain(large)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.slabs.is_empty() && self.large.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_in_comes_out_once() {
        let mut set = ChunkSet::default();
        let chunks =
            [(PAGE + 512, 512), (PAGE + 1024, 512), (2 * PAGE + 64, 64), (5 * PAGE + 64, 3 * PAGE)];
        for (at, bytes) in chunks {
            assert!(set.insert(at, bytes).unwrap() && !set.insert(at, bytes).unwrap());
        }
        assert!(set.insert(PAGE + 513, 512).is_err() && set.insert(PAGE + 1024, 64).is_err());
        assert!(set.iter().eq(chunks));
        let taken: Vec<_> = std::iter::from_fn(|| set.take(1).pop()).collect();
        assert_eq!(taken, chunks);
        assert!(set.is_empty());
    }
}
