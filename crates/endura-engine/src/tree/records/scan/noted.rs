//! The records that a scan has noted: their offsets, and the chunks that held them, such as leaves.

use std::ops::ControlFlow;

use crate::Result;
use crate::media::{Media, Region};
use crate::tree::records::record::{Record, TYPICAL};

/// How many entries before its turn a record is prefetched. A larger distance makes short scans slower, which then ask for
/// records that they do not show.
pub(crate) const DISTANCE: usize = 6;

/// A tree whose chunks, such as leaves, hold the offsets of records, and have versions `V`.
pub(crate) trait Holds<M, V> {
    /// Whether no writer has changed the chunk since the version was read, and none was at work on it then: for all that
    /// the chunk holds, or for what it held in the slot of the record that was `noted`.
    fn still_holds(&self, holder: &Region<'_, M>, version: V, noted: u64) -> bool;
}

/// The bits of a noted record that are its offset.
const OFFSET: u64 = (1 << 48) - 1;

/// What a walk notes of the record at `at`, if its tree wants to know the slot that has led there.
#[inline(always)]
pub(crate) fn noted_in_slot(at: u64, slot: usize) -> u64 {
    at | (slot as u64) << 48
}

/// The slot of a noted record.
#[inline(always)]
pub(crate) fn slot_of(noted: u64) -> usize {
    (noted >> 48) as usize
}

/// The offset of a noted record.
#[inline(always)]
pub(crate) fn offset_of(noted: u64) -> u64 {
    noted & OFFSET
}

/// What sees the records of a scan, in order, until it breaks.
pub(crate) trait Visitor<M> {
    fn show(&mut self, record: &Record<'_, M>) -> ControlFlow<()>;
}

impl<M, F: FnMut(&Record<'_, M>) -> ControlFlow<()>> Visitor<M> for F {
    #[inline(always)]
    fn show(&mut self, record: &Record<'_, M>) -> ControlFlow<()> {
        self(record)
    }
}

/// A [visitor](Visitor) of the runs of a [batch](Batch). A scan calls it as a `dyn`: only the loop over the records of a
/// run is compiled for each visitor, and the rest of the scan once.
pub(crate) trait RunVisitor<M, V, H> {
    /// Does what [`Batch::show_run`] does.
    fn show_run(
        &mut self,
        batch: &mut Batch<V>,
        tree: &H,
        holder: (Region<'_, M>, V),
        until: usize,
        are_new: bool,
    ) -> Result<BatchShown>;
}

impl<M: Media, V: Copy, H: Holds<M, V>, S: Visitor<M>> RunVisitor<M, V, H> for S {
    fn show_run(
        &mut self,
        batch: &mut Batch<V>,
        tree: &H,
        holder: (Region<'_, M>, V),
        until: usize,
        are_new: bool,
    ) -> Result<BatchShown> {
        batch.show_run(tree, holder, until, are_new, self)
    }
}

/// The result of showing the next records.
pub(crate) enum BatchShown {
    /// There are no more noted records.
    All,
    /// Some records were shown.
    Some,
    /// The holder of the next record has changed since the record was noted.
    Changed,
    /// The visitor wants no more.
    Enough,
}

/// Records in key order. The first `passed` of them were shown.
pub(crate) struct Batch<V> {
    /// The offset of each record, and the slot in bits 48.., if its tree has noted that.
    records: Vec<u64>,
    runs: Vec<Run<V>>,
    /// The number of records shown.
    passed: usize,
    /// The number of runs shown.
    passed_runs: usize,
    /// The bytes of the record shown last: the next ones are likely to have as many.
    likely: u64,
}

/// Consecutive records that were noted together: in one chunk, at one moment.
#[derive(Clone, Copy)]
struct Run<V> {
    holder: u64,
    version: V,
    /// One past the last record.
    end: usize,
}

impl<V> Default for Batch<V> {
    fn default() -> Self {
        Self { records: Vec::new(), runs: Vec::new(), passed: 0, passed_runs: 0, likely: TYPICAL }
    }
}

impl<V: Copy> Batch<V> {
    pub(crate) fn clear(&mut self) {
        self.records.clear();
        self.runs.clear();
        (self.passed, self.passed_runs) = (0, 0);
    }

    /// The number of records noted, including those shown.
    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    /// The number of records shown.
    pub(crate) fn passed(&self) -> usize {
        self.passed
    }

    /// Whether all records were shown.
    pub(crate) fn is_spent(&self) -> bool {
        self.passed == self.records.len()
    }

    /// The number of records to show before the next ones are noted: all but [`DISTANCE`], so that some are left to
    /// show while the next ones arrive. It is at least half of all, because a visitor that has seen few may soon want
    /// no more.
    #[inline]
    pub(crate) fn look_ahead(&self) -> usize {
        let all = self.records.len();
        all.saturating_sub(DISTANCE).max(all.div_ceil(2))
    }

    /// Notes the next record.
    #[inline]
    pub(crate) fn push(&mut self, record: u64) {
        self.records.push(record);
    }

    /// Notes the next records.
    pub(crate) fn extend(&mut self, records: impl ExactSizeIterator<Item = u64>) {
        self.records.extend(records);
    }

    /// Reserves space for `records` more records, so that the next ones are noted without a check.
    pub(crate) fn reserve(&mut self, records: usize) {
        if self.records.capacity() == 0 {
            self.records.reserve(records + 64);
            self.runs.reserve(16);
        }
        self.records.reserve(records);
    }

    /// The records from index `start` on.
    pub(crate) fn since(&mut self, start: usize) -> &mut [u64] {
        &mut self.records[start..]
    }

