//! The bounds of a range, from the arguments of a method.

use std::ops::Bound as End;

use endura::dynamic::{DynamicRange, behind};
use pyo3::prelude::*;

use super::open_map::OpenMap;

/// The arguments that all methods of ranges have.
pub(crate) struct Arguments<'a, 'py> {
    pub(crate) start: Option<&'a Bound<'py, PyAny>>,
    pub(crate) stop: Option<&'a Bound<'py, PyAny>>,
    pub(crate) prefix: Option<&'a Bound<'py, PyAny>>,
    pub(crate) inclusive: (bool, bool),
}

/// The part of a map that a range still has to visit, as encodings of its keys.
#[derive(Debug, Clone)]
pub(crate) struct Bounds {
    pub(crate) from: End<Vec<u8>>,
    pub(crate) to: End<Vec<u8>>,
}

impl Bounds {
    pub(crate) const ALL: Self = Self { from: End::Unbounded, to: End::Unbounded };

    pub(crate) fn of(open: &OpenMap, arguments: &Arguments<'_, '_>) -> PyResult<Self> {
        let Arguments { start, stop, prefix, inclusive } = arguments;
        let end = |key: &Option<&Bound<'_, PyAny>>, is_in: bool| {
            let Some(key) = key else { return Ok::<_, PyErr>(End::Unbounded) };
            let key = open.key.encode(key)?.to_vec();
            Ok(if is_in { End::Included(key) } else { End::Excluded(key) })
        };
        let (mut from, mut to) = (end(start, inclusive.0)?, end(stop, inclusive.1)?);
        if let Some(prefix) = prefix {
            let first = open.key.prefix(prefix)?;
            // The keys from the first with this prefix to before the first behind all of these, as far as they are within
            // `start` and `stop`.
            if let Some(behind) = behind(&first)
                && key_of(&to).is_none_or(|to| behind.as_slice() <= to)
            {
                to = End::Excluded(behind);
            }
            if key_of(&from).is_none_or(|from| from < first.as_slice()) {
                from = End::Included(first);
            }
        }
        Ok(Self { from, to })
    }

    pub(crate) fn ends(&self) -> (End<&[u8]>, End<&[u8]>) {
        (self.from.as_ref().map(Vec::as_slice), self.to.as_ref().map(Vec::as_slice))
    }

    pub(crate) fn range(&self, open: &OpenMap) -> DynamicRange {
        let (from, to) = self.ends();
        open.map.range(from, to)
    }

    /// Whether they leave nothing out.
    pub(crate) fn are_all(&self) -> bool {
        matches!(self.ends(), (End::Unbounded, End::Unbounded))
    }

    /// Leaves out everything up to and including `key`, which a range in this direction has returned.
    pub(crate) fn go_on_behind(&mut self, key: &[u8], upwards: bool) {
        let end = if upwards { &mut self.from } else { &mut self.to };
        *end = End::Excluded(key.to_vec());
    }
}

fn key_of(end: &End<Vec<u8>>) -> Option<&[u8]> {
    match end {
        End::Included(key) | End::Excluded(key) => Some(key),
        End::Unbounded => None,
    }
}
