//! Operations that read a value and write another one, in one step.
//!
//! Functions of Python run outside of any operation of the library: a function that blocks holds nobody.

use endura::dynamic::{Datum, Type};
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;

use super::open_map::OpenMap;
use crate::call::call;
use crate::convert::integer;
use crate::error::failure;
use crate::shared::writes_of_this_thread;

/// After so many runs of a function that itself wrote, and each time in vain, an operation fails.
const IN_VAIN: u32 = 1_000;

impl OpenMap {
    /// Replaces the encoding of a value, if it is `expected`; else returns what it is.
    pub(crate) fn exchange(
        &self,
        key: &[u8],
        expected: Option<&[u8]>,
        new: Option<&[u8]>,
    ) -> PyResult<Result<(), Option<Vec<u8>>>> {
        let exchanged = self.map.compare_exchange(key, expected, new).map_err(failure)?;
        if exchanged.is_ok() {
            self.changes.note();
        }
        Ok(exchanged.map_err(|found| found.map(Vec::from)))
    }

    /// Replaces a value that equals `expected`, or none where that is `None`; returns whether it did.
    pub(crate) fn compare_exchange(
        &self,
        key: &Bound<'_, PyAny>,
        expected: Option<&Bound<'_, PyAny>>,
        new: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        let (py, key) = (key.py(), self.key.encode(key)?.constant());
        let encoded = |value: Option<&Bound<'_, PyAny>>| {
            let encoded = value.map(|value| self.value.encode(value).map(|value| value.to_vec()));
            encoded.transpose()
        };
        let new = encoded(new)?;
        let Some(value) = expected.filter(|_| self.value.has_codec()) else {
            let expected = encoded(expected)?;
            return Ok(self.exchange(&key, expected.as_deref(), new.as_deref())?.is_ok());
        };
        // One value may have several texts, and other programs may have written it: objects are compared.
        let (mut found, mut runs) = (self.read(&key)?.map(Vec::from), Runs::default());
        loop {
            let Some(old) = found else { return Ok(false) };
            runs.begin();
            if !self.value.decode(py, &old)?.eq(value)? {
                return Ok(false);
            }
            match self.exchange(&key, Some(&old), new.as_deref())? {
                Ok(()) => return Ok(true),
                Err(now) => found = now,
            }
            runs.end(py)?;
        }
    }

    /// Gives a key the value that `change` makes of the one it has.
    pub(crate) fn alter<'py>(
        &self,
        key: &Bound<'py, PyAny>,
        change: &Bound<'py, PyAny>,
        absent: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        // `change` may write to the buffer that a key is.
        let (py, key) = (key.py(), self.key.encode(key)?.constant());
        let (mut old, mut runs) = (self.read(&key)?.map(Vec::from), Runs::default());
        loop {
            runs.begin();
            let seen = match &old {
                Some(old) => self.value.decode(py, old)?,
                None => absent.clone(),
            };
            let new = call(change, (seen,))?;
            let encoded = match new.is(absent) {
                true => None,
                false => Some(self.value.encode(&new)?.to_vec()),
            };
            match self.exchange(&key, old.as_deref(), encoded.as_deref())? {
                Ok(()) => return Ok(new),
                Err(found) => old = found,
            }
            runs.end(py)?;
        }
    }

    /// Adds to the number that a key has.
    pub(crate) fn incr<'py>(
        &self,
        key: &Bound<'py, PyAny>,
        delta: &Bound<'py, PyAny>,
        default: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, key) = (key.py(), self.key.encode(key)?);
        let kind = self.value.kind();
        let add = match kind {
            Type::Int { .. } => Delta::Int(integer(delta)?, integer(default)?),
            Type::Float { .. } => Delta::Float(delta.extract()?, default.extract()?),
            _ => {
                let text = format!(
                    "`incr` is for maps of numbers; the values of the map `{}` are `{}`: use `alter`",
                    self.map.name(),
                    self.value.name()
                );
                return Err(PyTypeError::new_err(text));
            }
        };
        let mut old = self.read(&key)?.map(Vec::from);
        loop {
            let now = old.as_deref().map(|old| kind.decode(old).map_err(failure)).transpose()?;
            let sum = add.sum(kind, now).ok_or_else(|| {
                let text = format!("the sum is out of the range of `{}`", self.value.name());
                PyOverflowError::new_err(text)
            })?;
            let mut new = Vec::with_capacity(16);
            kind.encode(&sum, &mut new).map_err(failure)?;
            match self.exchange(&key, old.as_deref(), Some(&new))? {
                Ok(()) => return self.value.decode(py, &new),
                Err(found) => old = found,
            }
        }
    }
}

/// Runs of functions of Python that were in vain, because the value had changed when they returned.
///
/// Other threads may win any number of times, for each time one of them gets on. A function that writes its own key would
/// compete with itself for ever.
#[derive(Default)]
struct Runs {
    before: u64,
    in_vain: u32,
}

impl Runs {
    fn begin(&mut self) {
        self.before = writes_of_this_thread();
    }

    /// Fails after too many runs that wrote themselves, and if a signal asks for it.
    fn end(&mut self, py: Python<'_>) -> PyResult<()> {
        let wrote = writes_of_this_thread() != self.before;
        self.in_vain = if wrote { self.in_vain + 1 } else { 0 };
        if self.in_vain == IN_VAIN {
            return Err(failure(endura::Error::RecursiveUpdate { runs: self.in_vain }));
        }
        py.check_signals()
    }
}

/// What is added, and to what where there is nothing.
enum Delta {
    Int(i128, i128),
    Float(f64, f64),
}

impl Delta {
    /// The sum, or `None` if the type does not have it.
    fn sum(&self, kind: &Type, now: Option<Datum<'_>>) -> Option<Datum<'static>> {
        let sum = match (self, now) {
            (Self::Int(delta, default), None) => Sum::Int(default.checked_add(*delta)?),
            (Self::Int(delta, _), Some(Datum::Signed(now))) => Sum::Int(now.checked_add(*delta)?),
            (Self::Int(delta, _), Some(Datum::Unsigned(now))) => {
                return Self::fits(kind, Datum::Unsigned(now.checked_add_signed(*delta)?));
            }
            (Self::Float(delta, default), None) => Sum::Float(default + delta),
            (Self::Float(delta, _), Some(Datum::F32(now))) => Sum::Float(f64::from(now) + delta),
            (Self::Float(delta, _), Some(Datum::F64(now))) => Sum::Float(now + delta),
            _ => return None,
        };
        let datum = match (sum, kind) {
            (Sum::Int(sum), Type::Int { signed: true, .. }) => Datum::Signed(sum),
            (Sum::Int(sum), _) => Datum::Unsigned(sum.try_into().ok()?),
            (Sum::Float(sum), Type::Float { width: 4 }) => Datum::F32(sum as f32),
            (Sum::Float(sum), _) => Datum::F64(sum),
        };
        Self::fits(kind, datum)
    }

    fn fits(kind: &Type, datum: Datum<'static>) -> Option<Datum<'static>> {
        kind.encode(&datum, &mut Vec::new()).is_ok().then_some(datum)
    }
}

enum Sum {
    Int(i128),
    Float(f64),
}