    /// Drops the records from index `start` on, which have no holder yet, except those in `keep`.
    pub(crate) fn keep_since(&mut self, start: usize, keep: std::ops::Range<usize>) {
        self.records.truncate(keep.end);
        self.records.drain(start..keep.start);
    }

    /// Records the holder, and its version, of the records noted since the last call.
    #[inline]
    pub(crate) fn held_by(&mut self, holder: u64, version: V) {
        let end = self.records.len();
        if self.runs.last().map_or(0, |run| run.end) < end {
            self.runs.push(Run { holder, version, end });
        }
    }

    /// Skips the next records while `is_none` returns true; returns whether it skipped any.
    pub(crate) fn skip(&mut self, mut is_none: impl FnMut(u64) -> Result<bool>) -> Result<bool> {
        let before = self.passed;
        while let Some(&record) = self.records.get(self.passed)
            && is_none(offset_of(record))?
        {
            self.passed += 1;
        }
        // Also passes the run whose last record was the last one that the call before has shown.
        let is_passed = |run: &Run<V>| run.end <= self.passed;
        while self.runs.get(self.passed_runs).is_some_and(is_passed) {
            self.passed_runs += 1;
        }
        Ok(self.passed > before)
    }

    /// The next record as it was noted, its holder, and the version that the holder had then.
    #[inline(always)]
    pub(crate) fn next(&self) -> Option<(u64, u64, V)> {
        let mut runs = self.runs.get(self.passed_runs..)?.iter();
        // The call before may have passed the last record of a run.
        let run = runs.find(|run| run.end > self.passed)?;
        Some((*self.records.get(self.passed)?, run.holder, run.version))
    }

    /// Passes the next record, which has `bytes` bytes, and prefetches the one that is [`DISTANCE`] later.
    #[inline(always)]
    pub(crate) fn pass<M: Media>(&mut self, bytes: u64, media: &M) {
        self.likely = bytes;
        if let Some(&ahead) = self.records.get(self.passed + DISTANCE) {
            Record::prefetch_bytes(media, offset_of(ahead), bytes);
        }
        self.passed += 1;
        while self.runs.get(self.passed_runs).is_some_and(|run| run.end <= self.passed) {
            self.passed_runs += 1;
        }
    }

    /// Shows the next records to `visitor`, up to index `until` of all, as long as the holder of each has not changed
    /// since the record was noted. If the records `are_new`, the first one is shown in any case: so a scan makes
    /// progress whatever writers do. Each time, the record that is [`DISTANCE`] later is prefetched.
    pub(crate) fn show_runs<M: Media, H: Holds<M, V>>(
        &mut self,
        (tree, media): (&H, &M),
        until: usize,
        mut are_new: bool,
        visitor: &mut dyn RunVisitor<M, V, H>,
    ) -> Result<BatchShown> {
        let until = until.min(self.records.len());
        if self.is_spent() {
            return Ok(BatchShown::All);
        }
        while let Some(&Run { holder, version, end }) = self.runs.get(self.passed_runs) {
            let holder = Region::new(media, holder, 1)?;
            match visitor.show_run(self, tree, (holder, version), end.min(until), are_new)? {
                BatchShown::All if self.passed == end => self.passed_runs += 1,
                BatchShown::All => break,
                shown => return Ok(shown),
            }
            are_new = false;
        }
        Ok(BatchShown::Some)
    }

    /// Shows the records up to index `until` of all, as long as their `holder` has the version that it had when they were
    /// noted. If the records `are_new`, the first one is shown in any case.
    // Never inline: this loop needs all registers.
    #[inline(never)]
    fn show_run<M: Media>(
        &mut self,
        tree: &impl Holds<M, V>,
        (holder, version): (Region<'_, M>, V),
        until: usize,
        are_new: bool,
        visitor: &mut impl Visitor<M>,
    ) -> Result<BatchShown> {
        let (media, first) = (holder.media(), self.passed);
        let records = self.records.get(first..until).unwrap_or(&[]);
        let mut ahead = self.records.get(first + DISTANCE..).unwrap_or(&[]).iter();
        let mut result = Ok(BatchShown::All);
        let (mut passed, mut likely) = (0, self.likely);
        for &noted in records {
            if !(are_new && passed == 0 || tree.still_holds(&holder, version, noted)) {
                result = Ok(BatchShown::Changed);
                break;
            }
            if let Some(&ahead) = ahead.next() {
                Record::prefetch_bytes(media, offset_of(ahead), likely);
            }
            let at = offset_of(noted);
            let Some(record) = Record::within(media, at) else {
                // Says what is wrong there.
                result = Record::enter(media, at).map(|_| BatchShown::Changed);
                break;
            };
            passed += 1;
            likely = record.bytes();
            if visitor.show(&record).is_break() {
                result = Ok(BatchShown::Enough);
                break;
            }
        }
        self.passed = first + passed;
        self.likely = likely;
        result
    }

    /// The record shown last, if its index is at least `since`.
    pub(crate) fn last_since(&self, since: usize) -> Option<u64> {
        self.records.get(since..self.passed)?.last().map(|&noted| offset_of(noted))
    }

    /// Of the records from index `noted` on, prefetches those that are due next. [`show_runs`](Self::show_runs)
    /// prefetches the others.
    pub(crate) fn ask_for<M: Media>(&self, noted: usize, media: &M) {
        let end = self.records.len().min(self.passed + DISTANCE);
        let soon = self.records.get(noted..end).unwrap_or(&[]);
        for &record in soon {
            Record::prefetch_bytes(media, offset_of(record), self.likely);
        }
    }
}
