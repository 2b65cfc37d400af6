//! Entries that an iterator has fetched ahead.

use std::ops::ControlFlow;

use super::bounds::Bounds;
use super::open_map::OpenMap;
use pyo3::prelude::*;

/// The most entries that are fetched at once.
const MOST: usize = 256;
/// How many entries are fetched the first time. Most loops that end early do so after few entries.
const FIRST: usize = 16;
/// The most bytes of entries that are fetched at once. (One entry may have more.)
const BYTES: usize = 64 << 10;

/// Which parts of an entry an iterator returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Keys,
    Values,
    Items,
}

/// Fetched entries, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Fetched {
    bytes: Vec<u8>,
    /// For each entry, where its key and where its value ends.
    ends: Vec<(usize, usize)>,
}

impl Fetched {
    /// The key and the value of an entry.
    #[inline]
    pub(crate) fn entry(&self, index: usize) -> Option<(&[u8], &[u8])> {
        let &(key_end, end) = self.ends.get(index)?;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before].1);
        Some((&self.bytes[start..key_end], &self.bytes[key_end..end]))
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    fn push(&mut self, key: &[u8], value: &[u8]) {
        self.bytes.extend_from_slice(key);
        let key_end = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.ends.push((key_end, self.bytes.len()));
    }

    fn has(&self, most: usize) -> bool {
        self.len() >= most || self.bytes.len() >= BYTES
    }

    /// Replaces the entries by the first ones within `bounds`, at most `most`.
    pub(crate) fn fetch(
        &mut self,
        py: Python<'_>,
        open: &OpenMap,
        part: Part,
        bounds: &Bounds,
        upwards: bool,
        most: usize,
    ) -> endura::Result<()> {
        self.bytes.clear();
        self.ends.clear();
        py.detach(|| match part {
            Part::Keys => self.fetch_keys(open, bounds, upwards, most),
            Part::Values | Part::Items => {
                let visit = |key: &[u8], value: &[u8]| {
                    self.push(key, value);
                    if self.has(most) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                };
                bounds.range(open).visit(upwards, visit).map(drop)
            }
        })
    }

    /// Like [`fetch`](Self::fetch), but without the values, which may be long.
    fn fetch_keys(
        &mut self,
        open: &OpenMap,
        bounds: &Bounds,
        upwards: bool,
        most: usize,
    ) -> endura::Result<()> {
        let mut keys = bounds.range(open).keys();
        while !self.has(most) {
            let Some(key) = (if upwards { keys.next() } else { keys.next_back() }) else { break };
            self.push(&key?, &[]);
        }
        Ok(())
    }
}

/// How many entries are fetched the next time: few at first, and one after some were fetched in vain.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ahead(usize);

impl Ahead {
    pub(crate) const START: Self = Self(FIRST);

    pub(crate) fn most(self) -> usize {
        self.0
    }

    /// To be called if all fetched entries were returned.
    pub(crate) fn used(&mut self) {
        self.0 = (2 * self.0).min(MOST);
    }

    /// To be called if the map was changed before all fetched entries were returned.
    pub(crate) fn in_vain(&mut self) {
        self.0 = 1;
    }
}
