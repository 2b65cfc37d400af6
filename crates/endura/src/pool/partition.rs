//! Whether every byte of a pool belongs to one owner.

use std::collections::BTreeMap;

use super::alloc::{Class, Kind, chunk_number, header, run_of};
use super::gate::Quiesced;
use super::layout::PAGE;
use super::space::Space;
use crate::media::{LINE, Media};
use crate::{Error, Result};

/// What a chunk was found to be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// Not yet met: in use but unreachable, as far as is known.
    Nobody,
    Free,
    Limbo,
    Map,
}

/// How the bytes of a pool are divided, pages 1 and up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shares {
    /// Bytes of chunks that maps reach.
    pub reached: u64,
    /// Bytes of free chunks and free pages.
    pub free: u64,
    /// Bytes of chunks that wait for a grace period.
    pub limbo: u64,
    /// Bytes of chunks that are none of these: allocated but not linked when a session ended
    /// uncleanly. A collection would find them.
    pub leaked: u64,
}

/// A partition of the pool's chunks under construction: told of every chunk that maps reach, it
/// finds those that something else owns as well.
pub struct Partition<'q, M: Media> {
    space: &'q Space<M>,
    slabs: BTreeMap<u64, (Class, Box<[Owner]>)>,
    large: BTreeMap<u64, Owner>,
    free_pages: BTreeMap<u64, u64>,
    shares: Shares,
}

fn damage<T>(offset: u64, what: &'static str) -> Result<T> {
    Err(Error::Corrupt { offset, what })
}

impl<M: Media> Quiesced<'_, M> {
    /// Begins a partition: what is free and what waits is in it.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] if that overlaps already.
    pub fn partition(&self) -> Result<Partition<'_, M>> {
        let space = self.space();
        let mut partition = Partition {
            space,
            slabs: BTreeMap::new(),
            large: BTreeMap::new(),
            free_pages: space.allocator.pages().runs().into_iter().collect(),
            shares: Shares::default(),
        };
        let mut free = Vec::new();
        space.allocator.for_each_free(|class, at| free.push((at, class.size())));
        let mut limbo = Vec::new();
        for slot in space.epochs.slots() {
            let stock = slot.contents.lock();
            free.extend(stock.cached().map(|(class, at)| (at, class.size())));
            limbo.extend(stock.limbo());
        }
        free.iter().try_for_each(|&(at, bytes)| partition.claim(at, bytes, Owner::Free))?;
        limbo.iter().try_for_each(|&(at, bytes)| partition.claim(at, bytes, Owner::Limbo))?;
        Ok(partition)
    }
}

impl<M: Media> Partition<'_, M> {
    /// Adds a chunk of `bytes` bytes, as asked for, that a map reaches.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] if there is no such chunk in the pool, or it is free, or waits for a grace
    /// period, or was reached before.
    pub fn reach(&mut self, at: u64, bytes: u64) -> Result<()> {
        self.claim(at, bytes, Owner::Map)
    }

    fn claim(&mut self, at: u64, bytes: u64, owner: Owner) -> Result<()> {
        let page = at / PAGE;
        if page == 0 || page >= self.space.allocator.pages().next() {
            return damage(at, "a chunk outside of the pages in use");
        }
        if self.is_free(page) {
            return damage(at, "a chunk in a free page");
        }
        let (place, size) = match Class::of(bytes) {
            Some(class) => (self.slab_chunk(at, class)?, class.size()),
            None => (self.large_chunk(at, bytes)?, run_of(bytes) * PAGE - LINE),
        };
        let what = match *place {
            Owner::Nobody => {
                *place = owner;
                self.shares.add(owner, size);
                return Ok(());
            }
            Owner::Free => "a chunk in use that is also free",
            Owner::Limbo => "a chunk in use that also waits to be free",
            Owner::Map => "a chunk that is reached twice",
        };
        damage(at, what)
    }

    fn slab_chunk(&mut self, at: u64, class: Class) -> Result<&mut Owner> {
        let page = at / PAGE;
        if header::read(&self.space.media, page)? != Kind::Slab(class.size()) {
            return damage(at, "a chunk in a page that has none of its size");
        }
        let Some(number) = chunk_number(class, at) else {
            return damage(at, "a chunk that starts nowhere");
        };
        let fresh = || (class, vec![Owner::Nobody; class.end()].into());
        let (_, owners) = self.slabs.entry(page).or_insert_with(fresh);
        Ok(&mut owners[number])
    }

    fn large_chunk(&mut self, at: u64, bytes: u64) -> Result<&mut Owner> {
        let page = at / PAGE;
        if at % PAGE != LINE || header::read(&self.space.media, page)? != Kind::Large(run_of(bytes))
        {
            return damage(at, "a large chunk without a run of its size");
        }
        Ok(self.large.entry(page).or_insert(Owner::Nobody))
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
            let after = page.saturating_add(if let Kind::Large(n) = header { n } else { 1 });
            if after > next {
                return damage(page * PAGE, "a run of pages that goes beyond the last one");
            }
            self.check_run(page, after)?;
            match header {
                Kind::Free => self.shares.leaked += PAGE,
                Kind::Slab(size) => self.sum_slab(page, size)?,
                Kind::Large(n) if !self.large.contains_key(&page) => {
                    self.shares.leaked += n * PAGE - LINE;
                }
                Kind::Large(_) | Kind::Directory => {}
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
            Some((_, owners)) => {
                owners[class.first()..].iter().filter(|&&owner| owner == Owner::Nobody).count()
            }
            None => class.per_page(),
        };
        self.shares.leaked += leaked as u64 * size;
        Ok(())
    }
}

impl Shares {
    fn add(&mut self, owner: Owner, bytes: u64) {
        match owner {
            Owner::Nobody => {}
            Owner::Free => self.free += bytes,
            Owner::Limbo => self.limbo += bytes,
            Owner::Map => self.reached += bytes,
        }
    }
}
