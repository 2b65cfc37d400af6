//! The allocator: hands out chunks and spans of an open pool.

use crate::media::{LINE, Media};
use crate::space::alloc::bitmap::Bitmap;
use crate::space::alloc::class::{Class, Room};
use crate::space::alloc::marks::Marks;
use crate::space::alloc::page::table::{Header, SpanKind};
use crate::space::alloc::pages::Pages;
use crate::space::alloc::slab::SizeUse;
use crate::space::alloc::slab::Slabs;
use crate::space::layout::{DIRECTORY_UNITS, PAGE, UNIT};
use crate::{Error, Result};

/// The allocator of an open pool, below the caches of threads.
#[derive(Debug)]
pub(crate) struct Allocator {
    pub(crate) pages: Pages,
    pub(crate) slabs: Slabs,
    /// The marks of chunks that are known to have an owner. `None` if all free space is known.
    pub(crate) marks: Option<Marks>,
    /// Whether the headers of pages contradict each other, so that after an unclean end the free space is not known
    /// without a leak recovery.
    pub(crate) is_spoiled: bool,
}

impl Allocator {
    /// The marks of the leak recovery, if this session needs one.
    #[inline(always)]
    pub(crate) fn marks(&self) -> Option<&Marks> {
        self.marks.as_ref()
    }

    /// Whether damage keeps free space from being known.
    pub(crate) fn is_spoiled(&self) -> bool {
        self.is_spoiled
    }

    /// The pages.
    pub(crate) fn pages(&self) -> &Pages {
        &self.pages
    }

    /// Bytes that are in use, and how many of them belong to free chunks.
    pub(crate) fn usage(&self) -> (u64, u64) {
        let mut chunks = 0;
        self.slabs.for_each_partial(|class, _, _, bitmap| {
            chunks += bitmap.free() as u64 * class.size();
        });
        (self.pages.bytes_in_use(), chunks)
    }

    /// Calls `look` with every span that has free chunks: its class, its units, its first unit, and which chunks are
    /// free.
    pub(crate) fn for_each_partial(&self, look: impl FnMut(Class, u64, u64, &Bitmap)) {
        self.slabs.for_each_partial(look);
    }

    /// Does what [`Slabs::sizes`] does.
    pub(crate) fn sizes(&self) -> Vec<SizeUse> {
        self.slabs.sizes()
    }

    /// Whether the file has to grow for the next chunk of this kind.
    pub(crate) fn would_grow(&self, room: Room) -> bool {
        match room {
            Room::Slab(class) => {
                let units = self.slabs.lacks(&self.pages, class);
                units.is_some_and(|units| self.pages.span_would_grow(units))
            }
            Room::Run(units) => self.pages.span_would_grow(units),
            Room::Large(pages) => self.pages.would_grow(pages),
        }
    }

    /// Does what [`Slabs::is_sparse`] does.
    #[inline]
    pub(crate) fn is_sparse(&self, class: Class) -> bool {
        self.slabs.is_sparse(class)
    }

    /// Adds at least one chunk, and at most a batch of them, to `out`.
    pub(crate) fn take<M: Media>(&self, media: &M, class: Class, out: &mut Vec<u64>) -> Result<()> {
        self.slabs.take(media, &self.pages, class, class.batch(), out)
    }

    /// Frees chunks that are unreachable.
    pub(crate) fn give<M: Media>(
        &self,
        media: &M,
        class: Class,
        chunks: impl IntoIterator<Item = u64>,
    ) -> Result<()> {
        self.slabs.give(media, &self.pages, class, chunks)
    }

    /// A chunk with a span of its own, of `units` units.
    pub(crate) fn take_run<M: Media>(&self, media: &M, units: u64) -> Result<u64> {
        Ok(self.pages.take_span(media, Header { kind: SpanKind::Run, units })? * UNIT)
    }

    /// Does what [`Slabs::take_of_run`] does.
    pub(crate) fn take_of_run<M: Media>(
        &self,
        media: &M,
        class: Class,
        (at, units): (u64, u64),
        out: &mut Vec<u64>,
    ) -> Result<Option<(u64, u64)>> {
        let rest = self.slabs.take_of_run(media, &self.pages, class, (at / UNIT, units), out)?;
        Ok(rest.map(|(first, units)| (first * UNIT, units)))
    }

    /// A chunk with a span of its own in place of the span at `at`, which has at least as many units; and what is left.
    pub(crate) fn shorten_run<M: Media>(
        &self,
        media: &M,
        (at, has): (u64, u64),
        units: u64,
    ) -> Result<(u64, Option<(u64, u64)>)> {
        let header = Header { kind: SpanKind::Run, units };
        let (first, rest) = self.pages.exchange_span(media, (at / UNIT, has), header)?;
        Ok((first * UNIT, rest.map(|(first, units)| (first * UNIT, units))))
    }

    /// A chunk with `pages` pages of its own.
    pub(crate) fn take_large<M: Media>(&self, media: &M, pages: u64) -> Result<u64> {
        Ok(self.pages.take_large(media, pages)? * PAGE + LINE)
    }

    /// Frees a chunk that has a span or pages of its own, and that is unreachable.
    pub(crate) fn give_alone<M: Media>(&self, media: &M, at: u64, room: Room) -> Result<()> {
        match room {
            Room::Run(units) if at.is_multiple_of(UNIT) => {
                self.pages.give_span(media, at / UNIT, Header { kind: SpanKind::Run, units })
            }
            Room::Large(pages) if at % PAGE == LINE => {
                self.pages.give_large(media, at / PAGE, pages)
            }
            _ => Err(Error::Corrupt { offset: at, what: "a freed chunk that starts nowhere" }),
        }
    }

    /// Whether a chunk of this kind begins at `at` and may be in use, as far as headers tell.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] if there is no such chunk.
    pub(crate) fn check<M: Media>(&self, media: &M, at: u64, room: Room) -> Result<()> {
        let damage = |what| Err(Error::Corrupt { offset: at, what });
        let alone = |is_one| {
            if is_one { Ok(()) } else { damage("a large chunk without a run of its size") }
        };
        match room {
            Room::Slab(class) => {
                let found = self.pages.find_span(media, at / UNIT)?;
                let inside = at - found.first * UNIT;
                let number = class.number(inside);
                let chunks = class.chunks(found.header.units);
                if found.header.kind != SpanKind::Slab(class) {
                    damage("a chunk in a span that has none of its size")
                } else if number.is_none_or(|number| number >= chunks) {
                    damage("a chunk that starts nowhere")
                } else if inside >= found.tail {
                    damage("a chunk in use where none was ever handed out")
                } else {
                    Ok(())
                }
            }
            Room::Run(units) => {
                let found = self.pages.find_span(media, at / UNIT)?;
                let expected = Header { kind: SpanKind::Run, units };
                alone(found.header == expected && at == found.first * UNIT)
            }
            Room::Large(pages) => {
                let run = self.pages.find_large(media, at / PAGE)?;
                alone(at % PAGE == LINE && run == pages)
            }
        }
    }

    /// Takes a span for the map directory, and returns its first byte. The span is not linked yet.
    pub(crate) fn take_directory_span<M: Media>(&self, media: &M) -> Result<u64> {
        let header = Header { kind: SpanKind::Directory, units: DIRECTORY_UNITS };
        Ok(self.pages.take_span(media, header)? * UNIT)
    }

    /// Releases the spans that are wholly free, so that every class can use their units.
    pub(crate) fn release_spares<M: Media>(&self, media: &M) -> Result<()> {
        self.slabs.release_spares(media, &self.pages)
    }
}
