//! The list of free space that a clean close leaves to the next session.
//!
//! The close records which pages and units are free, and which chunks of partly used spans are, in blocks that have no
//! other use: one in page 0, and if that is not enough, in pages and units that are free themselves. So the list takes
//! no space that a later session would have to give back, and never makes the pool grow. If even that is not enough,
//! the rest is left out, and UNRECOVERED records that: the next session finds the rest by a leak recovery.
//!
//! # The end of the file
//!
//! What lies after the last unit in use is given back to the file system, if it is an eighth of the file or more. The
//! close records the shorter length, and fewer pages. The file itself is cut after the superblock says that the pool
//! was closed.
//!
//! # A block
//!
//! | word | what |
//! | --- | --- |
//! | 0 | bits 0..32: CRC-32C of n (as 8 bytes) and of words 1 to n - 1; bits 32..64: n |
//! | 1 | where the next block starts; 0 if there is none |
//! | 2 | the generation that wrote it |
//! | 3..n | records, none of which crosses the end of its block |
//!
//! | record | what |
//! | --- | --- |
//! | `CLASS \| bytes per chunk << 8`, units | units of all spans of a class |
//! | `PAGES \| first page << 8`, pages | free pages |
//! | `FREE_UNITS \| first unit << 8`, units | free units of a page that is cut |
//! | `PARTIAL \| first unit << 8`, bytes per chunk and units << 32, bitmap | a span with free chunks |
//!
//! # Protocol
//!
//! | step | a crash after it | the next open sees |
//! | --- | --- | --- |
//! | save: NEXT_PAGE, then LENGTH lowered | old or new; not LENGTH alone | the superblock says unclean; later pages were free |
//! | save: blocks, GROW_TO, UNRECOVERED, SAVED_FREE stored | 0, the list, or a torn one | superblock unclean: no list |
//! | save: fenced; the superblock says clean | the list | free space as it was |
//! | close: the file is cut | longer or shorter | the same: bytes after LENGTH are not looked at |
//! | open: list read; SAVED_FREE = 0 stored | 0 or the list | the superblock says unclean: no list |
//! | open: fenced | 0 | no list; only now is anything allocated |
//!
//! A list with a wrong checksum or generation is no list. So a stale list, which could give one chunk two owners, is
//! refused for three reasons: the unclean end, the generation, and a word of 0.
//!
//! A list that is whole, but calls free what the headers call used, means that one of the two is damaged. Then nothing
//! counts as known to be free, and nothing is recovered, because either of the two may be right about what is in use.

use crate::Result;
use crate::media::{LINE, Mark, Media, Ordering, Region};
use crate::runtime::epoch::before_reuse;
use crate::space::alloc::allocator::Allocator;
use crate::space::alloc::bitmap::Bitmap;
use crate::space::alloc::class::Class;
use crate::space::alloc::page::header;
use crate::space::alloc::page::header::PageKind;
use crate::space::alloc::page::table;
use crate::space::alloc::page::table::{Header, SpanKind};
use crate::space::layout::{
    LENGTH, PAGE, SAVED_BLOCK, SAVED_BLOCK_BYTES, SAVED_FREE, UNIT, UNITS, UNRECOVERED,
};
use crate::space::session::Session;

const PAGES: u64 = 1;
const PARTIAL: u64 = 2;
const FREE_UNITS: u64 = 3;
const CLASS: u64 = 4;

// LENGTH and UNRECOVERED are flushed together with SAVED_FREE.
const _: () =
    assert!(LENGTH / LINE == SAVED_FREE / LINE && UNRECOVERED / LINE == SAVED_FREE / LINE);

/// The fewest units of a gap that a block is put into. The bitmap of a whole page of the smallest chunks fits into
/// them.
const LEAST_UNITS: u64 = 4;

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
    /// There is a list, whole and of the last session, but the headers contradict it: one of the two is damaged.
    Contradicted,
}

/// A block as words in DRAM. Its word `CHECK` is not filled in yet.
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
        // A cursor may remember a leaf that was where this block is now.
        before_reuse();
        for (i, &word) in self.words.iter().enumerate() {
            // Relaxed, as all stores of the list: a fence comes before the store that makes the list count.
            region.store(i, word, Ordering::Relaxed);
        }
        region.flush(0, self.words.len());
        Ok(())
    }
}

