//! The types of a new map, from its first key and value.

use serde_json::Value;

use crate::values::notation::Notation;

/// The name of the type of a key.
pub(crate) fn key(notation: Notation, text: &[u8], is_integer: bool) -> Result<String, String> {
    let name = match notation {
        Notation::Json => json(text, 0),
        Notation::Binary if is_integer => "u64".into(),
        _ => of(notation, text),
    };
    if name == "json" {
        return Err(
            "no key: keys are numbers, strings, bytes, or arrays of two to four of them".into()
        );
    }
    Ok(name)
}

/// The name of the type of a value.
pub(crate) fn value(notation: Notation, text: &[u8], has_integer_key: bool) -> String {
    match notation {
        Notation::Json => json(text, 1),
        Notation::Binary if has_integer_key && matches!(text.len(), 4 | 8) => "u64".into(),
        Notation::Plain if text.is_empty() => "()".into(),
        _ => of(notation, text),
    }
}

fn of(notation: Notation, text: &[u8]) -> String {
    let is = |name: &str| name.to_owned();
    if notation == Notation::Binary {
        return is("[u8]");
    }
    match str::from_utf8(text) {
        Err(_) => is("[u8]"),
        // Whatever would be printed in another way is no number: `007`, `+1`.
        Ok(text) if text.parse::<u64>().is_ok_and(|number| number.to_string() == text) => is("u64"),
        Ok(text) if text.parse::<i64>().is_ok_and(|number| number.to_string() == text) => is("i64"),
        Ok(text) if notation == Notation::Escaped && has_other_bytes(text) => is("[u8]"),
        Ok(_) => is("str"),
    }
}

/// Whether what a text with escapes stands for is not UTF-8.
fn has_other_bytes(text: &str) -> bool {
    let bytes = crate::values::escape::unescape(text.as_bytes());
    bytes.is_ok_and(|bytes| str::from_utf8(&bytes).is_err())
}

/// The name of the type of a JSON text; `json` where that has no other.
fn json(text: &[u8], depth: usize) -> String {
    match serde_json::from_slice(text) {
        Ok(value) => of_value(&value, depth),
        // Whoever reads it says what is wrong.
        Err(_) => "str".into(),
    }
}

fn of_value(value: &Value, depth: usize) -> String {
    let name = match value {
        Value::Number(number) if number.is_u64() => "u64",
        Value::Number(number) if number.is_i64() => "i64",
        Value::Number(_) => "f64",
        Value::String(_) => "str",
        Value::Bool(_) => "bool",
        Value::Object(fields) if fields.contains_key("hex") => "[u8]",
        Value::Array(parts) if depth == 0 && (2..=4).contains(&parts.len()) => {
            let names: Vec<_> = parts.iter().map(|part| of_value(part, 1)).collect();
            if names.iter().all(|name| name != "json") {
                return format!("({})", names.join(", "));
            }
            "json"
        }
        _ => "json",
    };
    name.into()
}
