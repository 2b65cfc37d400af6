//! What JSON does not give back.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyMapping, PyString, PyTuple};

/// Fails for an object that JSON has written otherwise: keys that are no `str` come back as one, where two may become one
/// key, and tuples as lists. For objects of which the encoder has made a text, so that they have an end.
#[pyfunction]
#[pyo3(name = "_expect_json")]
pub(crate) fn expect_json(value: &Bound<'_, PyAny>) -> PyResult<()> {
    let mut rest = vec![value.clone()];
    while let Some(value) = rest.pop() {
        if let Ok(list) = value.cast::<PyList>() {
            rest.extend(list.iter().filter(has_parts));
        } else if value.is_instance_of::<PyTuple>() {
            return Err(refused(&value, "comes back as a list: give a list"));
        } else if value.is_instance_of::<PyDict>() {
            // Also of a class that has `items` of its own, as the encoder does.
            for item in value.cast::<PyMapping>()?.items()? {
                let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
                if !key.is_instance_of::<PyString>() {
                    return Err(refused(&key, "as a key comes back as a str: give `str` keys"));
                }
                rest.extend(Some(value).filter(has_parts));
            }
        }
    }
    Ok(())
}

fn has_parts(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyDict>()
        || value.is_instance_of::<PyList>()
        || value.is_instance_of::<PyTuple>()
}

fn refused(object: &Bound<'_, PyAny>, why: &str) -> PyErr {
    let found = object.get_type().name().map(|name| name.to_string()).unwrap_or_default();
    PyTypeError::new_err(format!("JSON does not give back what it takes: {found} {why}"))
}
