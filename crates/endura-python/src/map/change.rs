//! Operations that read a value and write another one, in one step.
//!
//! Functions of Python run outside of any operation of the library, so a function that blocks holds up no other thread.

use endura::dynamic::{Datum, Type};
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;

use super::open_map::OpenMap;
use super::runs::Runs;
use crate::call::call;
use crate::convert::{absent, float, integer};
use crate::error::failure;

impl OpenMap {
    /// The object that a function gets in place of a missing value.
    pub(crate) fn absent<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.value.has_none() {
            true => absent(py).cloned(),
            false => Ok(py.None().into_bound(py)),
        }
    }

    /// Whether an object stands for no value: `ABSENT` does, and `None` in maps whose values cannot be `None`.
    fn is_absent(&self, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(value.is(absent(value.py())?) || (value.is_none() && !self.value.has_none()))
    }

    /// The encoding of a value, or `None` for an object that stands for no value.
    pub(crate) fn encoding(&self, value: &Bound<'_, PyAny>) -> PyResult<Option<Vec<u8>>> {
        match self.is_absent(value)? {
            true => Ok(None),
            false => Ok(Some(self.value.encode(value)?.to_vec())),
        }
    }

    /// Replaces a value that equals `expected`; returns whether it did.
    pub(crate) fn compare_exchange(
        &self,
        key: &Bound<'_, PyAny>,
        expected: &Bound<'_, PyAny>,
        new: &Bound<'_, PyAny>,
    ) -> PyResult<bool> {
        let (py, key) = (key.py(), self.key.encode(key)?.constant());
        let new = self.encoding(new)?;
        if !self.value.has_codec() || self.is_absent(expected)? {
            let expected = self.encoding(expected)?;
            return Ok(self.exchange(&key, expected.as_deref(), new.as_deref())?.is_ok());
        }
        // With a codec, one value may have several encodings, and another program may have written another encoding of
        // it. So the objects are compared.
        let (mut found, mut runs) = (self.read(&key)?.map(Vec::from), Runs::default());
        loop {
            let Some(old) = found else { return Ok(false) };
            runs.begin();
            if !self.value.decode(py, &old)?.eq(expected)? {
                return Ok(false);
            }
            match self.exchange(&key, Some(&old), new.as_deref())? {
                Ok(()) => return Ok(true),
                Err(now) => found = now,
            }
            runs.end(py)?;
        }
    }

    /// Gives a key the value that `change` returns for its present one.
    pub(crate) fn alter<'py>(
        &self,
        key: &Bound<'py, PyAny>,
        change: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        // The encoding is copied, because the key may be a buffer to which `change` writes.
        let (py, key) = (key.py(), self.key.encode(key)?.constant());
        let (mut old, mut runs) = (self.read(&key)?.map(Vec::from), Runs::default());
        loop {
            runs.begin();
            let seen = match &old {
                Some(old) => self.value.decode(py, old)?,
                None => self.absent(py)?,
            };
            let new = call(change, (seen,))?;
            let encoded = self.encoding(&new)?;
            match self.exchange(&key, old.as_deref(), encoded.as_deref())? {
                Ok(()) => return Ok(new),
                Err(found) => old = found,
            }
            runs.end(py)?;
        }
    }

    /// Adds to the number that is the value of a key.
    pub(crate) fn incr<'py>(
        &self,
        key: &Bound<'py, PyAny>,
        delta: &Bound<'py, PyAny>,
        default: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, key) = (key.py(), self.key.encode(key)?);
        let kind = self.value.kind();
        let add = match kind {
            Type::Int { .. } if self.value.is_numbers() => {
                let number = |object| integer(object).map_err(|e| self.value.refused(object, e));
                Delta::Int(number(delta)?, number(default)?)
            }
            Type::Float { .. } => {
                let number = |object| float(object).map_err(|e| self.value.refused(object, e));
                Delta::Float(number(delta)?, number(default)?)
            }
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
            // The object is made before the write: if it cannot be made, nothing has been added.
            let made = self.value.decode(py, &new)?;
            match self.exchange(&key, old.as_deref(), Some(&new))? {
                Ok(()) => return Ok(made),
                Err(found) => old = found,
            }
        }
    }
}

/// The number that is added, and the one that it is added to if the key is missing.
enum Delta {
    Int(i128, i128),
    Float(f64, f64),
}

impl Delta {
    /// The sum, or `None` if it is out of the range of the type.
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
