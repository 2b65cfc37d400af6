//! Keys and values as people and files write them: numbers, or byte strings.

use std::io::{self, Write};
use std::ops::Bound;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use endura::Error;
use endura::{LONGEST_KEY, LONGEST_VALUE};
use serde_json::{Value, json};

use crate::values::escape::{escape, from_hex, push_hex, shown, unescape};
use endura_console::text::parse_plain_number;

/// A key or a value.
pub(crate) trait Datum: Ord + Clone {
    /// Whether it is a number, and not a byte string.
    const IS_NUMBER: bool;

    /// What a field of a TSV file stands for, or an argument of the command.
    fn parse(text: &[u8]) -> Result<Self, String>;

    /// What a field stands for in a file that knows no escapes.
    fn parse_plain(text: Vec<u8>) -> Result<Self, String>;

    /// What a JSON value stands for.
    fn parse_json(value: Value) -> Result<Self, String>;

    /// What the bytes of a key or a value of another store stand for.
    fn parse_binary(bytes: Vec<u8>) -> Result<Self, String>;

    /// Appends what [`parse`](Self::parse) reads.
    fn write(&self, out: &mut Vec<u8>);

    /// Appends what [`parse_plain`](Self::parse_plain) reads.
    fn write_plain(&self, out: &mut Vec<u8>);

    /// What [`parse_json`](Self::parse_json) reads.
    fn json(&self) -> Value;

    /// Fails if a map holds no key or no value as long as these.
    fn check_lengths(key: &Self, value: &Self) -> endura::Result<()>;

    /// Where the keys end that begin with this one; `None` if it is a number, with which none begins.
    fn prefix_end(&self) -> Option<Bound<Self>>;

    /// Calls `with` with what [`parse_binary`](Self::parse_binary) reads.
    fn with_binary(&self, with: impl FnOnce(&[u8]));
}

impl Datum for u64 {
    const IS_NUMBER: bool = true;

    fn parse(text: &[u8]) -> Result<Self, String> {
        let number = str::from_utf8(text).ok().map(|text| unquoted(text.trim()));
        match number.map(parse_plain_number) {
            Some(Ok(number)) => Ok(number),
            _ => Err(format!("`{}` is not a number between 0 and {}", shown(text), Self::MAX)),
        }
    }

    fn parse_plain(text: Vec<u8>) -> Result<Self, String> {
        Self::parse(&text)
    }

    fn parse_json(value: Value) -> Result<Self, String> {
        value.as_u64().ok_or_else(|| {
            format!(
                "`{}` is not a number between 0 and {}",
                shown(value.to_string().as_bytes()),
                Self::MAX
            )
        })
    }

    /// The integers of LMDB: as the processor has them, 4 or 8 bytes.
    fn parse_binary(bytes: Vec<u8>) -> Result<Self, String> {
        if let Ok(bytes) = bytes[..].try_into() {
            Ok(Self::from_ne_bytes(bytes))
        } else if let Ok(bytes) = bytes[..].try_into() {
            Ok(u32::from_ne_bytes(bytes).into())
        } else {
            Err(format!("a number of 4 or 8 bytes is expected, found {} bytes", bytes.len()))
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        // Writing to memory does not fail.
        let _ = write!(out, "{self}");
    }

    fn write_plain(&self, out: &mut Vec<u8>) {
        self.write(out);
    }

    fn json(&self) -> Value {
        (*self).into()
    }

    fn check_lengths(_: &Self, _: &Self) -> endura::Result<()> {
        Ok(())
    }

    fn prefix_end(&self) -> Option<Bound<Self>> {
        None
    }

    fn with_binary(&self, with: impl FnOnce(&[u8])) {
        with(&self.to_ne_bytes());
    }
}

impl Datum for Vec<u8> {
    const IS_NUMBER: bool = false;

    fn parse(text: &[u8]) -> Result<Self, String> {
        unescape(text)
    }

    fn parse_plain(text: Vec<u8>) -> Result<Self, String> {
        Ok(text)
    }

