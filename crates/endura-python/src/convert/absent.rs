//! The object that stands for no value in maps whose values may be `None`.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// `endura.ABSENT`.
pub(crate) fn absent(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static ABSENT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let found = ABSENT.get_or_try_init(py, || {
        let module = py.import(intern!(py, "endura._absent"))?;
        Ok::<_, PyErr>(module.getattr(intern!(py, "ABSENT"))?.unbind())
    });
    found.map(|absent| absent.bind(py))
}
