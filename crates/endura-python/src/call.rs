//! Calls of Python from which a thread may not come back.
//!
//! When the interpreter ends, a daemon thread that wants its lock is taken away: before Python 3.14 by `pthread_exit`, which
//! unwinds the stack, and aborts the process where it meets frames of Rust. So whatever runs functions of a program goes
//! through here. A guard that the unwinding reaches first keeps the thread where it is, without the lock, until the process
//! ends; Python 3.14 does the same itself, and PyO3 where a thread attaches. What Python runs by other ways, the `__index__` of a
//! number that is no `int` or a `__del__`, is not guarded.

use std::hint::black_box;
use std::{ptr, thread};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyTuple};

/// Keeps a thread that is unwound.
struct Stay;

impl Drop for Stay {
    fn drop(&mut self) {
        loop {
            thread::park();
        }
    }
}

type Object = *mut ffi::PyObject;

// As in `pyo3::ffi`, except that they may unwind.
unsafe extern "C-unwind" {
    fn PyObject_Call(function: Object, arguments: Object, named: Object) -> Object;
    fn PyIter_Next(iterator: Object) -> Object;
}

// The compiler believes any declaration of a function that says it does not unwind, and PyO3 has such. It has none of a function
// behind a pointer.
/// `function(*arguments)`.
pub(crate) fn call<'py>(
    function: &Bound<'py, PyAny>,
    arguments: impl IntoPyObject<
        'py,
        Target = PyTuple,
        Output = Bound<'py, PyTuple>,
        Error: Into<PyErr>,
    >,
) -> PyResult<Bound<'py, PyAny>> {
    let arguments = arguments.into_pyobject(function.py()).map_err(Into::into)?;
    let run = black_box(PyObject_Call as unsafe extern "C-unwind" fn(_, _, _) -> _);
    let stay = Stay;
    // SAFETY: this thread is attached, and both objects live as long as the borrows of them. No name is given.
    let returned = unsafe { run(function.as_ptr(), arguments.as_ptr(), ptr::null_mut()) };
    std::mem::forget(stay);
    // SAFETY: the call returned a reference of ours, or null and an exception.
    unsafe { Bound::from_owned_ptr_or_err(function.py(), returned) }
}

/// `next(iterator)`, or `None` at its end.
pub(crate) fn next<'py>(iterator: &Bound<'py, PyIterator>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = iterator.py();
    let run = black_box(PyIter_Next as unsafe extern "C-unwind" fn(_) -> _);
    let stay = Stay;
    // SAFETY: this thread is attached, and the object, an iterator, lives as long as the borrow of it.
    let returned = unsafe { run(iterator.as_ptr()) };
    std::mem::forget(stay);
    // SAFETY: the call returned a reference of ours, or null; then there is an exception, or the iterator is at its end.
    match unsafe { Bound::from_owned_ptr_or_opt(py, returned) } {
        None => PyErr::take(py).map_or(Ok(None), Err),
        item => Ok(item),
    }
}
