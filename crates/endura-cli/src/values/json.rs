//! Keys and values as JSON, and the types that text writes as JSON too.
//!
//! | type | in JSON |
//! | --- | --- |
//! | numbers, truth values | as such; numbers of more than 64 bits, and floats that are no numbers, as strings |
//! | `str`, `char` | a string |
//! | bytes | a string where they are UTF-8, else `{"hex":"DIGITS"}` |
//! | `()` | `null` |
//! | tuples | an array |
//! | `Option` | `null`, or what is in it (in an array of one where that may be `null` as well) |
//! | `json` | itself |
//! | others | `{"type":"NAME","hex":"DIGITS"}` |

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use endura::Key;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use crate::values::escape::{from_hex, push_hex, shown};
use crate::values::scalar;
use crate::values::types::Type;

/// The encoding of the JSON text of a key or a value.
pub(crate) fn parse(kind: &Type, text: &str) -> Result<Vec<u8>, String> {
    let what =
        |error: serde_json::Error| format!("`{}` is no JSON: {error}", shown(text.as_bytes()));
    let mut out = Vec::new();
    if *kind == Type::Json {
        // As it is: JSON has numbers that no type here holds.
        serde_json::from_str::<IgnoredAny>(text).map_err(what)?;
        out.extend_from_slice(text.trim_ascii().as_bytes());
    } else {
        encode(kind, &serde_json::from_str(text).map_err(what)?, false, &mut out)?;
    }
    Ok(out)
}

/// Appends the JSON text of an encoding.
pub(crate) fn write(kind: &Type, mut bytes: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
    decode(kind, &mut bytes, false, out)?;
    if bytes.is_empty() { Ok(()) } else { Err(format!("{} bytes too many", bytes.len())) }
}

/// Appends the text of a string in quotes.
pub(crate) fn quote(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(Value::from(text).to_string().as_bytes());
}

/// Bytes as a JSON value: no string is ever taken for anything but itself.
fn bytes_json(bytes: &[u8]) -> Value {
    match str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => json!({ "hex": hex(bytes) }),
    }
}

/// The name of a file in JSON, whatever bytes it has.
pub(crate) fn path_json(path: &Path) -> Value {
    bytes_json(path.as_os_str().as_bytes())
}

fn hex(bytes: &[u8]) -> String {
    let mut digits = Vec::with_capacity(2 * bytes.len());
    bytes.iter().for_each(|&byte| push_hex(byte, &mut digits));
    String::from_utf8_lossy(&digits).into_owned()
}

/// Appends the encoding of a JSON value; `part`: one that tells where it ends.
fn encode(kind: &Type, value: &Value, part: bool, out: &mut Vec<u8>) -> Result<(), String> {
    match (kind, value) {
        (Type::Int { width: 16, .. } | Type::Float { .. }, Value::String(text)) => {
            out.extend(scalar::parse(kind, text).unwrap_or_else(|| Err("no number".into()))?);
        }
        (Type::Int { .. } | Type::Float { .. }, Value::Number(number)) => {
            let parsed = scalar::parse(kind, &number.to_string());
            out.extend(parsed.unwrap_or_else(|| Err("no number".into()))?);
        }
        (Type::Bool, Value::Bool(value)) => out.push(u8::from(*value)),
        (Type::Unit, Value::Null) => {}
        (Type::Char, Value::String(text)) => out.extend(char_bytes(text)?),
        (Type::Str, Value::String(text)) => string(text.as_bytes(), part, out)?,
        (Type::Bytes | Type::Array(_) | Type::Unknown(_), _) => {
            let bytes = bytes_of(value)?;
            match kind {
                Type::Array(width) if bytes.len() != *width => {
                    return Err(format!("{} bytes in place of {width}", bytes.len()));
                }
                Type::Bytes => string(&bytes, part, out)?,
                _ => out.extend(bytes),
            }
        }
        (Type::Option(_), Value::Null) => out.push(0),
        (Type::Option(inner), value) => {
            out.push(1);
            match value {
                Value::Array(one) if may_be_null(inner) => match &one[..] {
                    [value] => encode(inner, value, true, out)?,
                    _ => return Err("an array of one is expected".into()),
                },
                value => encode(inner, value, true, out)?,
            }
        }
        (Type::Reverse(inner), value) => {
            let start = out.len();
            encode(inner, value, true, out)?;
            out[start..].iter_mut().for_each(|byte| *byte = !*byte);
        }
        (Type::Tuple(parts), Value::Array(values)) if parts.len() == values.len() => {
            for (part, value) in parts.iter().zip(values) {
                encode(part, value, true, out)?;
            }
        }
        (Type::Str, Value::Number(number)) => {
            return Err(format!("a string is expected, not a number: write \"{number}\""));
        }
        _ => {
            return Err(format!(
                "{}, not `{}`",
                expected(kind),
                shown(value.to_string().as_bytes())
            ));
        }
    }
    Ok(())
}

fn may_be_null(kind: &Type) -> bool {
    match kind {
        Type::Unit | Type::Option(_) => true,
        Type::Reverse(inner) => may_be_null(inner),
        _ => false,
    }
}

