//! One side of a map, its keys or its values: their type, and the conversion of objects to encodings and back.

use endura::dynamic::{Type, word};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PyString, PyType};
use pyo3::{PyTraverseError, PyTypeInfo, PyVisit};

use super::decode::object;
use super::encode::datum;
use super::encoded::{Buffer, Encoded, has_buffer};
use super::misfit::{Misfit, class_name, shown};
use crate::call::call;

/// A pair of functions of Python: one makes a `str` or `bytes` from an object, the other makes an object from these.
pub(crate) struct Codec {
    pub(crate) encode: Py<PyAny>,
    pub(crate) decode: Py<PyAny>,
}

/// Functions of Python for a type whose objects are stored as another type that the library knows: dates as days. They make
/// the stored object, the object, and the stored objects of the first fields of a tuple.
pub(crate) struct StoredAs {
    pub(crate) store: Py<PyAny>,
    pub(crate) load: Py<PyAny>,
    pub(crate) store_prefix: Py<PyAny>,
}

/// The keys of a map, or its values.
pub(crate) struct Side {
    kind: Type,
    /// The recorded name of the type.
    name: String,
    /// A description for error messages: `keys of the map ...` or `values of the map ...`.
    what: String,
    codec: Option<Codec>,
    stored_as: Option<StoredAs>,
}

impl Side {
    pub(crate) fn new(kind: &Type, name: &str, what: String) -> Self {
        Self { kind: kind.clone(), name: name.to_owned(), what, codec: None, stored_as: None }
    }

    /// With functions of Python between the objects and their encodings.
    pub(crate) fn by(self, codec: Option<Codec>, stored_as: Option<StoredAs>) -> Self {
        Self { codec, stored_as, ..self }
    }

    /// Whether objects are numbers, as those of an array are.
    pub(crate) fn is_numbers(&self) -> bool {
        self.stored_as.is_none() && matches!(self.kind, Type::Int { .. } | Type::Float { .. })
    }

    pub(crate) fn kind(&self) -> &Type {
        &self.kind
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether the objects are `bytes` that equal their encodings.
    pub(crate) fn is_bytes(&self) -> bool {
        matches!((&self.kind, &self.codec), (Type::Bytes | Type::Unknown(_), None))
            && self.stored_as.is_none()
    }

    /// Whether objects are made by functions of Python, and may be changed in place.
    pub(crate) fn has_codec(&self) -> bool {
        self.codec.is_some()
    }

    /// Whether one of the keys or values may be `None`: by their type, or because a codec may accept `None`.
    pub(crate) fn has_none(&self) -> bool {
        let mut kind = &self.kind;
        while let Type::Reverse(inner) = kind {
            kind = inner;
        }
        self.has_codec() || matches!(kind, Type::Unit | Type::Option(_))
    }

    /// The encoding of an object.
    #[inline]
    pub(crate) fn encode<'a>(&self, object: &'a Bound<'_, PyAny>) -> PyResult<Encoded<'a>> {
        if let Some(stored_as) = &self.stored_as {
            return self.encode_stored(&stored_as.store, object);
        }
        self.encode_plain(object)
    }

    /// The encoding of the object that `store` makes.
    #[inline(never)]
    fn encode_stored(
        &self,
        store: &Py<PyAny>,
        object: &Bound<'_, PyAny>,
    ) -> PyResult<Encoded<'static>> {
        let stored = self.stored(store, object)?;
        Ok(Encoded::Own(self.encode_plain(&stored)?.to_vec()))
    }

