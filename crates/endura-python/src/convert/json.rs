//! Refuses objects that JSON does not give back as they were.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyMapping, PyString, PyTuple};

/// Fails for an object that comes back from JSON as another one: keys that are not `str` come back as `str`, so that two keys
/// may become one, and tuples come back as lists. The encoder must have written the object before, so it has no cycles.
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
            // A class may have an `items` of its own. The encoder calls that too.
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