/// The right value of word 0 of a block.
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

/// Stores SAVED_FREE. The word is durable on return.
fn commit<M: Media>(media: &M, at: u64) -> Result<()> {
    let word = session_word(media)?;
    word.store(0, at, Ordering::Relaxed);
    word.flush(0, 1);
    media.fence();
    Ok(())
}

impl Allocator {
    /// Records the free space, and shortens the pool if much of its end is free. Returns the new length in bytes.
    /// Nothing may be allocated or freed in this session afterwards.
    pub(crate) fn save<M: Media>(&self, media: &M, generation: u64) -> Result<u64> {
        let mut words = self.records().iter().map(Vec::len).sum::<usize>() as u64;
        if words <= SAVED_BLOCK_BYTES / 8 - RECORDS as u64 {
            words = 0;
        }
        // There must be space for twice the words, because no record crosses the end of a block.
        let length = self.pages.shorten(media, 2 * 8 * words)?;
        // The highest places are taken first, because they are the last to be used again.
        let mut vacant = self.vacant(length).into_iter().rev();
        let mut block = Block::new(SAVED_BLOCK, SAVED_BLOCK_BYTES, generation);
        // Whether something is free, or stranded, that the next open will not find in the list.
        let mut unrecovered = self.marks().is_some_and(|marks| !marks.progress().is_done());
        for record in self.records() {
            while block.words.len() + record.len() > block.capacity {
                let Some((at, bytes)) = vacant.next() else { break };
                let next = Block::new(at, bytes, generation);
                std::mem::replace(&mut block, next).write(media, at)?;
            }
            if block.words.len() + record.len() > block.capacity {
                unrecovered = true;
                break;
            }
            block.words.extend(record);
        }
        block.write(media, 0)?;
        // One fence covers the blocks and the word that names them. They count only once the superblock says that the
        // pool was closed, which comes later.
        media.mark(Mark::Step("pool.save.list"));
        if !unrecovered {
            self.pages.allow_growth(media)?;
        }
        let word = Region::new(media, UNRECOVERED, 1)?;
        // UNRECOVERED is in one line with SAVED_FREE, and is flushed with it.
        word.store(0, u64::from(unrecovered), Ordering::Relaxed);
        commit(media, SAVED_BLOCK)?;
        Ok(length)
    }

    /// The records of the list.
    fn records(&self) -> Vec<Vec<u64>> {
        let classes = Class::all().map(|class| (class.size(), self.slabs.units(class)));
        let classes = classes.filter(|&(_, units)| units > 0);
        let pages = self.pages.free_pages().into_iter();
        let units = self.pages.free_units().into_iter();
        let mut records: Vec<Vec<u64>> = classes
            .map(|(size, units)| vec![size << 8 | CLASS, units])
            .chain(pages.map(|(a, b)| vec![(a / UNITS) << 8 | PAGES, (b - a) / UNITS]))
            .chain(units.map(|(first, end)| vec![first << 8 | FREE_UNITS, end - first]))
            .collect();
        self.slabs.for_each_partial(|class, units, first, bitmap| {
            let mut record = vec![first << 8 | PARTIAL, units << 32 | class.size()];
            record.extend_from_slice(bitmap.words());
            records.push(record);
        });
        records
    }

    /// Where blocks can be put in a pool of `length` bytes: the first byte and the number of bytes of each place,
    /// ascending.
    fn vacant(&self, length: u64) -> Vec<(u64, u64)> {
        let of_page = |page: u64| (page * PAGE + LINE, (page + 1) * PAGE);
        let pages = self.pages.free_pages().into_iter();
        let pages = pages.flat_map(|(a, b)| (a / UNITS..b / UNITS).map(of_page));
        let units = self.pages.free_units().into_iter().map(|(a, b)| (a * UNIT, b * UNIT));
        let mut vacant: Vec<(u64, u64)> = pages
            .chain(units)
            .map(|(from, to)| (from, to.min(length).saturating_sub(from) / 8 * 8))
            .filter(|&(_, bytes)| bytes >= LEAST_UNITS * UNIT - LINE)
            .collect();
        vacant.sort_unstable();
        vacant
    }

