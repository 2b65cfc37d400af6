//! Makes objects from encodings.

use endura::dynamic::{Datum, Type};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyString, PyTuple};

use crate::error::failure;

/// The object of an encoding.
pub(super) fn object<'py>(
    py: Python<'py>,
    kind: &Type,
    encoded: &[u8],
) -> PyResult<Bound<'py, PyAny>> {
    match kind {
        Type::Str => match PyString::from_bytes(py, encoded) {
            Ok(text) => Ok(text.into_any()),
            // The library's error says what is wrong with the entry.
            Err(_) => of_datum(py, kind.decode(encoded).map_err(failure)?),
        },
        Type::Bytes | Type::Unknown(_) => Ok(PyBytes::new(py, encoded).into_any()),
        _ => of_datum(py, kind.decode(encoded).map_err(failure)?),
    }
}

fn of_datum<'py>(py: Python<'py>, datum: Datum<'_>) -> PyResult<Bound<'py, PyAny>> {
    Ok(match datum {
        Datum::Unit | Datum::Option(None) => py.None().into_bound(py),
        Datum::Bool(value) => PyBool::new(py, value).to_owned().into_any(),
        Datum::Unsigned(value) => match u64::try_from(value) {
            Ok(value) => value.into_pyobject(py)?.into_any(),
            Err(_) => value.into_pyobject(py)?.into_any(),
        },
        Datum::Signed(value) => match i64::try_from(value) {
            Ok(value) => value.into_pyobject(py)?.into_any(),
            Err(_) => value.into_pyobject(py)?.into_any(),
        },
        Datum::F32(value) => PyFloat::new(py, value.into()).into_any(),
        Datum::F64(value) => PyFloat::new(py, value).into_any(),
        Datum::Char(value) => PyString::new(py, value.encode_utf8(&mut [0; 4])).into_any(),
        Datum::Str(text) => PyString::new(py, &text).into_any(),
        Datum::Bytes(bytes) => PyBytes::new(py, &bytes).into_any(),
        Datum::Option(Some(value)) => of_datum(py, *value)?,
        Datum::Tuple(parts) => {
            let parts = parts.into_iter().map(|part| of_datum(py, part));
            PyTuple::new(py, parts.collect::<PyResult<Vec<_>>>()?)?.into_any()
        }
    })
}
