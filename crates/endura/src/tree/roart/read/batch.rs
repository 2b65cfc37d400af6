//! The records that a scan has noted: where they are, and what held them.

use std::ops::ControlFlow;

use crate::Result;
use crate::media::{Media, Region};

use crate::tree::roart::nodes::lock::LockWord;
use crate::tree::roart::nodes::record::Record;

/// How many entries before its turn a record is asked for.
pub(crate) const DISTANCE: usize = 12;

/// What became of the next records.
pub(crate) enum Seen {
    /// There are none.
    All,
    /// Some were shown.
    Some,
    /// Their holder has changed since they were noted.
    Changed,
    /// Whoever saw the last one has enough.
    Enough,
}

/// Records in the order of their keys, those that were shown first.
#[derive(Default)]
pub(crate) struct Batch {
    records: Vec<u64>,
    runs: Vec<Run>,
    /// How many records were shown.
    passed: usize,
    /// How many runs were.
    passed_runs: usize,
}

/// Neighbours that were noted together: in one node or array, at one moment.
#[derive(Clone, Copy)]
struct Run {
    holder: u64,
    version: LockWord,
    /// One past the last record.
    end: usize,
}

impl Batch {
    pub(crate) fn clear(&mut self) {
        self.records.clear();
        self.runs.clear();
        (self.passed, self.passed_runs) = (0, 0);
    }

    /// How many records were noted, shown ones included.
    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    /// How many were shown.
    pub(crate) fn passed(&self) -> usize {
        self.passed
    }

    /// Whether all were.
    pub(crate) fn is_spent(&self) -> bool {
        self.passed == self.records.len()
    }

    /// How many are to be shown before the next ones are noted: so many that some are left to arrive
    /// meanwhile, but at first no more than were shown, for who asks for more may soon have enough.
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

    /// Room for so many more, so that the next ones are noted without asking for it.
    pub(crate) fn reserve(&mut self, records: usize) {
        if self.records.capacity() == 0 {
            self.records.reserve(records + 64);
            self.runs.reserve(16);
        }
        self.records.reserve(records);
    }

    /// The records from number `start` on.
    pub(crate) fn since(&mut self, start: usize) -> &mut [u64] {
        &mut self.records[start..]
    }

    /// Forgets the records from number `start` on, which no holder has yet, but for those in `keep`.
    pub(crate) fn keep_since(&mut self, start: usize, keep: std::ops::Range<usize>) {
        self.records.truncate(keep.end);
        self.records.drain(start..keep.start);
    }

    /// Says what held the records that were noted since the last call, and that it did so in this version.
    #[inline]
    pub(crate) fn held_by(&mut self, holder: u64, version: LockWord) {
        let end = self.records.len();
        if self.runs.last().map_or(0, |run| run.end) < end {
            self.runs.push(Run { holder, version, end });
        }
    }

    /// Passes over the next records for as long as `is_none` says so; whether there were any.
    pub(crate) fn skip(&mut self, mut is_none: impl FnMut(u64) -> Result<bool>) -> Result<bool> {
        let before = self.passed;
        while let Some(&record) = self.records.get(self.passed)
            && is_none(record)?
        {
            self.passed += 1;
        }
        // Also the run whose last record was the last that a call has shown.
        let is_passed = |run: &Run| run.end <= self.passed;
        while self.runs.get(self.passed_runs).is_some_and(is_passed) {
            self.passed_runs += 1;
        }
        Ok(self.passed > before)
    }

    /// Calls `show` with the records of the next run, up to number `until` of all, for as long as their
    /// holder is as it was when they were noted. The first one need not be, if they `are_new`: so a scan
    /// gets on whatever writers do. The record that comes [`DISTANCE`] later is asked for meanwhile.
    #[inline(never)]
    pub(crate) fn show_run<'m, M: Media>(
        &mut self,
        media: &'m M,
        until: usize,
        mut are_new: bool,
        mut show: impl FnMut(Record<'m, M>) -> Result<ControlFlow<()>>,
    ) -> Result<Seen> {
        let Some(&Run { holder, version, end }) = self.runs.get(self.passed_runs) else {
            return Ok(Seen::All);
        };
        let holder = Region::new(media, holder, 1)?;
        let records = &self.records[..];
        for &record in &records[self.passed..end.min(until).max(self.passed)] {
            if !are_new && !version.still_holds(&holder) {
                return Ok(Seen::Changed);
            }
            are_new = false;
            if let Some(&ahead) = records.get(self.passed + DISTANCE) {
                Record::prefetch_key(media, ahead);
            }
            if let Some(&ahead) = records.get(self.passed + DISTANCE / 2) {
                Record::prefetch_rest(media, ahead);
            }
            self.passed += 1;
            if show(Record::enter(media, record)?)?.is_break() {
                return Ok(Seen::Enough);
            }
        }
        self.passed_runs += usize::from(self.passed == end);
        Ok(Seen::Some)
    }

    /// The record that was shown last, if it is among the ones from number `since` on.
    pub(crate) fn last_since(&self, since: usize) -> Option<u64> {
        self.records.get(since..self.passed)?.last().copied()
    }

    /// Asks for those of the records from number `noted` on whose turn comes before the next one asks.
    pub(crate) fn ask_for<M: Media>(&self, noted: usize, media: &M) {
        let end = self.records.len().min(self.passed + DISTANCE);
        let soon = self.records.get(noted..end).unwrap_or(&[]);
        soon.iter().for_each(|&record| Record::prefetch_key(media, record));
    }
}
