//! Free space that outlives a clean close.
//!
//! The close writes which pages are free and which chunks of partly used pages are, in blocks that have no
//! other use: the upper half of page 0, then, if that is not enough, pages that are free
//! themselves. So the list takes no space that a later session would have to give back, and never
//! makes the pool grow. If even that is not enough the rest is left out, and UNCOLLECTED says so: the
//! next session finds it by a collection.
//!
//! # A block
//!
//! | word | what |
//! | --- | --- |
//! | 0 | CRC-32C of n, as 8 bytes, and of words 1 to n - 1 (bits 0..32), n (bits 32..64) |
//! | 1 | where the next block starts, 0 = nowhere |
//! | 2 | the generation that wrote it |
//! | 3..n | records, none of which crosses the end of its block |
//!
//! A record is `RUN | first page << 8, pages` or `PARTIAL | page << 8, bytes per chunk, bitmap`.
//!
//! # Protocol
//!
//! | step | a crash after it | the next open sees |
//! | --- | --- | --- |
//! | save: blocks, GROW_TO, UNCOLLECTED and SAVED_FREE stored | 0, the list, or a torn one | the superblock says unclean: no list |
//! | save: fenced; the superblock says clean | the list | free space as it was |
//! | open: list read; SAVED_FREE = 0 stored | 0 or the list | the superblock says unclean: no list |
//! | open: fenced | 0 | no list; only now is anything allocated |
//!
//! A list with a wrong checksum or generation, or that names what cannot be free, is no list. A
//! stale list is thus refused three times over (unclean, another generation, a word of 0): two
//! owners of one chunk are the worst that a list can do.

use crate::Result;
use crate::media::{LINE, Mark, Media, Ordering, Region};
use crate::pool::alloc::allocator::Allocator;
use crate::pool::alloc::bitmap::Bitmap;
use crate::pool::alloc::class::Class;
use crate::pool::alloc::header;
use crate::pool::alloc::header::PageKind;
use crate::pool::layout::{PAGE, SAVED_BLOCK, SAVED_BLOCK_BYTES, SAVED_FREE, UNCOLLECTED};
use crate::pool::session::Session;
use crate::runtime::epoch::before_reuse;

const RUN: u64 = 1;
const PARTIAL: u64 = 2;

const CHECK: usize = 0;
const NEXT: usize = 1;
const GENERATION: usize = 2;
const RECORDS: usize = 3;

/// How much of the free space is known at an open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    /// All of it.
    All,
    /// The space in the list of the last close; more may be stranded.
    Listed,
    /// There is no list.
    Nothing,
}

/// A block as words in DRAM, `CHECK` not filled in.
struct Block {
    at: u64,
    words: Vec<u64>,
    capacity: usize,
}

impl Block {
    fn new(at: u64, bytes: u64, generation: u64) -> Self {
        Self { at, words: vec![0, 0, generation], capacity: bytes as usize / 8 }
    }

    fn write<M: Media>(mut self, media: &M, next: u64) -> Result<()> {
        self.words[NEXT] = next;
        self.words[CHECK] = checksum(&self.words);
        let region = Region::new(media, self.at, self.words.len())?;
        // A leaf that a cursor remembers may have been where this block is.
        before_reuse();
        for (i, &word) in self.words.iter().enumerate() {
            // Relaxed, as all stores of the list: a fence stands before what makes it count.
            region.store(i, word, Ordering::Relaxed);
        }
        region.flush(0, self.words.len());
        Ok(())
    }
}

/// The right value of word 0.
fn checksum(words: &[u64]) -> u64 {
    let count = words.len() as u64;
    let body = words[NEXT..].iter().fold(crc32c::crc32c(&count.to_le_bytes()), |sum, word| {
        crc32c::crc32c_append(sum, &word.to_le_bytes())
    });
    count << 32 | u64::from(body)
}

fn session_word<M: Media>(media: &M) -> Result<Region<'_, M>> {
    Region::new(media, SAVED_FREE, 1)
}

/// Stores SAVED_FREE, durable on return.
fn commit<M: Media>(media: &M, at: u64) -> Result<()> {
    let word = session_word(media)?;
    word.store(0, at, Ordering::Relaxed);
    word.flush(0, 1);
    media.fence();
    Ok(())
}

