//! Freeing the chunks that a leak recovery has not marked, span by span (C4 of
//! [`leak_recovery`](crate::space::leak_recovery)).
//!
//! The header of a span that becomes wholly free says FREE. Otherwise the next open after an unclean end would not find
//! that space, and each killed session would cost the spans that it has used.

use crate::media::{LINE, Mark, Media, Region};
use crate::space::alloc::allocator::Allocator;
use crate::space::alloc::marks::Marks;
use crate::space::alloc::old_spans::{Old, OldSpan};
use crate::space::alloc::page::table::{Header, SpanKind};
use crate::space::layout::{GROW_TO, UNIT, UNITS};
use crate::{Error, Result};

impl Allocator {
    /// Frees what has no mark in the old span `index`, one that was in use at the open. Returns how many bytes it
    /// freed.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`], also if the headers contradict each other, so that the old spans are not known.
    pub(crate) fn sweep<M: Media>(&self, media: &M, marks: &Marks, index: usize) -> Result<u64> {
        if self.is_spoiled {
            return Err(Error::Corrupt { offset: 0, what: "headers that contradict each other" });
        }
        media.mark(Mark::Step("leak_recovery.sweep"));
        let Some(OldSpan { first, units, kind }) = marks.spans().get(index) else { return Ok(0) };
        let give = |kind| self.pages.give_span(media, first, Header { kind, units });
        match kind {
            Old::Slab(class) => {
                return self.slabs.sweep(media, &self.pages, marks, class, first);
            }
            _ if marks.has(index) || !self.pages.is_left_over(first) => return Ok(0),
            Old::Large => self.pages.give_large(media, first / UNITS, units / UNITS)?,
            Old::Run => give(SpanKind::Run)?,
            Old::Directory => give(SpanKind::Directory)?,
        }
        Ok(units * UNIT - if kind == Old::Large { LINE } else { 0 })
    }

    /// Ends the leak recovery: from now on all free space is known. The stores are durable on return.
    pub(crate) fn end_sweep<M: Media>(&self, media: &M) -> Result<()> {
        self.pages.know_all();
        self.pages.allow_growth(media)?;
        // equivalent mutant, without: costs space or time, as the store itself.
        Region::new(media, GROW_TO, 1)?.flush(0, 1);
        media.mark(Mark::Step("leak_recovery.end"));
        // So that the next session may grow as far as it should.
        // equivalent mutant, without: costs time, as the store itself.
        media.fence();
        Ok(())
    }
}
