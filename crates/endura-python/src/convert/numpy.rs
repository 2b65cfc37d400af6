//! Objects of NumPy, recognized without importing it: a program that has such objects has imported it.

use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// A module, if the program has imported it.
fn imported<'py>(name: &Bound<'py, PyString>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let modules =
        name.py().import(intern!(name.py(), "sys"))?.getattr(intern!(name.py(), "modules"))?;
    let found = modules.call_method1(intern!(name.py(), "get"), (name,))?;
    Ok((!found.is_none()).then_some(found))
}

/// Whether an object is an array of NumPy.
pub(crate) fn is_numpy(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = object.py();
    match imported(intern!(py, "numpy"))? {
        Some(numpy) => object.is_instance(&numpy.getattr(intern!(py, "ndarray"))?),
        None => Ok(false),
    }
}

/// Whether an object is a truth value of NumPy.
pub(super) fn is_numpy_bool(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = object.py();
    match imported(intern!(py, "numpy"))? {
        Some(numpy) => object.is_instance(&numpy.getattr(intern!(py, "bool_"))?),
        None => Ok(false),
    }
}

/// Fails for an array that has masked elements. Masked elements have a value too, but it means nothing.
pub(crate) fn expect_unmasked(object: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = object.py();
    let Some(masked) = imported(intern!(py, "numpy.ma"))? else { return Ok(()) };
    if !object.is_instance(&masked.getattr(intern!(py, "MaskedArray"))?)? {
        return Ok(());
    }
    match masked.getattr(intern!(py, "is_masked"))?.call1((object,))?.is_truthy()? {
        true => Err(PyValueError::new_err(
            "the array has masked elements: give `filled(value)` or `compressed()` of it",
        )),
        false => Ok(()),
    }
}
