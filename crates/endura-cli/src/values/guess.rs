//! The types of a new map, from its first key and value.
//!
//! A type is guessed only if it prints the first key or value exactly as it was read. All later entries must meet the
//! same rule ([`Reading::Exact`]).

use endura::Types;

use endura::dynamic::Type;

use crate::values::json::{self, Shape, elements, hex_object, shape};
use crate::values::notation::Notation;
use crate::values::scalar::{self, Reading};

/// Where the type of the keys, or values, of an import comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The command line.
    Named,
    /// The existing map.
    Recorded,
    /// The first entry.
    Guessed,
}

impl Origin {
    /// Which texts are accepted for such a key or value. Only the user knows whether `00501` is a number.
    pub(crate) fn reading(self) -> Reading {
        if self == Self::Named { Reading::Lenient } else { Reading::Exact }
    }
}

/// The types of a map, and where each comes from.
#[derive(Debug, Clone)]
pub(crate) struct Chosen {
    pub(crate) types: Types,
    pub(crate) key: Origin,
    pub(crate) value: Origin,
}

/// The name of the type for a key.
pub(crate) fn key(notation: Notation, text: &[u8], is_integer: bool) -> Result<String, String> {
    let name = match notation {
        Notation::Json => json_type(text, 0),
        Notation::Binary if is_integer => lmdb_integer(text),
        _ => text_type(notation, text),
    };
    if name == "json" {
        return Err("no key: keys are numbers, strings, bytes, or arrays of two to four of them (a number that neither \
                    128 bits nor f64 hold exactly is a key as a string, or with --keys f64)"
            .into());
    }
    Ok(name)
}

/// The name of the type for a value.
pub(crate) fn value(notation: Notation, text: &[u8], has_integer_key: bool) -> String {
    match notation {
        Notation::Json => json_type(text, 1),
        Notation::Binary if has_integer_key && matches!(text.len(), 4 | 8) => lmdb_integer(text),
        Notation::Plain if text.is_empty() => "()".into(),
        _ => text_type(notation, text),
    }
}

/// LMDB has unsigned integers of two widths.
fn lmdb_integer(bytes: &[u8]) -> String {
    if bytes.len() == 4 { "u32".into() } else { "u64".into() }
}

fn text_type(notation: Notation, text: &[u8]) -> String {
    let is = |name: &str| name.to_owned();
    if notation == Notation::Binary {
        return is("[u8]");
    }
    match str::from_utf8(text) {
        Err(_) => is("[u8]"),
        Ok(text) => match int_type(text) {
            Some(name) => is(name),
            None if notation == Notation::Escaped && has_other_bytes(text) => is("[u8]"),
            None => is("str"),
        },
    }
}

/// The narrowest type of whole numbers that prints a number as this text. A text that would be printed differently is
/// not a number: `007`, `+1`.
fn int_type(text: &str) -> Option<&'static str> {
    ["u64", "i64", "u128", "i128"].into_iter().find(|name| is_exact(name, text))
}

fn is_exact(name: &str, text: &str) -> bool {
    scalar::parse(&Type::named(name), text, Reading::Exact).is_some_and(|parsed| parsed.is_ok())
}

/// Whether a text with escapes decodes to bytes that are not UTF-8.
fn has_other_bytes(text: &str) -> bool {
    let bytes = crate::values::escape::unescape(text.as_bytes());
    bytes.is_ok_and(|bytes| str::from_utf8(&bytes).is_err())
}

/// The name of the type for a JSON text; `json` if no other type fits.
fn json_type(text: &[u8], depth: usize) -> String {
    match str::from_utf8(text) {
        Ok(text) if json::parse(&Type::Json, text, Reading::Exact).is_ok() => type_of(text, depth),
        // The code that reads the text reports the flaw.
        _ => "str".into(),
    }
}

fn type_of(text: &str, depth: usize) -> String {
    let text = text.trim_ascii();
    let name = match shape(text) {
        Shape::Number => number_type(text),
        Shape::String => "str",
        Shape::Bool => "bool",
        Shape::Object if matches!(hex_object(text), Some(Ok(_))) => "[u8]",
        Shape::Array if depth == 0 => {
            let parts = elements(text).unwrap_or_default();
            let names: Vec<_> = parts.iter().map(|part| type_of(part, 1)).collect();
            if (2..=4).contains(&names.len()) && names.iter().all(|name| name != "json") {
                return format!("({})", names.join(", "));
            }
            "json"
        }
        _ => "json",
    };
    name.into()
}

/// A text of digits only is a whole number, which an `f64` could at best hold in part.
fn number_type(text: &str) -> &'static str {
    let is_float = text.contains(['.', 'e', 'E']) || text == "-0";
    match int_type(text) {
        Some(name) => name,
        None if is_float && is_exact("f64", text) => "f64",
        None => "json",
    }
}
