//! What of an object is not as a type wants it, for the texts of exceptions.

use endura::dynamic::Type;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::encode::datum;

/// The longest number, in characters, that an error message repeats.
const LONGEST_SHOWN: usize = 60;

/// The part of an object that has no encoding: the object itself, or a field of a tuple.
pub(super) struct Misfit<'t, 'py> {
    /// The number of the field, and the numbers of its fields in turn. They count from 0, as in Python.
    pub(super) at: Vec<String>,
    pub(super) kind: &'t Type,
    pub(super) object: Bound<'py, PyAny>,
}

impl<'t, 'py> Misfit<'t, 'py> {
    /// The first part of `object` that has no encoding.
    pub(super) fn of(kind: &'t Type, object: Bound<'py, PyAny>) -> Self {
        let mut found = Self { at: Vec::new(), kind, object };
        loop {
            let kinds = match found.kind {
                Type::Reverse(inner) => {
                    found.kind = inner;
                    continue;
                }
                Type::Option(inner) if !found.object.is_none() => {
                    found.kind = inner;
                    continue;
                }
                Type::Tuple(kinds) => kinds,
                _ => return found,
            };
            let Ok(tuple) = found.object.cast::<PyTuple>() else { return found };
            if tuple.len() != kinds.len() {
                return found;
            }
            let mut parts = kinds.iter().zip(tuple.iter()).enumerate();
            let Some((index, (kind, part))) = parts.find(|(_, (kind, part))| !fits(kind, part))
            else {
                return found;
            };
            found.at.push(index.to_string());
            (found.kind, found.object) = (kind, part);
        }
    }
}

fn fits(kind: &Type, object: &Bound<'_, PyAny>) -> bool {
    datum(kind, object).is_ok_and(|value| kind.encode(&value, &mut Vec::new()).is_ok())
}

/// The name of an object's class, with its module if that is not `builtins`.
pub(crate) fn class_name(object: &Bound<'_, PyAny>) -> String {
    let class = object.get_type();
    let name = class.fully_qualified_name().map(|name| name.to_string());
    name.unwrap_or_else(|_| "an object of a class without a name".to_owned())
}

/// A number for an error message. Nobody would read a long one, and Python refuses to write one of thousands of digits.
pub(super) fn shown(number: &Bound<'_, PyAny>) -> String {
    match number.repr().map(|text| text.to_string()) {
        Ok(text) if text.len() <= LONGEST_SHOWN => text,
        _ => "the number".to_owned(),
    }
}
