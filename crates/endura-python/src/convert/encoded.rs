//! Encodings of objects, without a copy if the object has the bytes of its encoding.

use std::ops::Deref;

use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::sync::PyOnceLock;

use super::numpy::expect_unmasked;

/// The encoding of an object.
pub(crate) enum Encoded<'a> {
    /// Bytes of a `str` or a `bytes`, which cannot change.
    Lent(&'a [u8]),
    /// A number of 8 bytes.
    Word([u8; 8]),
    Own(Vec<u8>),
    /// The `str` that the function of a codec returned.
    Text(PyBackedStr),
    /// The `bytes` that the function of a codec returned.
    Bytes(PyBackedBytes),
    Buffer(Buffer),
}

impl Encoded<'_> {
    /// Whether the bytes cannot change while other threads run Python.
    pub(crate) fn is_constant(&self) -> bool {
        !matches!(self, Self::Buffer(_))
    }

    /// These bytes, copied if other threads could change them.
    pub(crate) fn constant(self) -> Self {
        match self {
            Self::Buffer(buffer) => Self::Own(buffer.bytes().to_vec()),
            constant => constant,
        }
    }
}

impl Deref for Encoded<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Self::Lent(bytes) => bytes,
            Self::Word(bytes) => bytes,
            Self::Own(bytes) => bytes,
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
            Self::Buffer(buffer) => buffer.bytes(),
        }
    }
}

/// The contiguous bytes of an object other than `bytes`: a `bytearray`, a `memoryview`, an array.
pub(crate) struct Buffer(PyUntypedBuffer);

impl Buffer {
    /// The bytes of `object`, or `None` if it has no buffer. Fails if the buffer has gaps, if the elements are addresses,
    /// or if some of them are masked. A buffer that is written in Python may raise any exception, and the caller gets it.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Option<Encoded<'static>>> {
        if !has_buffer(object) {
            return Ok(None);
        }
        let buffer = PyUntypedBuffer::get(object).map_err(|error| {
            let py = object.py();
            match error.is_instance_of::<PyBufferError>(py) {
                true => {
                    let text = format!("this buffer cannot be read: {}", error.value(py));
                    let refused = PyTypeError::new_err(text);
                    refused.set_cause(py, Some(error));
                    refused
                }
                false => error,
            }
        })?;
        if !buffer.is_c_contiguous() {
            return Err(PyTypeError::new_err(
                "the elements of this buffer do not follow one another: give `bytes(...)` of it",
            ));
        }
        if has_addresses(buffer.format().to_bytes()) {
            return Err(PyTypeError::new_err(
                "the elements of this buffer are addresses in this process, and no data",
            ));
        }
        expect_unmasked(object)?;
        let buffer = Self(buffer);
        Ok(Some(if threads_take_turns(object.py())? {
            Encoded::Buffer(buffer)
        } else {
            Encoded::Own(buffer.bytes().to_vec())
        }))
    }

    fn bytes(&self) -> &[u8] {
        let bytes = self.0.len_bytes();
        if bytes == 0 {
            return &[];
        }
        // SAFETY: the buffer is contiguous, and has `bytes` bytes as long as it is held. Only a thread that is attached to the
        // interpreter may write to it. This thread is attached, and stays so while it has this reference
        // (`Encoded::is_constant`). If threads do not take turns, the reference lives for one copy.
        unsafe { std::slice::from_raw_parts(self.0.buf_ptr().cast_const().cast(), bytes) }
    }
}

/// Whether an object has a buffer.
pub(super) fn has_buffer(object: &Bound<'_, PyAny>) -> bool {
    // SAFETY: this thread is attached, and the object lives as long as the borrow of it.
    unsafe { ffi::PyObject_CheckBuffer(object.as_ptr()) != 0 }
}

/// Whether the elements in a buffer's format are addresses: of objects, of C strings, of anything else. The format is one
/// that `struct`, NumPy or `ctypes` writes.
fn has_addresses(format: &[u8]) -> bool {
    let mut rest = format.iter();
    while let Some(code) = rest.next() {
        match code {
            // The name of a field, up to the next colon.
            b':' => {
                rest.find(|&&byte| byte == b':');
            }
            // A complex number, or a pointer to wide characters.
            b'Z' if matches!(rest.as_slice().first(), Some(b'f' | b'd' | b'g')) => {
                rest.next();
            }
            b'O' | b'P' | b'z' | b'Z' | b'&' | b'X' => return true,
            _ => {}
        }
    }
    false
}

/// Whether only one thread at a time runs Python. In a free-threaded build that is not so.
fn threads_take_turns(py: Python<'_>) -> PyResult<bool> {
    static TAKE_TURNS: PyOnceLock<bool> = PyOnceLock::new();
    let found = TAKE_TURNS.get_or_try_init(py, || {
        let sys = py.import("sys")?;
        match sys.getattr_opt("_is_gil_enabled")? {
            Some(is_enabled) => is_enabled.call0()?.is_truthy(),
            None => Ok(true),
        }
    });
    found.copied()
}
