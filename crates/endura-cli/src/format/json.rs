//! JSON lines: `{"key":K,"value":V}`, with keys and values as in [`json`](crate::values::json).

use serde::Deserialize;
use serde_json::value::RawValue;

use super::lines::{Flaw, Lines};
use crate::values::map::Entry;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields<'l> {
    #[serde(borrow)]
    key: &'l RawValue,
    #[serde(borrow)]
    value: &'l RawValue,
}

const EXPECTED: &str = "an object {\"key\":K,\"value\":V} is expected";

fn is_object(line: &[u8]) -> bool {
    line.trim_ascii_start().starts_with(b"{")
}

/// The flaw of a line that starts like this and is longer than any key.
pub(super) fn too_long(line: &[u8]) -> Option<&'static str> {
    (!is_object(line)).then_some(EXPECTED)
}

/// The JSON texts of the next entry. Empty lines are skipped.
pub(super) fn next(lines: &mut Lines) -> Result<Option<Entry>, Flaw> {
    while let Some(line) = lines.next(too_long)? {
        if !line.trim_ascii().is_empty() {
            return Ok(Some(parse(line)?));
        }
    }
    Ok(None)
}

fn parse(line: &[u8]) -> Result<Entry, String> {
    if !is_object(line) {
        // Serde would also accept an array of two.
        return Err(EXPECTED.into());
    }
    let fields: Fields<'_> = serde_json::from_slice(line).map_err(|error| {
        let text = error.to_string();
        let what = text.rsplit_once(" at line ").map_or(&*text, |(what, _)| what);
        format!("column {}: {what}; {EXPECTED}", error.column())
    })?;
    let text = |value: &RawValue| value.get().as_bytes().to_vec();
    Ok((text(fields.key), text(fields.value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects() {
        let entry = parse(br#" {"value":{"hex":"FF"},"key": "\u0000" } "#);
        assert_eq!(entry, Ok((br#""\u0000""#.to_vec(), br#"{"hex":"FF"}"#.to_vec())));
        for (bad, part) in [
            (&br#"{"key":"a"}"#[..], "missing field `value`"),
            (br#"{"key":"a","value":"","ttl":1}"#, "unknown field `ttl`"),
            (br#"{"key":"a","key":"b","value":""}"#, "duplicate field `key`"),
            (br#"{"key":"a","value":"b"} x"#, "column 25"),
            (b"{\"key\":\"\xff\",\"value\":\"\"}", "column"),
            (br#"["a","b"]"#, "{\"key\":K,\"value\":V} is expected"),
        ] {
            let error = parse(bad).expect_err("an error");
            assert!(error.contains(part), "{error}");
        }
    }
}
