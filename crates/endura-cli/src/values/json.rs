//! Keys and values as JSON. Some types, such as tuples, are written as JSON also where other types are plain text.
//!
//! | type | in JSON |
//! | --- | --- |
//! | numbers, truth values | as such; numbers of more than 64 bits, NaN and the infinities as strings |
//! | `str`, `char` | a string |
//! | bytes | a string if they are UTF-8, otherwise `{"hex":"DIGITS"}` |
//! | `()` | `null` |
//! | tuples | an array |
//! | `Option` | `null`, or the value in it (in an array of one, if that value may be `null` too) |
//! | `json` | itself |
//! | others | `{"type":"NAME","hex":"DIGITS"}` |
//!
//! Numbers are parsed from their digits: a `serde_json::Value` would round those of more than 64 bits.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use endura::dynamic::{Datum, Type};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;
use serde_json::value::RawValue;

use crate::values::escape::{BOM, from_hex, push_hex, shown};
use crate::values::scalar::{self, Reading};

/// The kind of a JSON value, by its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Null,
    Bool,
    Number,
    String,
    Array,
    Object,
}

/// The shape of a JSON text.
pub(crate) fn shape(text: &str) -> Shape {
    match text.trim_ascii_start().as_bytes().first() {
        Some(b'n') => Shape::Null,
        Some(b't' | b'f') => Shape::Bool,
        Some(b'"') => Shape::String,
        Some(b'[') => Shape::Array,
        Some(b'{') => Shape::Object,
        _ => Shape::Number,
    }
}

/// The representation of bytes that are not UTF-8, and of types that this command does not know.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Hex {
    hex: String,
    #[serde(default, rename = "type")]
    _name: Option<IgnoredAny>,
}

/// The texts of the elements of an array.
pub(crate) fn elements(text: &str) -> Result<Vec<&str>, String> {
    let parts: Vec<&RawValue> = serde_json::from_str(text).map_err(|error| wrong(text, &error))?;
    Ok(parts.into_iter().map(RawValue::get).collect())
}

/// The bytes of an object `{"hex":"DIGITS"}`; `None` if it is another object.
pub(crate) fn hex_object(text: &str) -> Option<Result<Vec<u8>, String>> {
    let found: Hex = serde_json::from_str(text).ok()?;
    Some(from_hex(found.hex.as_bytes()))
}

fn wrong(text: &str, error: &serde_json::Error) -> String {
    format!("`{}` is no JSON: {error}", shown(text.as_bytes()))
}

fn string(text: &str) -> Result<String, String> {
    serde_json::from_str(text).map_err(|error| wrong(text, &error))
}

/// Parses the JSON text of a key or a value.
pub(crate) fn parse(kind: &Type, text: &str, reading: Reading) -> Result<Datum<'static>, String> {
    let whole: &RawValue = serde_json::from_str(text).map_err(|error| wrong(text, &error))?;
    if *kind == Type::Json {
        // The text is kept unchanged, because JSON has numbers that no type here can hold.
        return Ok(Datum::Str(text.trim_ascii().to_owned().into()));
    }
    datum(kind, whole.get(), reading)
}

/// Converts a JSON text to a value.
fn datum(kind: &Type, text: &str, reading: Reading) -> Result<Datum<'static>, String> {
    Ok(match (kind, shape(text)) {
        (Type::Int { width: 16, .. } | Type::Float { .. }, Shape::String) => {
            let datum = number(kind, &string(text)?, reading)?;
            if reading == Reading::Exact && is_plain_number(&datum) {
                return Err(scalar::stored_otherwise(text, &datum));
            }
            datum
        }
        (Type::Int { .. } | Type::Float { .. }, Shape::Number) => number(kind, text, reading)?,
        (Type::Bool, Shape::Bool) => Datum::Bool(text == "true"),
        (Type::Unit, Shape::Null) => Datum::Unit,
        (Type::Char, Shape::String) => Datum::Char(one_char(&string(text)?)?),
        (Type::Str, Shape::String) => Datum::Str(string(text)?.into()),
        (Type::Bytes | Type::Array(_) | Type::Unknown(_), _) => {
            Datum::Bytes(bytes_of(text)?.into())
        }
        (Type::Option(_), Shape::Null) => Datum::Option(None),
        (Type::Option(inner), found) => {
            let text = match found {
                Shape::Array if may_be_null(inner) => match elements(text)?[..] {
                    [one] => one,
                    _ => return Err("an array of one is expected".into()),
                },
                _ => text,
            };
            Datum::Option(Some(Box::new(datum(inner, text, reading)?)))
        }
        (Type::Reverse(inner), _) => datum(inner, text, reading)?,
        (Type::Tuple(types), Shape::Array) => {
            let texts = elements(text)?;
            if texts.len() != types.len() {
                return Err(unexpected(kind, text));
            }
            let parts = types.iter().zip(texts).map(|(kind, text)| datum(kind, text, reading));
            Datum::Tuple(parts.collect::<Result<_, _>>()?)
        }
        (Type::Str, Shape::Number) => {
            let text = shown(text.as_bytes());
            return Err(format!("a string is expected, not a number: write \"{text}\""));
        }
        _ => return Err(unexpected(kind, text)),
    })
}

fn number(kind: &Type, text: &str, reading: Reading) -> Result<Datum<'static>, String> {
    scalar::parse(kind, text, reading).unwrap_or_else(|| Err("no number".into()))
}