    /// Takes over the free space of the last session's list, and makes sure that no later session takes it over again.
    pub(crate) fn restore<M: Media>(&self, media: &M, session: Session) -> Result<Known> {
        let at = session_word(media)?.load(0, Ordering::Acquire);
        if at == 0 {
            return Ok(Known::Nothing);
        }
        let mut known = Known::Nothing;
        if session.clean {
            let list = read(media, at, session.generation.wrapping_sub(1), self.pages.next());
            let unrecovered = Region::new(media, UNRECOVERED, 1)?.load(0, Ordering::Acquire) != 0;
            if let Some(list) = list {
                // If something is unrecovered, a walk over all tables follows, which checks LENGTH itself.
                let is_sound = self.take_over(media, list)
                    && (unrecovered || self.pages.free.lock().has_all_in_file());
                known = match (is_sound, unrecovered) {
                    (false, _) => Known::Contradicted,
                    (true, true) => Known::Listed,
                    (true, false) => Known::All,
                };
            }
            if known == Known::Contradicted {
                self.pages.forget();
                self.slabs.forget(&self.pages);
            }
        }
        if !session.read_only {
            media.mark(Mark::Step("pool.open.list"));
            // Durable before anything is allocated, because after a crash the list would be wrong.
            commit(media, 0)?;
        }
        Ok(known)
    }

    fn take_over<M: Media>(&self, media: &M, list: List) -> bool {
        let List { classes, pages, units, partials } = list;
        let most = self.pages.next() * UNITS;
        let counted = classes.into_iter().all(|(class, units)| {
            let is_possible = units <= most && self.slabs.units(class) <= most;
            if is_possible {
                self.slabs.count_units(class, units);
            }
            is_possible
        });
        if !counted {
            return false;
        }
        // Free pages and units first: a partly used span must not lie among them.
        pages.into_iter().all(|(first, count)| {
            self.pages.restore_pages(first, count)
                && (first..first + count)
                    .all(|page| header::read(media, page).is_ok_and(|kind| kind == PageKind::Free))
        }) && units.into_iter().all(|(first, count)| {
            let end = first.saturating_add(count);
            self.pages.restore_units(first, end) && is_free(media, first, end)
        }) && partials.into_iter().all(|(first, header, bitmap)| {
            let SpanKind::Slab(class) = header.kind else { return false };
            let found = self.pages.span_at(media, first);
            found.is_ok_and(|found| {
                found.header == header && self.slabs.restore(&self.pages, class, found, bitmap)
            })
        })
    }
}

/// Whether the table says that units `first..end` are free.
fn is_free<M: Media>(media: &M, mut first: u64, end: u64) -> bool {
    if !header::read(media, first / UNITS).is_ok_and(|kind| kind == PageKind::Cut) {
        return false;
    }
    while first < end {
        match table::read(media, first) {
            Ok(found) if found.header.kind == SpanKind::Free => first += found.header.units,
            _ => return false,
        }
    }
    first == end
}

/// The records of all blocks.
#[derive(Default)]
struct List {
    classes: Vec<(Class, u64)>,
    pages: Vec<(u64, u64)>,
    units: Vec<(u64, u64)>,
    partials: Vec<(u64, Header, Bitmap)>,
}

/// The list that starts at `at`; `None` if there is none.
fn read<M: Media>(media: &M, mut at: u64, generation: u64, pages: u64) -> Option<List> {
    let mut list = List::default();
    // No word is part of two blocks. A chain with more words than the pool leads back into itself.
    let mut left = pages.saturating_mul(PAGE) / 8;
    loop {
        let words = read_block(media, at)?;
        left = left.checked_sub(words.len() as u64)?;
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
        let place = what >> 8;
        match what & 0xFF {
            CLASS => self.classes.push((Class::of_size(place)?, value)),
            PAGES => self.pages.push((place, value)),
            FREE_UNITS => self.units.push((place, value)),
            PARTIAL => {
                let (class, units) = (Class::of_size(value & 0xFFFF_FFFF)?, value >> 32);
                let chunks = class.can_have(units).then(|| class.chunks(units))?;
                let (bitmap, rest) = rest.split_at_checked(Bitmap::words_of(chunks))?;
                let header = Header { kind: SpanKind::Slab(class), units };
                self.partials.push((place, header, Bitmap::from_words(chunks, bitmap.into())?));
                return Some(rest);
            }
            _ => return None,
        }
        Some(rest)
    }
}
