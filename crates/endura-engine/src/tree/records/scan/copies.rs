//! The visitor that passes copies of the entries on: the inner loop of every scan that a user sees.

use std::ops::{Bound, ControlFlow};

use crate::media::Media;
use crate::space::OpenMap;
use crate::tree::entry::TOGETHER;
use crate::tree::records::bound::has_passed;
use crate::tree::records::record::Record;
use crate::tree::records::scan::noted::Visitor;
use crate::tree::{Entry, EntryVisitor};

/// Copies each record, and passes the copy on, until the bound `last` at which the scan ends; or until the process is another
/// one, because a closure of the user has forked it.
pub(crate) struct Copies<'a, 'v, M: Media, const UP: bool> {
    /// The copy of the record shown last: its key, then its value.
    bytes: Vec<u8>,
    onward: Onward<'a, 'v, M, UP>,
}

/// Where the copies go.
struct Onward<'a, 'v, M: Media, const UP: bool> {
    open: &'a OpenMap<M>,
    last: Bound<&'a [u8]>,
    visit: EntryVisitor<'v>,
}

impl<M: Media, const UP: bool> Onward<'_, '_, M, UP> {
    #[inline(always)]
    fn pass(&mut self, key: &[u8], value: &[u8]) -> ControlFlow<()> {
        let is_due = match UP {
            true => has_passed::<false>(key, self.last),
            false => has_passed::<true>(key, self.last),
        };
        if !is_due || (self.visit)(key, value).is_break() || self.open.space().is_elsewhere() {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

impl<'a, 'v, M: Media, const UP: bool> Copies<'a, 'v, M, UP> {
    pub(crate) fn new(
        open: &'a OpenMap<M>,
        last: Bound<&'a [u8]>,
        visit: EntryVisitor<'v>,
    ) -> Self {
        Self { bytes: Vec::new(), onward: Onward { open, last, visit } }
    }

    /// Shows a record whose copy is too large to be kept as the buffer for the next one.
    #[cold]
    fn show_large(&mut self, record: Record<'_, M>) -> ControlFlow<()> {
        let mut entry = Entry::default();
        record.copy_to(true, &mut entry);
        self.onward.pass(entry.key(), entry.value())
    }
}

impl<M: Media, const UP: bool> Visitor<M> for Copies<'_, '_, M, UP> {
    // Always inline: the loop of a scan calls it once, and needs what it has in registers.
    #[inline(always)]
    fn show(&mut self, record: &Record<'_, M>) -> ControlFlow<()> {
        if record.text_len() > TOGETHER {
            return self.show_large(*record);
        }
        self.bytes.clear();
        record.copy_text(&mut self.bytes);
        let (key, value) = self.bytes.split_at(record.key_len());
        self.onward.pass(key, value)
    }
}
