//! Arrays of numbers, and the words that stand for their elements.

use endura::Value;
use endura::dynamic::Type;
use pyo3::buffer::{Element, PyBuffer};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyList};

use super::numpy::expect_unmasked;

/// Calls a generic function with the number type that `$kind` is, or returns `$other` if `$kind` is not a number type.
macro_rules! for_number {
    ($kind:expr, $function:ident($($argument:expr),*), $other:expr) => {
        match $kind {
            Type::Int { width: 1, signed: true } => $function::<i8>($($argument),*),
            Type::Int { width: 2, signed: true } => $function::<i16>($($argument),*),
            Type::Int { width: 4, signed: true } => $function::<i32>($($argument),*),
            Type::Int { width: 8, signed: true } => $function::<i64>($($argument),*),
            Type::Int { width: 1, signed: false } => $function::<u8>($($argument),*),
            Type::Int { width: 2, signed: false } => $function::<u16>($($argument),*),
            Type::Int { width: 4, signed: false } => $function::<u32>($($argument),*),
            Type::Int { width: 8, signed: false } => $function::<u64>($($argument),*),
            Type::Float { width: 4 } => $function::<f32>($($argument),*),
            Type::Float { width: 8 } => $function::<f64>($($argument),*),
            _ => $other,
        }
    };
}

/// A type of numbers that the elements of an array can have.
trait Number: Element + Default + for<'a> Value<Ref<'a> = Self, Owned = Self> {
    /// NumPy's name of the type.
    const DTYPE: &'static str;

    fn write(self, out: &mut Vec<u8>);
}

macro_rules! numbers {
    ($($type:ty, $dtype:literal;)*) => { $(
        impl Number for $type {
            const DTYPE: &'static str = $dtype;

            fn write(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_ne_bytes());
            }
        }
    )* };
}

numbers! {
    i8, "int8"; i16, "int16"; i32, "int32"; i64, "int64";
    u8, "uint8"; u16, "uint16"; u32, "uint32"; u64, "uint64";
    f32, "float32"; f64, "float64";
}

/// The first characters of a buffer's format that mean another byte order than that of this machine.
const SWAPPED: &[u8] = if cfg!(target_endian = "big") { b"<" } else { b">!" };

/// The elements of an array of numbers.
pub(crate) struct Numbers {
    /// The words that stand for the elements.
    pub(crate) words: Vec<u64>,
}

impl Numbers {
    /// The elements of an array, if the array has one dimension and its elements are of this type.
    pub(crate) fn of(kind: &Type, array: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        if array.is_instance_of::<PyList>() {
            return Ok(None);
        }
        expect_unmasked(array)?;
        let words = for_number!(kind, words(array), Ok(None))?;
        Ok(words.map(|words| Self { words }))
    }

    /// Whether the elements of an array can have this type.
    pub(crate) fn are(kind: &Type) -> bool {
        for_number!(kind, is_number(), false)
    }

    /// A NumPy array of these numbers, with 0 in place of `None`.
    pub(crate) fn array<'py>(
        py: Python<'py>,
        kind: &Type,
        numbers: &[Option<u64>],
    ) -> PyResult<Bound<'py, PyAny>> {
        let (bytes, dtype) = for_number!(kind, written(numbers), (Vec::new(), "uint8"));
        from_buffer(py, &bytes, dtype)
    }
}

/// A NumPy array of truth values.
pub(crate) fn bools<'py>(py: Python<'py>, values: &[bool]) -> PyResult<Bound<'py, PyAny>> {
    let bytes: Vec<u8> = values.iter().copied().map(u8::from).collect();
    from_buffer(py, &bytes, "bool")
}

/// A NumPy array of the objects in a list, whatever they are.
pub(crate) fn objects<'py>(list: &Bound<'py, PyList>) -> PyResult<Bound<'py, PyAny>> {
    let numpy = list.py().import(intern!(list.py(), "numpy"))?;
    numpy.call_method1(intern!(list.py(), "fromiter"), (list, "O", list.len()))
}

fn is_number<T: Number>() -> bool {
    true
}

fn words<T: Number>(array: &Bound<'_, PyAny>) -> PyResult<Option<Vec<u64>>> {
    let Ok(buffer) = PyBuffer::<T>::get(array) else { return Ok(None) };
    // PyO3 would read numbers in another byte order as if they were in that of this machine.
    let is_swapped =
        buffer.format().to_bytes().first().is_some_and(|order| SWAPPED.contains(order));
    if buffer.dimensions() != 1 || is_swapped {
        return Ok(None);
    }
    let numbers = buffer.to_vec(array.py())?;
    Ok(Some(numbers.into_iter().map(|number| T::to_word(number)).collect()))
}

fn written<T: Number>(numbers: &[Option<u64>]) -> (Vec<u8>, &'static str) {
    let mut out = Vec::with_capacity(numbers.len() * size_of::<T>());
    for word in numbers {
        // Any word is a number of this type.
        word.and_then(|word| T::from_word(word).ok()).unwrap_or_default().write(&mut out);
    }
    (out, T::DTYPE)
}

fn from_buffer<'py>(py: Python<'py>, bytes: &[u8], dtype: &str) -> PyResult<Bound<'py, PyAny>> {
    let numpy = py.import(intern!(py, "numpy"))?;
    numpy.call_method1(intern!(py, "frombuffer"), (PyByteArray::new(py, bytes), dtype))
}