impl Allocator {
    /// Writes down what is free. Nothing may be allocated or freed any more in this session.
    pub(crate) fn save<M: Media>(&self, media: &M, generation: u64) -> Result<()> {
        let runs = self.pages.runs();
        // The highest first: they are the last to be used again.
        let mut vacant = runs.iter().rev().flat_map(|&(first, count)| (first..first + count).rev());
        let mut records: Vec<Vec<u64>> =
            runs.iter().map(|&(first, count)| vec![first << 8 | RUN, count]).collect();
        self.slabs.for_each_partial(|class, page, bitmap| {
            let mut record = vec![page << 8 | PARTIAL, class.size()];
            record.extend_from_slice(bitmap.words());
            records.push(record);
        });
        let mut block = Block::new(SAVED_BLOCK, SAVED_BLOCK_BYTES, generation);
        // Whether something is free, or stranded, that the next open will not know of.
        let mut uncollected = self.marks().is_some_and(|marks| !marks.progress().is_done());
        for record in records {
            if block.words.len() + record.len() > block.capacity {
                let Some(page) = vacant.next() else {
                    uncollected = true;
                    break;
                };
                let next = Block::new(page * PAGE + LINE, PAGE - LINE, generation);
                std::mem::replace(&mut block, next).write(media, page * PAGE + LINE)?;
            }
            block.words.extend(record);
        }
        block.write(media, 0)?;
        // One fence for the blocks and the word that names them: they count only when the
        // superblock says that the pool was closed, which comes later.
        media.mark(Mark::Step("pool.save.list"));
        if !uncollected {
            self.pages.allow_growth(media)?;
        }
        let word = Region::new(media, UNCOLLECTED, 1)?;
        // In one line with the others: flushed with them.
        word.store(0, u64::from(uncollected), Ordering::Relaxed);
        commit(media, SAVED_BLOCK)
    }

    /// Takes over what the last session left free, and makes sure that no later one does.
    pub(crate) fn restore<M: Media>(&self, media: &M, session: Session) -> Result<Known> {
        let at = session_word(media)?.load(0, Ordering::Acquire);
        if at == 0 {
            return Ok(Known::Nothing);
        }
        let mut known = Known::Nothing;
        if session.clean {
            let list = read(media, at, session.generation.wrapping_sub(1), self.pages.next());
            if list.is_some_and(|list| self.take_over(media, list)) {
                let uncollected = Region::new(media, UNCOLLECTED, 1)?.load(0, Ordering::Acquire);
                known = if uncollected == 0 { Known::All } else { Known::Listed };
            } else {
                self.pages.forget();
                self.slabs.forget(&self.pages);
            }
        }
        if !session.read_only {
            media.mark(Mark::Step("pool.open.list"));
            // Durable before anything is allocated: after a crash the list would be wrong.
            commit(media, 0)?;
        }
        Ok(known)
    }

    fn take_over<M: Media>(&self, media: &M, list: List) -> bool {
        let List { runs, partials } = list;
        // Runs first: a partly used page must then not be among them.
        runs.into_iter().all(|(first, count)| {
            self.pages.give_checked(first, count)
                && (first..first + count).all(|page| can_be_free(media, page, first + count))
        }) && partials.into_iter().all(|(page, class, bitmap)| {
            self.slabs.restore(media, &self.pages, class, page, bitmap)
        })
    }
}

/// Whether a page of free pages up to `end` can be free. One of the directory can that was never linked, and
/// the first of a run that has ended and is free as a whole.
fn can_be_free<M: Media>(media: &M, page: u64, end: u64) -> bool {
    match header::read(media, page) {
        Ok(PageKind::Free | PageKind::Slab(_) | PageKind::Directory) => true,
        Ok(PageKind::Large(count)) => page.checked_add(count).is_some_and(|to| to <= end),
        Err(_) => false,
    }
}

/// The records of all blocks.
#[derive(Default)]
struct List {
    runs: Vec<(u64, u64)>,
    partials: Vec<(u64, Class, Bitmap)>,
}

/// The list that starts at `at`, if it is one.
fn read<M: Media>(media: &M, mut at: u64, generation: u64, pages: u64) -> Option<List> {
    let mut list = List::default();
    // No page holds two blocks: a longer chain leads back into itself.
    for _ in 0..=pages {
        let words = read_block(media, at)?;
        if words[GENERATION] != generation {
            return None;
        }
        let mut rest = &words[RECORDS..];
        while !rest.is_empty() {
            rest = list.read_record(rest)?;
        }
        at = words[NEXT];
        if at == 0 {
            return Some(list);
        }
    }
    None
}

fn read_block<M: Media>(media: &M, at: u64) -> Option<Vec<u64>> {
    let check = Region::new(media, at, 1).ok()?.load(0, Ordering::Acquire);
    let count = (check >> 32) as usize;
    let fits = (RECORDS..=PAGE as usize / 8).contains(&count);
    let region = Region::new(media, at, count).ok().filter(|_| fits)?;
    let words: Vec<u64> = (0..count).map(|i| region.load(i, Ordering::Acquire)).collect();
    (checksum(&words) == check).then_some(words)
}

impl List {
    /// Takes one record off the front and returns the rest.
    fn read_record<'w>(&mut self, words: &'w [u64]) -> Option<&'w [u64]> {
        let (&[what, value], rest) = words.split_first_chunk()?;
        let page = what >> 8;
        match what & 0xFF {
            RUN => {
                self.runs.push((page, value));
                Some(rest)
            }
            PARTIAL => {
                let class = Class::of_size(value)?;
                let (bitmap, rest) = rest.split_at_checked(Bitmap::words_of(class))?;
                self.partials.push((page, class, Bitmap::from_words(class, bitmap.into())?));
                Some(rest)
            }
            _ => None,
        }
    }
}
