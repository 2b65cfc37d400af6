//! The check that every byte of a pool has exactly one owner.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use crate::media::{LINE, Media};
use crate::pool::alloc::bitmap::Bitmap;
use crate::pool::alloc::class::{Class, run_of};
use crate::pool::alloc::header;
use crate::pool::alloc::header::PageKind;
use crate::pool::alloc::slab::chunk_number;
use crate::pool::directory::registry::directory_pages;
use crate::pool::layout::PAGE;
use crate::pool::pins::quiesce::Quiesced;
use crate::pool::space::Space;
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

/// The chunks of a page by owner: a bit is set where the chunk is that one's.
struct Slab {
    class: Class,
    owned: [Bitmap; 3],
}

impl Slab {
    /// A page of which only the free chunks are known.
    fn new(class: Class, free: Bitmap) -> Self {
        Self { class, owned: [free, Bitmap::all_used(class), Bitmap::all_used(class)] }
    }

    fn claim(&mut self, chunk: usize, owner: Owner) -> Option<Owner> {
        let is_owner = |owner: &Owner| self.owned[*owner as usize].is_free(chunk);
        let before = Owner::ALL.into_iter().find(is_owner);
        if before.is_none() {
            let _ = self.owned[owner as usize].give(chunk);
        }
        before
    }

    /// Bytes of chunks that are in use but unreachable, as far as is known.
    fn leaked(&self) -> u64 {
        let owned: usize = self.owned.iter().map(Bitmap::free).sum();
        (self.class.per_page() - owned) as u64 * self.class.size()
    }
}

/// How the bytes of a pool are divided, pages 1 and up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shares {
    /// Bytes of chunks that maps reach.
    pub reached: u64,
    /// Bytes of free chunks and free pages.
    pub free: u64,
    /// Bytes of chunks that wait for a grace period, those of dropped maps included.
    pub limbo: u64,
    /// Bytes that are none of these: stranded when a session ended uncleanly. None when the collection
    /// after it is complete ([`Space::collection`]).
    pub leaked: u64,
}

/// A running check of the pool's space. Given every chunk that maps reach, it finds those that have another owner as
/// well.
pub struct SpaceCheck<'q, M: Media> {
    space: &'q Space<M>,
    slabs: BTreeMap<u64, Slab>,
    large: BTreeMap<u64, Owner>,
    free_pages: BTreeMap<u64, u64>,
    /// The further pages of the map directory.
    directory: BTreeSet<u64>,
    shares: Shares,
}

fn damage<T>(offset: u64, what: &'static str) -> Result<T> {
    Err(Error::Corrupt { offset, what })
}

