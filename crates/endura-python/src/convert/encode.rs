//! Makes values of the library's types from objects.

use endura::dynamic::{Datum, Type};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyString, PyTuple};

use super::encoded::Buffer;
use super::numpy::{expect_unmasked, is_numpy_bool};
use crate::call::call;

/// The value of an object. Fails with `TypeError` if the object is not of the type, and with `OverflowError` or `ValueError`
/// if the type does not have its value.
pub(super) fn datum(kind: &Type, object: &Bound<'_, PyAny>) -> PyResult<Datum<'static>> {
    if let Type::Int { width: ..=8, .. } = kind
        && !object.is_instance_of::<PyInt>()
    {
        expect_unmasked(object)?;
    }
    Ok(match kind {
        Type::Int { width: ..=8, signed: true } => Datum::Signed(object.extract::<i64>()?.into()),
        Type::Int { width: ..=8, signed: false } => {
            Datum::Unsigned(object.extract::<u64>()?.into())
        }
        Type::Int { signed: true, .. } => Datum::Signed(integer(object)?),
        Type::Int { signed: false, .. } => Datum::Unsigned(integer(object)?),
        Type::Float { width: 4 } => Datum::F32(short_float(float(object)?)?),
        Type::Float { .. } => Datum::F64(float(object)?),
        Type::Bool => Datum::Bool(truth(object)?),
        Type::Unit if object.is_none() => Datum::Unit,
        Type::Unit => return Err(PyTypeError::new_err("None is expected")),
        Type::Char => {
            let text = object.cast::<PyString>()?.to_str()?;
            let mut chars = text.chars();
            match (chars.next(), chars.next()) {
                (Some(c), None) => Datum::Char(c),
                _ => return Err(PyValueError::new_err("a `char` is a `str` of one character")),
            }
        }
        Type::Str | Type::Json => {
            Datum::Str(object.cast::<PyString>()?.to_str()?.to_owned().into())
        }
        Type::Bytes | Type::Array(_) | Type::Unknown(_) => match object.cast::<PyBytes>() {
            Ok(bytes) => Datum::Bytes(bytes.as_bytes().to_vec().into()),
            Err(_) => match Buffer::of(object)? {
                Some(bytes) => Datum::Bytes(bytes.to_vec().into()),
                None => return Err(PyTypeError::new_err("bytes are expected")),
            },
        },
        Type::Option(_) if object.is_none() => Datum::Option(None),
        Type::Option(inner) => Datum::Option(Some(Box::new(datum(inner, object)?))),
        Type::Reverse(inner) => datum(inner, object)?,
        Type::Tuple(kinds) => fields(kinds, object.cast()?)?,
    })
}

/// A truth value: a `bool`, or one of NumPy.
fn truth(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    match object.cast::<PyBool>() {
        Ok(truth) => Ok(truth.is_true()),
        Err(_) if is_numpy_bool(object)? => object.is_truthy(),
        Err(other) => Err(other.into()),
    }
}

/// A number of 16 bytes. PyO3 reads such numbers only from an `int`, not from another object with `__index__`.
pub(crate) fn integer<'py, T>(object: &Bound<'py, PyAny>) -> PyResult<T>
where
    for<'a> T: FromPyObject<'a, 'py, Error = PyErr>,
{
    if object.is_instance_of::<PyInt>() {
        return object.extract();
    }
    expect_unmasked(object)?;
    let py = object.py();
    let index = py.import(intern!(py, "operator"))?.getattr(intern!(py, "index"))?;
    call(&index, (object,))?.extract()
}

fn fields(kinds: &[Type], tuple: &Bound<'_, PyTuple>) -> PyResult<Datum<'static>> {
    if tuple.len() != kinds.len() {
        let text = format!("a tuple of {} fields in place of {}", tuple.len(), kinds.len());
        return Err(PyValueError::new_err(text));
    }
    let parts = kinds.iter().zip(tuple.iter()).map(|(kind, item)| datum(kind, &item));
    Ok(Datum::Tuple(parts.collect::<PyResult<_>>()?))
}

/// Converts a number to the float that has exactly its value. Fails if there is none.
pub(crate) fn float(object: &Bound<'_, PyAny>) -> PyResult<f64> {
    if let Ok(float) = object.cast::<PyFloat>() {
        return Ok(float.value());
    }
    expect_unmasked(object)?;
    // A whole number of another class is made an `int` first, because it might round itself when it is compared with a float.
    let whole = match object.is_instance_of::<PyInt>() {
        true => Some(object.clone()),
        false => index(object)?,
    };
    let value: f64 = whole.as_ref().unwrap_or(object).extract()?;
    let is_exact = value.is_nan() || whole.as_ref().unwrap_or(object).eq(value)?;
    if is_exact { Ok(value) } else { Err(inexact()) }
}

/// The `int` of an object that is a whole number; `None` for another object.
fn index<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = object.py();
    if !object.hasattr(intern!(py, "__index__"))? {
        return Ok(None);
    }
    match call(&py.import(intern!(py, "operator"))?.getattr(intern!(py, "index"))?, (object,)) {
        Ok(whole) => Ok(Some(whole)),
        // All arrays have the method, but it fails except for an array of one whole number.
        Err(error) if error.is_instance_of::<PyTypeError>(py) => Ok(None),
        Err(error) => Err(error),
    }
}

fn short_float(value: f64) -> PyResult<f32> {
    let short = value as f32;
    match short.is_infinite() && value.is_finite() {
        true => Err(PyOverflowError::new_err(format!("{value} is out of the range of f32"))),
        false if value.is_nan() || f64::from(short) == value => Ok(short),
        false => Err(inexact()),
    }
}

fn inexact() -> PyErr {
    PyValueError::new_err("the number does not fit exactly: round it first")
}
