//! The check that every byte of a pool has exactly one owner.

use crate::media::{LINE, Media};
use crate::numbered::{Numbered, Numbers};
use crate::space::alloc::bitmap::Bitmap;
use crate::space::alloc::class::{Class, Room};
use crate::space::alloc::page::header;
use crate::space::alloc::page::header::PageKind;
use crate::space::alloc::page::runs::Runs;
use crate::space::alloc::page::table;
use crate::space::alloc::page::table::{FoundSpan, SpanKind};
use crate::space::directory::registry::directory_spans;
use crate::space::layout::{PAGE, UNIT, UNITS};
use crate::space::pins::quiesce::Quiesced;
use crate::space::space::Space;
use crate::{Error, Result};

/// The state in which the check found a chunk.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    Free,
    Limbo,
    Map,
}

impl Owner {
    const ALL: [Self; 3] = [Self::Free, Self::Limbo, Self::Map];
}

/// The chunks of a span by owner: in the bitmap of an owner, a bit is set for each chunk that belongs to it.
struct Slab {
    class: Class,
    owned: [Bitmap; 3],
}

impl Slab {
    /// A span of which only the free chunks are known yet.
    fn new(class: Class, free: Bitmap) -> Self {
        let none = || Bitmap::all_used(free.chunks());
        Self { class, owned: [free.clone(), none(), none()] }
    }

    fn claim(&mut self, chunk: usize, owner: Owner) -> Option<Owner> {
        let is_owner = |owner: &Owner| self.owned[*owner as usize].is_free(chunk);
        let before = Owner::ALL.into_iter().find(is_owner);
        if before.is_none() {
            let _ = self.owned[owner as usize].give(chunk);
        }
        before
    }

    /// Bytes of chunks that are in use but have no owner yet.
    fn leaked(&self) -> u64 {
        let owned: usize = self.owned.iter().map(Bitmap::free).sum();
        (self.owned[0].chunks() - owned) as u64 * self.class.size()
    }
}

/// How the bytes of a pool's spans are divided.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shares {
    /// Bytes of chunks that maps reach.
    pub reached: u64,
    /// Bytes of free chunks, free units and free pages, including those that the file does not have yet.
    pub free: u64,
    /// Bytes of chunks that wait for a grace period, including those of dropped maps.
    pub limbo: u64,
    /// Bytes that are neither reached, nor free, nor waiting: they were stranded when a session ended uncleanly. Zero
    /// when the leak recovery after that end is complete ([`Space::leak_recovery`]).
    pub leaked: u64,
}

/// A running check of the pool's space. The caller gives it every chunk that maps reach, and it finds each that has
/// another owner as well.
pub struct SpaceCheck<'q, M: Media> {
    space: &'q Space<M>,
    /// The spans of chunks, by their first unit.
    slabs: Numbered<Slab>,
    /// Chunks with a span or a run of pages of their own, by offset.
    alone: Numbered<Owner>,
    /// The units of free pages, and free units.
    free: Runs,
    /// The offsets of further spans of the map directory.
    directory: Numbers,
    /// The span that was looked up last. Chunks that are checked in a row mostly lie in one span.
    last: Option<FoundSpan>,
    shares: Shares,
}

fn damage<T>(offset: u64, what: &'static str) -> Result<T> {
    Err(Error::Corrupt { offset, what })
}

impl<M: Media> Quiesced<'_, M> {
    /// Begins a check of the space. It starts with the chunks that are free, or wait for a grace period.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] if two of those chunks overlap.
    pub fn check(&self) -> Result<SpaceCheck<'_, M>> {
        let space = self.space();
        let pages = space.allocator.pages();
        let mut check = SpaceCheck {
            space,
            slabs: Numbered::default(),
            alone: Numbered::default(),
            free: Runs::default(),
            directory: directory_spans(&space.media)?,
            last: None,
            shares: Shares::default(),
        };
        for (first, end) in pages.free_pages().into_iter().chain(pages.free_units()) {
            check.free.insert(first, end - first);
        }
        check.add_partial_spans()?;
        let (mut free, mut limbo) = (Vec::new(), Vec::new());
        for slot in space.epochs.slots() {
            let cache = slot.contents.lock();
            free.extend(cache.cached().map(|(class, at)| (at, class.size())));
            limbo.extend(cache.limbo());
        }
        limbo.extend(space.chunks_of_drops());
        free.iter().try_for_each(|&(at, bytes)| check.claim(at, bytes, Owner::Free))?;
        limbo.iter().try_for_each(|&(at, bytes)| check.claim(at, bytes, Owner::Limbo))?;
        Ok(check)
    }
}