fn may_be_null(kind: &Type) -> bool {
    match kind {
        Type::Unit | Type::Option(_) => true,
        Type::Reverse(inner) => may_be_null(inner),
        _ => false,
    }
}

/// The error for a JSON value that is not of this type, with what one looks like.
fn unexpected(kind: &Type, text: &str) -> String {
    let expected = match kind {
        Type::Int { .. } | Type::Float { .. } => "a number is expected".into(),
        Type::Bool => "true or false is expected".into(),
        Type::Unit => "null is expected".into(),
        Type::Tuple(parts) => format!("an array of {} is expected", parts.len()),
        _ => "a string is expected".into(),
    };
    format!("{expected}, not `{}`", shown(text.as_bytes()))
}

fn bytes_of(text: &str) -> Result<Vec<u8>, String> {
    const EXPECTED: &str =
        "a string is expected, or {\"hex\":\"DIGITS\"} for bytes that are not UTF-8";
    match shape(text) {
        Shape::String => string(text).map(String::into_bytes),
        Shape::Object => hex_object(text).unwrap_or_else(|| Err(EXPECTED.into())),
        Shape::Number => {
            let text = shown(text.as_bytes());
            Err(format!("{EXPECTED}, not a number: write \"{text}\""))
        }
        _ => Err(EXPECTED.into()),
    }
}

/// The single character of a text.
pub(crate) fn one_char(text: &str) -> Result<char, String> {
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (Some(c), None) => Ok(c),
        _ => Err(format!("`{}` is not one character", shown(text.as_bytes()))),
    }
}

/// Appends the JSON text of a value.
pub(crate) fn write(kind: &Type, datum: &Datum<'_>, out: &mut Vec<u8>) -> Result<(), String> {
    match (kind, datum) {
        (Type::Reverse(inner), _) => write(inner, datum, out)?,
        (Type::Option(_), Datum::Option(None)) => out.extend_from_slice(b"null"),
        (Type::Option(inner), Datum::Option(Some(datum))) if may_be_null(inner) => {
            out.push(b'[');
            write(inner, datum, out)?;
            out.push(b']');
        }
        (Type::Option(inner), Datum::Option(Some(datum))) => write(inner, datum, out)?,
        (Type::Tuple(types), Datum::Tuple(parts)) => {
            for (i, (kind, part)) in types.iter().zip(parts).enumerate() {
                out.push(if i == 0 { b'[' } else { b',' });
                write(kind, part, out)?;
            }
            out.push(b']');
        }
        (Type::Json, Datum::Str(text)) => {
            serde_json::from_str::<IgnoredAny>(text).map_err(|error| error.to_string())?;
            // Control characters occur only between values: inside strings they are escaped.
            out.extend(text.bytes().map(|byte| if byte < b' ' { b' ' } else { byte }));
        }
        (Type::Unknown(name), Datum::Bytes(bytes)) => {
            let whole = json!({ "type": name, "hex": hex(bytes) });
            out.extend_from_slice(whole.to_string().as_bytes());
        }
        (_, Datum::Unit) => out.extend_from_slice(b"null"),
        (_, Datum::Char(c)) => quote(c.encode_utf8(&mut [0; 4]), out),
        (_, Datum::Str(text)) => quote(text, out),
        (_, Datum::Bytes(bytes)) => match str::from_utf8(bytes) {
            Ok(text) => quote(text, out),
            Err(_) => out.extend_from_slice(bytes_json(bytes).to_string().as_bytes()),
        },
        _ => match scalar::text(datum) {
            Some(text) if is_plain_number(datum) => out.extend_from_slice(text.as_bytes()),
            Some(text) => quote(&text, out),
            None => return Err("a value of another type".into()),
        },
    }
    Ok(())
}

/// Whether the text of a scalar is also valid JSON, with a meaning that other programs do not round.
fn is_plain_number(datum: &Datum<'_>) -> bool {
    match *datum {
        Datum::Unsigned(number) => u64::try_from(number).is_ok(),
        Datum::Signed(number) => i64::try_from(number).is_ok() || u64::try_from(number).is_ok(),
        Datum::F32(number) => number.is_finite(),
        Datum::F64(number) => number.is_finite(),
        Datum::Bool(_) => true,
        _ => false,
    }
}

/// Appends the text of a string in quotes. JSON escapes the control characters of ASCII; terminals obey others as well.
fn quote(text: &str, out: &mut Vec<u8>) {
    let quoted = serde_json::Value::from(text).to_string();
    let mut rest = &*quoted;
    while let Some(at) = rest.find(|c: char| c.is_control() || c == BOM) {
        let (before, behind) = rest.split_at(at);
        out.extend_from_slice(before.as_bytes());
        let mut chars = behind.chars();
        let number = chars.next().map_or(0, u32::from);
        out.extend_from_slice(format!("\\u{number:04x}").as_bytes());
        rest = chars.as_str();
    }
    out.extend_from_slice(rest.as_bytes());
}

/// Bytes as a JSON value. A string is never mistaken for something else.
fn bytes_json(bytes: &[u8]) -> serde_json::Value {
    match str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => json!({ "hex": hex(bytes) }),
    }
}

/// The name of a file in JSON, for any bytes.
pub(crate) fn path_json(path: &Path) -> serde_json::Value {
    bytes_json(path.as_os_str().as_bytes())
}

fn hex(bytes: &[u8]) -> String {
    let mut digits = Vec::with_capacity(2 * bytes.len());
    bytes.iter().for_each(|&byte| push_hex(byte, &mut digits));
    String::from_utf8_lossy(&digits).into_owned()
}