    fn stored<'py>(
        &self,
        store: &Py<PyAny>,
        object: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        call(store.bind(object.py()), (object,)).map_err(|error| self.named(object.py(), error))
    }

    #[inline]
    fn encode_plain<'a>(&self, object: &'a Bound<'_, PyAny>) -> PyResult<Encoded<'a>> {
        match (&self.kind, &self.codec) {
            (Type::Str, None) => {
                if let Ok(text) = object.cast::<PyString>() {
                    return Ok(Encoded::Lent(text.to_str()?.as_bytes()));
                }
            }
            (Type::Bytes | Type::Unknown(_), None) => {
                if let Ok(bytes) = object.cast::<PyBytes>() {
                    return Ok(Encoded::Lent(bytes.as_bytes()));
                }
            }
            (Type::Int { width: 8, .. }, None) => {
                return self.plain_word(object).map(|word| Encoded::Word(word.to_be_bytes()));
            }
            _ => {}
        }
        self.encode_other(object)
    }

    /// The word that stands for an object, of a type whose encodings have at most 8 bytes.
    #[inline]
    pub(crate) fn word(&self, object: &Bound<'_, PyAny>) -> PyResult<u64> {
        match &self.stored_as {
            Some(stored_as) => self.plain_word(&self.stored(&stored_as.store, object)?),
            None => self.plain_word(object),
        }
    }

    #[inline]
    fn plain_word(&self, object: &Bound<'_, PyAny>) -> PyResult<u64> {
        if !object.is_instance_of::<PyInt>() {
            return self.encode_other(object).map(|encoded| word(&encoded));
        }
        let found = match self.kind {
            Type::Int { width: 8, signed: true } => {
                object.extract::<i64>().map(|value| (value ^ i64::MIN) as u64)
            }
            Type::Int { width: 8, signed: false } => object.extract::<u64>(),
            _ => return self.encode_other(object).map(|encoded| word(&encoded)),
        };
        found.map_err(|error| self.refused(object, error))
    }

    #[inline(never)]
    fn encode_other<'a>(&self, object: &Bound<'_, PyAny>) -> PyResult<Encoded<'a>> {
        if let Some(codec) = &self.codec {
            return encode_by(codec, object);
        }
        if let Type::Bytes | Type::Unknown(_) = self.kind
            && let Some(buffer) =
                Buffer::of(object).map_err(|error| self.named(object.py(), error))?
        {
            return Ok(buffer);
        }
        let value = datum(&self.kind, object).map_err(|error| self.refused(object, error))?;
        let mut out = Vec::new();
        match self.kind.encode(&value, &mut out) {
            Ok(()) => Ok(Encoded::Own(out)),
            // The type is right, but a number is too large, or bytes have another length.
            Err(error) => Err(self.out_of_range(object, &error)),
        }
    }

    /// The encoding of a prefix of keys: a text or bytes that they begin with, or the first fields of a tuple.
    pub(crate) fn prefix(&self, object: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
        let stored = self.stored_as.as_ref().map(|by| self.stored(&by.store_prefix, object));
        let stored = stored.transpose()?;
        let object = stored.as_ref().unwrap_or(object);
        match &self.kind {
            Type::Str | Type::Bytes | Type::Unknown(_) => Ok(self.encode_plain(object)?.to_vec()),
            Type::Tuple(kinds) => {
                let first: Vec<Bound<'_, PyAny>> = match object.cast::<pyo3::types::PyTuple>() {
                    Ok(tuple) if !matches!(kinds[0], Type::Tuple(_)) => tuple.iter().collect(),
                    _ => vec![object.clone()],
                };
                if first.len() > kinds.len() {
                    let text = format!("a prefix of {} has more fields than a key", self.what);
                    return Err(PyValueError::new_err(text));
                }
                let mut out = Vec::new();
                for (kind, part) in kinds.iter().zip(&first) {
                    let value = datum(kind, part).map_err(|error| self.refused(part, error))?;
                    let encoded = kind.encode_part(&value, &mut out);
                    encoded.map_err(|error| self.out_of_range(part, &error))?;
                }
                Ok(out)
            }
            _ => Err(PyTypeError::new_err(format!(
                "{} are `{}`: `prefix` is for `str`, `bytes` and tuples",
                self.what, self.name
            ))),
        }
    }

    /// The Python object that `encoded` stands for.
    #[inline]
    pub(crate) fn decode<'py>(
        &self,
        py: Python<'py>,
        encoded: &[u8],
    ) -> PyResult<Bound<'py, PyAny>> {
        match &self.stored_as {
            None => self.decode_plain(py, encoded),
            Some(stored_as) => call(stored_as.load.bind(py), (self.decode_plain(py, encoded)?,)),
        }
    }

    #[inline]
    fn decode_plain<'py>(&self, py: Python<'py>, encoded: &[u8]) -> PyResult<Bound<'py, PyAny>> {
        match (&self.kind, &self.codec) {
            (Type::Int { width: 8, .. }, None) if encoded.len() == 8 => {
                self.plain_of_word(py, word(encoded))
            }
            (_, None) => object(py, &self.kind, encoded),
            (_, Some(codec)) => call(codec.decode.bind(py), (object(py, self.coded(), encoded)?,)),
        }
    }

    /// The object that a word stands for.
    #[inline]
    pub(crate) fn of_word<'py>(&self, py: Python<'py>, word: u64) -> PyResult<Bound<'py, PyAny>> {
        match &self.stored_as {
            None => self.plain_of_word(py, word),
            Some(stored_as) => call(stored_as.load.bind(py), (self.plain_of_word(py, word)?,)),
        }
    }

    #[inline]
    fn plain_of_word<'py>(&self, py: Python<'py>, word: u64) -> PyResult<Bound<'py, PyAny>> {
        match self.kind {
            Type::Int { width: 8, signed: true } => {
                Ok((word as i64 ^ i64::MIN).into_pyobject(py)?.into_any())
            }
            Type::Int { width: 8, signed: false } => Ok(word.into_pyobject(py)?.into_any()),
            _ => {
                let width = self.kind.width().unwrap_or(8).min(8);
                object(py, &self.kind, &word.to_be_bytes()[8 - width..])
            }
        }
    }

    /// The type that a codec's functions make and read.
    fn coded(&self) -> &Type {
        match self.kind {
            Type::Json => &Type::Str,
            _ => &Type::Bytes,
        }
    }

    /// Reports the functions to the garbage collector.
    pub(crate) fn traverse(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        if let Some(codec) = &self.codec {
            visit.call(&codec.encode)?;
            visit.call(&codec.decode)?;
        }
        self.stored_as.as_ref().map_or(Ok(()), |stored_as| {
            visit.call(&stored_as.store)?;
            visit.call(&stored_as.load)?;
            visit.call(&stored_as.store_prefix)
        })
    }

    /// The exception for an object that is not of the type. `error` is that of its conversion.
    #[cold]
    pub(crate) fn refused(&self, object: &Bound<'_, PyAny>, error: PyErr) -> PyErr {
        let py = object.py();
        let is_plain = |of: &Bound<'_, PyType>| error.get_type(py).is(of);
        if is_plain(&PyValueError::type_object(py)) {
            return self.named(py, error);
        }
        let is_of_type = is_plain(&PyTypeError::type_object(py));
        if !is_of_type && !is_plain(&PyOverflowError::type_object(py)) {
            return error;
        }
        let Misfit { at, kind, object } = Misfit::of(&self.kind, object.clone());
        if is_of_type
            && matches!(kind, Type::Bytes | Type::Array(_) | Type::Unknown(_))
            && has_buffer(&object)
        {
            return self.named(py, error);
        }
        let place = match at.is_empty() {
            true => format!("{} are `{}`", self.what, self.name),
            false => {
                format!("{} are `{}`: field {} is `{kind}`", self.what, self.name, at.join("."))
            }
        };
        if is_of_type {
            return PyTypeError::new_err(format!("{place}, not {}", class_name(&object)));
        }
        let size = match object.lt(0) {
            Ok(true) => "too small",
            _ => "too large",
        };
        PyOverflowError::new_err(format!("{place}, and {} is {size}", shown(&object)))
    }

    /// Adds the name of the map to the text of a `TypeError` or `ValueError`.
    #[cold]
    fn named(&self, py: Python<'_>, error: PyErr) -> PyErr {
        let class = error.get_type(py);
        if !class.is(PyValueError::type_object(py)) && !class.is(PyTypeError::type_object(py)) {
            return error;
        }
        let text = format!("{} are `{}`: {}", self.what, self.name, error.value(py));
        let named = PyErr::from_type(class, text);
        named.set_cause(py, Some(error));
        named
    }

    #[cold]
    fn out_of_range(&self, object: &Bound<'_, PyAny>, error: &endura::Error) -> PyErr {
        match self.kind {
            Type::Array(_) => PyValueError::new_err(format!("{}: {error}", self.what)),
            _ => match Misfit::of(&self.kind, object.clone()) {
                Misfit { kind: Type::Array(_), at, .. } if !at.is_empty() => {
                    PyValueError::new_err(format!("{}: field {}: {error}", self.what, at.join(".")))
                }
                _ => self.refused(object, PyOverflowError::new_err("")),
            },
        }
    }
}

/// The bytes or the text that a codec makes.
fn encode_by<'a>(codec: &Codec, object: &Bound<'_, PyAny>) -> PyResult<Encoded<'a>> {
    let made = call(codec.encode.bind(object.py()), (object,))?;
    let made = match made.cast_into::<PyString>() {
        Ok(text) => return Ok(Encoded::Text(text.try_into()?)),
        Err(other) => other.into_inner(),
    };
    let made = match made.cast_into::<PyBytes>() {
        Ok(bytes) => return Ok(Encoded::Bytes(bytes.into())),
        Err(other) => other.into_inner(),
    };
    Buffer::of(&made)?.ok_or_else(|| {
        PyTypeError::new_err(format!(
            "the `encode` of a codec returned {}, not `bytes`",
            class_name(&made)
        ))
    })
}