impl<M: Media> SpaceCheck<'_, M> {
    /// Adds a chunk of `bytes` bytes, as requested, that a map reaches.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] if the pool has no such chunk, or if the chunk is free, waits for a grace period, or was
    /// reached before.
    pub fn reach(&mut self, at: u64, bytes: u64) -> Result<()> {
        self.claim(at, bytes, Owner::Map)
    }

    /// Adds a chunk of `bytes` bytes, as requested, of a dropped map. It counts as waiting for a grace period.
    ///
    /// # Errors
    ///
    /// As for [`reach`](Self::reach).
    pub(crate) fn wait(&mut self, at: u64, bytes: u64) -> Result<()> {
        self.claim(at, bytes, Owner::Limbo)
    }

    /// Adds the free chunks of partly used spans, one span at a time.
    fn add_partial_spans(&mut self) -> Result<()> {
        let space = self.space;
        space.allocator.for_each_partial(|class, _, first, free| {
            self.shares.free += free.free() as u64 * class.size();
            self.slabs.insert(first, Slab::new(class, free.clone()));
        });
        for (first, slab) in self.slabs.iter() {
            let found = space.allocator.pages().find_span(&space.media, first)?;
            if found.first != first || found.header.kind != SpanKind::Slab(slab.class) {
                return damage(first * UNIT, "a chunk in a span that has none of its size");
            }
        }
        Ok(())
    }

    fn claim(&mut self, at: u64, bytes: u64, owner: Owner) -> Result<()> {
        let room = Room::of(bytes);
        let before = match room {
            Room::Slab(class) => self.claim_in_slab(at, class, owner)?,
            Room::Run(_) | Room::Large(_) => self.claim_alone(at, room, owner)?,
        };
        let what = match before {
            None => {
                self.shares.add(owner, room.bytes());
                return Ok(());
            }
            Some(Owner::Free) => "a chunk in use that is also free",
            Some(Owner::Limbo) => "a chunk in use that also waits to be free",
            Some(Owner::Map) => "a chunk that is reached twice",
        };
        damage(at, what)
    }

    /// The span that unit `unit` is part of.
    fn span(&mut self, unit: u64) -> Result<FoundSpan> {
        if let Some(found) = self.last
            && (found.first..found.first + found.header.units).contains(&unit)
        {
            return Ok(found);
        }
        let found = self.space.allocator.pages().find_span(&self.space.media, unit)?;
        self.last = Some(found);
        Ok(found)
    }

    fn claim_in_slab(&mut self, at: u64, class: Class, owner: Owner) -> Result<Option<Owner>> {
        let found = self.span(at / UNIT)?;
        let inside = at - found.first * UNIT;
        let chunks = class.chunks(found.header.units);
        if found.header.kind != SpanKind::Slab(class) {
            return damage(at, "a chunk in a span that has none of its size");
        }
        let Some(number) = class.number(inside).filter(|&number| number < chunks) else {
            return damage(at, "a chunk that starts nowhere");
        };
        if inside >= found.tail {
            return damage(at, "a chunk in use where none was ever handed out");
        }
        let fresh = || Slab::new(class, Bitmap::all_used(chunks));
        Ok(self.slabs.get_or_insert_with(found.first, fresh).claim(number, owner))
    }

    fn claim_alone(&mut self, at: u64, room: Room, owner: Owner) -> Result<Option<Owner>> {
        self.space.allocator.check(&self.space.media, at, room)?;
        let before = self.alone.get(at).copied();
        if before.is_none() {
            self.alone.insert(at, owner);
        }
        Ok(before)
    }

    fn is_free(&self, unit: u64) -> bool {
        self.free.has(unit)
    }

    /// Whether any of the units `first..end` is free.
    fn touches_free(&self, first: u64, end: u64) -> bool {
        self.free.touches(first, end)
    }

    /// Walks all pages and sums up the bytes of each owner.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] if a page or a span has no header, or if a page inside a run has a use of its own.
    pub fn finish(mut self) -> Result<Shares> {
        let next = self.space.allocator.pages().next();
        let mut page = 0;
        while page < next {
            if self.is_free(page * UNITS) {
                self.shares.free += PAGE;
                page += 1;
                continue;
            }
            page = match header::read(&self.space.media, page)? {
                PageKind::Large(count) => self.finish_large(page, count, next)?,
                PageKind::Free => {
                    self.shares.leaked += PAGE;
                    page + 1
                }
                PageKind::Cut => {
                    for found in table::walk(&self.space.media, page) {
                        self.finish_span(found?)?;
                    }
                    page + 1
                }
            }
        }
        Ok(self.shares)
    }

    /// Checks a run of pages, none of which may have another use. Returns the page after the run.
    fn finish_large(&mut self, page: u64, count: u64, next: u64) -> Result<u64> {
        let end = page.saturating_add(count);
        if end > next {
            return damage(page * PAGE, "a run of pages that goes beyond the last one");
        }
        let owned = self.alone.contains(page * PAGE + LINE);
        self.check_sole(page * UNITS, end * UNITS, owned)?;
        if !owned {
            self.shares.leaked += count * PAGE - LINE;
        }
        Ok(end)
    }

    fn finish_span(&mut self, found: FoundSpan) -> Result<()> {
        let (first, units) = (found.first, found.header.units);
        if found.header.kind == SpanKind::Free && self.is_free(first) {
            self.shares.free += units * UNIT;
            return Ok(());
        }
        if self.touches_free(first, first + units) {
            return damage(first * UNIT, "a span in use where units are free");
        }
        let leaked = match found.header.kind {
            SpanKind::Slab(class) => match self.slabs.get(first) {
                Some(slab) => slab.leaked(),
                None => class.chunks(units) as u64 * class.size(),
            },
            SpanKind::Run if self.alone.contains(first * UNIT) => 0,
            SpanKind::Directory if self.directory.contains(first * UNIT) => 0,
            SpanKind::Run | SpanKind::Directory | SpanKind::Free => units * UNIT,
        };
        self.shares.leaked += leaked;
        Ok(())
    }

    /// Fails if anything inside a run of pages has a use of its own, except the run's chunk if that is `owned`.
    fn check_sole(&self, first: u64, end: u64, owned: bool) -> Result<()> {
        let chunks = self.alone.range(first * UNIT..end * UNIT).count();
        if self.slabs.range(first..end).next().is_some()
            || chunks > usize::from(owned)
            || self.touches_free(first, end)
        {
            return damage(first * UNIT, "a run of pages one of which has another use");
        }
        Ok(())
    }
}

impl Shares {
    fn add(&mut self, owner: Owner, bytes: u64) {
        match owner {
            Owner::Free => self.free += bytes,
            Owner::Limbo => self.limbo += bytes,
            Owner::Map => self.reached += bytes,
        }
    }
}
