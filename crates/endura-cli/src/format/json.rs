//! JSON lines: `{"key":K,"value":V}`. Numbers are numbers. Byte strings are strings where they are
//! UTF-8, and `{"hex":"DIGITS"}` where they are not: no string stands for anything but itself.

use serde::Deserialize;
use serde_json::Value;

use super::lines::{Flaw, Lines};
use crate::values::datum::Datum;
use crate::values::entries::Entry;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    key: Value,
    value: Value,
}

const EXPECTED: &str = "an object {\"key\":K,\"value\":V} is expected";

fn is_object(line: &[u8]) -> bool {
    line.trim_ascii_start().starts_with(b"{")
}

/// What is wrong with a line that begins like this, and is longer than any key.
pub(super) fn too_long(line: &[u8]) -> Option<&'static str> {
    (!is_object(line)).then_some(EXPECTED)
}

/// The next entry. Empty lines hold none.
pub(super) fn next<D: Datum>(lines: &mut Lines) -> Result<Option<Entry<D>>, Flaw> {
    while let Some(line) = lines.next(too_long)? {
        if !line.trim_ascii().is_empty() {
            return Ok(Some(parse(line)?));
        }
    }
    Ok(None)
}

fn parse<D: Datum>(line: &[u8]) -> Result<Entry<D>, String> {
    if !is_object(line) {
        // An array of two would do as well, for serde.
        return Err(EXPECTED.into());
    }
    let fields: Fields = serde_json::from_slice(line).map_err(|error| {
        let text = error.to_string();
        let what = text.rsplit_once(" at line ").map_or(&*text, |(what, _)| what);
        format!("column {}: {what}; {EXPECTED}", error.column())
    })?;
    let key = D::parse_json(fields.key).map_err(|error| format!("the key: {error}"))?;
    let value = D::parse_json(fields.value).map_err(|error| format!("the value: {error}"))?;
    Ok((key, value))
}

pub(super) fn write(key: &impl Datum, value: &impl Datum, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"key\":");
    out.extend_from_slice(key.json().to_string().as_bytes());
    out.extend_from_slice(b",\"value\":");
    out.extend_from_slice(value.json().to_string().as_bytes());
    out.extend_from_slice(b"}\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects() {
        let entry = parse::<Vec<u8>>(br#" {"value":{"hex":"FF"},"key":"\u0000\ud83d\ude00"} "#);
        assert_eq!(entry, Ok((b"\0\xf0\x9f\x98\x80".to_vec(), vec![0xFF])));
        assert_eq!(parse::<u64>(br#"{"key":1,"value":18446744073709551615}"#), Ok((1, u64::MAX)));
        for (bad, part) in [
            (&br#"{"key":"a"}"#[..], "missing field `value`"),
            (br#"{"key":"a","value":"","ttl":1}"#, "unknown field `ttl`"),
            (br#"{"key":"a","key":"b","value":""}"#, "duplicate field `key`"),
            (br#"{"key":"a","value":"b"} x"#, "column 25"),
            (br#"{"key":"\ud800","value":""}"#, "column"),
            (b"{\"key\":\"\xff\",\"value\":\"\"}", "column"),
            (br#"{"key":"a","value":7}"#, "write \"7\""),
            (br#"["a","b"]"#, "{\"key\":K,\"value\":V} is expected"),
        ] {
            let error = parse::<Vec<u8>>(bad).expect_err("an error");
            assert!(error.contains(part), "{error}");
        }
    }
}