    fn parse_json(value: Value) -> Result<Self, String> {
        const EXPECTED: &str =
            "a string is expected, or {\"hex\":\"DIGITS\"} for bytes that are not UTF-8";
        match value {
            Value::String(text) => Ok(text.into_bytes()),
            Value::Object(fields) => match (fields.len(), fields.get("hex")) {
                (1, Some(Value::String(digits))) => from_hex(digits.as_bytes()),
                _ => Err(EXPECTED.into()),
            },
            Value::Number(number) => Err(format!("{EXPECTED}, not a number: write \"{number}\"")),
            _ => Err(EXPECTED.into()),
        }
    }

    fn parse_binary(bytes: Vec<u8>) -> Result<Self, String> {
        Ok(bytes)
    }

    fn write(&self, out: &mut Vec<u8>) {
        escape(self, out);
    }

    fn write_plain(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }

    /// A string where the bytes are UTF-8, else an object with their digits: no string is ever taken
    /// for anything but itself.
    fn json(&self) -> Value {
        match str::from_utf8(self) {
            Ok(text) => text.into(),
            Err(_) => {
                let mut digits = Vec::with_capacity(2 * self.len());
                self.iter().for_each(|&byte| push_hex(byte, &mut digits));
                json!({ "hex": String::from_utf8_lossy(&digits) })
            }
        }
    }

    fn check_lengths(key: &Self, value: &Self) -> endura::Result<()> {
        let (len, max) = (key.len() as u64, LONGEST_KEY as u64);
        if len > max {
            return Err(Error::KeyTooLong { len, max });
        }
        let (len, max) = (value.len() as u64, LONGEST_VALUE as u64);
        if len > max { Err(Error::ValueTooLong { len, max }) } else { Ok(()) }
    }

    fn prefix_end(&self) -> Option<Bound<Self>> {
        let Some(last) = self.iter().rposition(|&byte| byte != u8::MAX) else {
            return Some(Bound::Unbounded);
        };
        let mut end = self[..=last].to_vec();
        end[last] += 1;
        Some(Bound::Excluded(end))
    }

    fn with_binary(&self, with: impl FnOnce(&[u8])) {
        with(self);
    }
}

/// The name of a file in JSON, whatever bytes it has.
pub(crate) fn path_json(path: &Path) -> Value {
    path.as_os_str().as_bytes().to_vec().json()
}

/// What stands between one pair of quotes, if it does.
fn unquoted(text: &str) -> &str {
    text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text)
}

/// Prints a value on a line of its own.
pub(crate) fn print_line(out: &mut dyn Write, datum: &impl Datum) -> io::Result<()> {
    let mut line = Vec::new();
    datum.write(&mut line);
    line.push(b'\n');
    out.write_all(&line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!(u64::parse(b" \"18446744073709551615\" "), Ok(u64::MAX));
        assert_eq!(u64::parse_binary(vec![1, 0, 0, 0]), Ok(1));
        assert_eq!(u64::parse_json(json!(7)), Ok(7));
        for bad in [
            &b"x"[..],
            b"",
            b"-1",
            b"1.5",
            b"\xff",
            b"18446744073709551616",
            b"1,000",
            b"\"\"7",
            b"\"7",
            b"\"\"7\"\"",
        ] {
            assert!(u64::parse(bad).is_err());
        }
        assert!(u64::parse(b"\x1b[2J").is_err_and(|text| !text.contains('\x1b')));
        for bad in [json!("7"), json!(-1), json!(1.5), json!(null)] {
            assert!(u64::parse_json(bad).is_err());
        }
        assert!(u64::parse_binary(vec![0; 5]).is_err());
    }

    #[test]
    fn byte_strings_are_json_strings_where_they_can_be() {
        for (bytes, value) in [
            (&b"a\0\n\"\\"[..], json!("a\0\n\"\\")),
            (b"", json!("")),
            (b"\xff\x00", json!({ "hex": "ff00" })),
            (b"{\"hex\":\"ff\"}", json!("{\"hex\":\"ff\"}")),
        ] {
            assert_eq!(bytes.to_vec().json(), value);
            assert_eq!(Vec::parse_json(value).as_deref(), Ok(bytes));
        }
        for bad in [
            json!(1),
            json!(null),
            json!([1]),
            json!({}),
            json!({ "hex": 1 }),
            json!({ "hex": "f" }),
            json!({ "hex": "ff", "text": "" }),
        ] {
            assert!(Vec::parse_json(bad).is_err());
        }
    }
}