/// What a JSON value of this type looks like.
fn expected(kind: &Type) -> String {
    match kind {
        Type::Int { .. } | Type::Float { .. } => "a number is expected".into(),
        Type::Bool => "true or false is expected".into(),
        Type::Unit => "null is expected".into(),
        Type::Tuple(parts) => format!("an array of {} is expected", parts.len()),
        _ => "a string is expected".into(),
    }
}

fn bytes_of(value: &Value) -> Result<Vec<u8>, String> {
    const EXPECTED: &str =
        "a string is expected, or {\"hex\":\"DIGITS\"} for bytes that are not UTF-8";
    match value {
        Value::String(text) => Ok(text.clone().into_bytes()),
        Value::Object(fields) => match fields.get("hex") {
            Some(Value::String(digits))
                if fields.keys().all(|name| name == "hex" || name == "type") =>
            {
                from_hex(digits.as_bytes())
            }
            _ => Err(EXPECTED.into()),
        },
        Value::Number(number) => Err(format!("{EXPECTED}, not a number: write \"{number}\"")),
        _ => Err(EXPECTED.into()),
    }
}

/// The encoding of a character.
pub(crate) fn char_bytes(text: &str) -> Result<[u8; 4], String> {
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (Some(c), None) => Ok(u32::from(c).to_be_bytes()),
        _ => Err(format!("`{}` is not one character", shown(text.as_bytes()))),
    }
}

/// The character of an encoding.
pub(crate) fn char_of(bytes: &[u8]) -> Result<char, String> {
    let number = <[u8; 4]>::try_from(bytes).ok().map(u32::from_be_bytes);
    number.and_then(char::from_u32).ok_or_else(|| "no character".into())
}

/// Appends a string as it is, or as a part that tells where it ends.
pub(crate) fn string(bytes: &[u8], part: bool, out: &mut Vec<u8>) -> Result<(), String> {
    if part {
        return <[u8] as Key>::encode_part(bytes, out).map_err(|error| error.to_string());
    }
    out.extend_from_slice(bytes);
    Ok(())
}

/// Takes an encoding off the front, and appends its JSON text.
fn decode(kind: &Type, bytes: &mut &[u8], part: bool, out: &mut Vec<u8>) -> Result<(), String> {
    match kind {
        Type::Reverse(inner) => {
            let turned: Vec<u8> = bytes.iter().map(|byte| !byte).collect();
            let mut rest = &turned[..];
            decode(inner, &mut rest, true, out)?;
            *bytes = &bytes[turned.len() - rest.len()..];
        }
        Type::Option(inner) => match bytes.split_off_first() {
            Some(0) => out.extend_from_slice(b"null"),
            Some(1) if may_be_null(inner) => {
                out.push(b'[');
                decode(inner, bytes, true, out)?;
                out.push(b']');
            }
            Some(1) => decode(inner, bytes, true, out)?,
            _ => return Err("neither some nor none".into()),
        },
        Type::Tuple(parts) => {
            for (i, part) in parts.iter().enumerate() {
                out.push(if i == 0 { b'[' } else { b',' });
                decode(part, bytes, true, out)?;
            }
            out.push(b']');
        }
        Type::Str | Type::Bytes if part => {
            let string = <[u8] as Key>::decode_part(bytes).map_err(|error| error.to_string())?;
            leaf(kind, &string, out)?;
        }
        _ => {
            let width = kind.width().unwrap_or(bytes.len());
            let found = bytes.split_off(..width);
            leaf(kind, found.ok_or_else(|| format!("fewer than {width} bytes"))?, out)?;
        }
    }
    Ok(())
}

/// Appends the JSON text of an encoding that has no parts.
fn leaf(kind: &Type, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
    if let Some(text) = scalar::text(kind, bytes) {
        let text = text?;
        let is_number = match kind {
            Type::Int { width: 16, .. } => {
                text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok()
            }
            Type::Float { .. } => !text.contains(['N', 'i']),
            _ => true,
        };
        match is_number {
            true => out.extend_from_slice(text.as_bytes()),
            false => quote(&text, out),
        }
        return Ok(());
    }
    match kind {
        Type::Unit => out.extend_from_slice(b"null"),
        Type::Char => quote(char_of(bytes)?.encode_utf8(&mut [0; 4]), out),
        Type::Str => quote(str::from_utf8(bytes).map_err(|error| error.to_string())?, out),
        Type::Json => {
            let text = str::from_utf8(bytes).map_err(|error| error.to_string())?;
            serde_json::from_str::<IgnoredAny>(text).map_err(|error| error.to_string())?;
            // Between values only: a string has them as escapes.
            out.extend(text.bytes().map(|byte| if byte < b' ' { b' ' } else { byte }));
        }
        Type::Unknown(name) => {
            out.extend_from_slice(
                json!({ "type": name, "hex": hex(bytes) }).to_string().as_bytes(),
            );
        }
        _ => out.extend_from_slice(bytes_json(bytes).to_string().as_bytes()),
    }
    Ok(())
}