impl<M: Media> Quiesced<'_, M> {
    /// Begins a check of the space: it knows what is free and what waits.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] if that overlaps already.
    pub fn check(&self) -> Result<SpaceCheck<'_, M>> {
        let space = self.space();
        let mut check = SpaceCheck {
            space,
            slabs: BTreeMap::new(),
            large: BTreeMap::new(),
            free_pages: space.allocator.pages().runs().into_iter().collect(),
            directory: directory_pages(&space.media)?,
            shares: Shares::default(),
        };
        check.add_partial_pages()?;
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
    /// [`Error::Corrupt`] if there is no such chunk in the pool, or it is free, or waits for a grace
    /// period, or was reached before.
    pub fn reach(&mut self, at: u64, bytes: u64) -> Result<()> {
        self.claim(at, bytes, Owner::Map)
    }

    /// Adds a chunk of `bytes` bytes, as requested, of a map that was dropped: it waits as well.
    ///
    /// # Errors
    ///
    /// As for [`reach`](Self::reach).
    pub(crate) fn wait(&mut self, at: u64, bytes: u64) -> Result<()> {
        self.claim(at, bytes, Owner::Limbo)
    }

    /// Free chunks of partly used pages, a page at a time.
    fn add_partial_pages(&mut self) -> Result<()> {
        let space = self.space;
        space.allocator.for_each_partial(|class, page, free| {
            self.shares.free += free.free() as u64 * class.size();
            self.slabs.insert(page, Slab::new(class, free.clone()));
        });
        self.slabs.iter().try_for_each(|(&page, slab)| self.check_slab(page * PAGE, slab.class))
    }

    fn claim(&mut self, at: u64, bytes: u64, owner: Owner) -> Result<()> {
        let (before, size) = match Class::of(bytes) {
            Some(class) => (self.claim_in_slab(at, class, owner)?, class.size()),
            None => (self.claim_large(at, bytes, owner)?, run_of(bytes) * PAGE - LINE),
        };
        let what = match before {
            None => {
                self.shares.add(owner, size);
                return Ok(());
            }
            Some(Owner::Free) => "a chunk in use that is also free",
            Some(Owner::Limbo) => "a chunk in use that also waits to be free",
            Some(Owner::Map) => "a chunk that is reached twice",
        };
        damage(at, what)
    }

    fn claim_in_slab(&mut self, at: u64, class: Class, owner: Owner) -> Result<Option<Owner>> {
        self.check_slab(at, class)?;
        let Some(number) = chunk_number(class, at) else {
            return damage(at, "a chunk that starts nowhere");
        };
        if at % PAGE >= header::tail(&self.space.media, at / PAGE)? {
            return damage(at, "a chunk in use where none was ever handed out");
        }
        let fresh = || Slab::new(class, Bitmap::all_used(class));
        Ok(self.slabs.entry(at / PAGE).or_insert_with(fresh).claim(number, owner))
    }

    fn claim_large(&mut self, at: u64, bytes: u64, owner: Owner) -> Result<Option<Owner>> {
        self.check_page(at)?;
        let page = at / PAGE;
        if at % PAGE != LINE
            || header::read(&self.space.media, page)? != PageKind::Large(run_of(bytes))
        {
            return damage(at, "a large chunk without a run of its size");
        }
        match self.large.entry(page) {
            Entry::Occupied(owned) => Ok(Some(*owned.get())),
            Entry::Vacant(free) => {
                free.insert(owner);
                Ok(None)
            }
        }
    }

    /// Whether a chunk of this class may lie at `at`, as far as the page is concerned.
    fn check_slab(&self, at: u64, class: Class) -> Result<()> {
        self.check_page(at)?;
        match header::read(&self.space.media, at / PAGE)? == PageKind::Slab(class.size()) {
            true => Ok(()),
            false => damage(at, "a chunk in a page that has none of its size"),
        }
    }

    fn check_page(&self, at: u64) -> Result<()> {
        let page = at / PAGE;
        if page == 0 || page >= self.space.allocator.pages().next() {
            return damage(at, "a chunk outside of the pages in use");
        }
        match self.is_free(page) {
            true => damage(at, "a chunk in a free page"),
            false => Ok(()),
        }
    }

    fn is_free(&self, page: u64) -> bool {
        let run = self.free_pages.range(..=page).next_back();
        run.is_some_and(|(first, count)| page < first + count)
    }

    /// Walks all pages and sums up.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] if a page has no header, or lies inside a run and is used on its own.
    pub fn finish(mut self) -> Result<Shares> {
        let next = self.space.allocator.pages().next();
        let mut page = 1;
        while page < next {
            if self.is_free(page) {
                self.shares.free += PAGE;
                page += 1;
                continue;
            }
            let header = header::read(&self.space.media, page)?;
            let after = page.saturating_add(if let PageKind::Large(n) = header { n } else { 1 });
            if after > next {
                return damage(page * PAGE, "a run of pages that goes beyond the last one");
            }
            self.check_run(page, after)?;
            match header {
                PageKind::Free => self.shares.leaked += PAGE,
                PageKind::Slab(size) => self.sum_slab(page, size)?,
                PageKind::Large(n) if !self.large.contains_key(&page) => {
                    self.shares.leaked += n * PAGE - LINE;
                }
                PageKind::Directory if !self.directory.contains(&page) => {
                    self.shares.leaked += PAGE
                }
                PageKind::Large(_) | PageKind::Directory => {}
            }
            page = after;
        }
        Ok(self.shares)
    }

    /// The pages behind the first of a run must have no other use.
    fn check_run(&self, page: u64, after: u64) -> Result<()> {
        let inside = page + 1..after;
        let used = self.slabs.range(inside.clone()).next().is_some()
            || self.large.range(inside.clone()).next().is_some()
            || self.free_pages.range(inside).next().is_some();
        if used {
            damage(page * PAGE, "a run of pages one of which has another use")
        } else {
            Ok(())
        }
    }

    fn sum_slab(&mut self, page: u64, size: u64) -> Result<()> {
        let Some(class) = Class::of_size(size) else {
            return damage(page * PAGE, "a page of chunks of an unknown size");
        };
        let leaked = match self.slabs.get(&page) {
            Some(slab) => slab.leaked(),
            None => class.per_page() as u64 * size,
        };
        self.shares.leaked += leaked;
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
