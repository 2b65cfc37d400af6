//! Keys and values between what people and files write and what a map stores.

use std::ops::Bound;

use crate::values::escape::{escape, unescape};
use crate::values::types::Type;
use crate::values::{json, scalar};

/// The keys between two encodings.
pub(crate) type Bounds = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// How a key or a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notation {
    /// On one line, with escapes: arguments, TSV.
    Escaped,
    /// As it is: CSV, lines, files of one value.
    Plain,
    /// JSON.
    Json,
    /// As LMDB has it: unsigned integers of 4 or 8 bytes in the processor's order, all else as it is stored.
    Binary,
}

impl Type {
    /// The encoding of what is written.
    pub(crate) fn read(&self, notation: Notation, text: &[u8]) -> Result<Vec<u8>, String> {
        match notation {
            Notation::Binary => self.read_binary(text),
            Notation::Json => json::parse(self, utf8(text)?),
            Notation::Escaped | Notation::Plain => self.read_text(notation, text),
        }
    }

    fn read_text(&self, notation: Notation, text: &[u8]) -> Result<Vec<u8>, String> {
        if self.is_scalar() {
            let text = String::from_utf8_lossy(text);
            let parsed = scalar::parse(self, unquoted(text.trim()));
            return parsed.unwrap_or_else(|| Err("nothing that can be written".into()));
        }
        if matches!(self, Self::Json | Self::Tuple(_) | Self::Option(_)) {
            return json::parse(self, utf8(text)?);
        }
        if let Self::Reverse(inner) = self {
            let mut encoded = inner.as_part(inner.read_text(notation, text)?)?;
            encoded.iter_mut().for_each(|byte| *byte = !*byte);
            return Ok(encoded);
        }
        let bytes = if notation == Notation::Escaped { unescape(text)? } else { text.to_vec() };
        match self {
            Self::Unit if bytes.is_empty() => Ok(bytes),
            Self::Unit => Err("nothing is expected: the map has no values".into()),
            Self::Char => json::char_bytes(utf8(&bytes)?).map(Vec::from),
            Self::Str => utf8(&bytes).map(|_| ()).map(|()| bytes),
            Self::Array(width) if bytes.len() != *width => {
                Err(format!("{} bytes in place of {width}", bytes.len()))
            }
            _ => Ok(bytes),
        }
    }

    fn read_binary(&self, bytes: &[u8]) -> Result<Vec<u8>, String> {
        if self.is_lmdb_integer() {
            let number = if let Ok(bytes) = bytes.try_into() {
                u64::from_ne_bytes(bytes)
            } else if let Ok(bytes) = bytes.try_into() {
                u32::from_ne_bytes(bytes).into()
            } else {
                let found = bytes.len();
                return Err(format!("a number of 4 or 8 bytes is expected, found {found} bytes"));
            };
            return self.read_text(Notation::Plain, number.to_string().as_bytes());
        }
        json::write(self, bytes, &mut Vec::new())?;
        Ok(bytes.to_vec())
    }

    /// Appends what [`read`](Self::read) reads as this encoding.
    pub(crate) fn write(
        &self,
        notation: Notation,
        encoded: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), String> {
        match notation {
            Notation::Binary => self.write_binary(encoded, out),
            Notation::Json => json::write(self, encoded, out),
            Notation::Escaped | Notation::Plain => self.write_text(notation, encoded, out),
        }
    }

    fn write_text(
        &self,
        notation: Notation,
        encoded: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), String> {
        if self.width().is_some_and(|width| width != encoded.len()) {
            return Err(format!("{} bytes, which is no such value", encoded.len()));
        }
        match self {
            Self::Json | Self::Tuple(_) | Self::Option(_) => {
                return json::write(self, encoded, out);
            }
            Self::Reverse(inner) => {
                let turned: Vec<u8> = encoded.iter().map(|byte| !byte).collect();
                return inner.write_text(notation, &inner.whole(turned)?, out);
            }
            Self::Char => {
                let text = json::char_of(encoded)?.to_string();
                return Self::Str.write_text(notation, text.as_bytes(), out);
            }
            Self::Str => drop(utf8(encoded)?),
            _ => {}
        }
        match scalar::text(self, encoded) {
            Some(text) => out.extend_from_slice(text?.as_bytes()),
            None if notation == Notation::Escaped => escape(encoded, out),
            None => out.extend_from_slice(encoded),
        }
        Ok(())
    }

    fn write_binary(&self, encoded: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
        if !self.is_lmdb_integer() {
            out.extend_from_slice(encoded);
        } else if let Ok(bytes) = encoded.try_into() {
            out.extend_from_slice(&u64::from_be_bytes(bytes).to_ne_bytes());
        } else if let Ok(bytes) = encoded.try_into() {
            out.extend_from_slice(&u32::from_be_bytes(bytes).to_ne_bytes());
        } else {
            return Err(format!("{} bytes, which is no such value", encoded.len()));
        }
        Ok(())
    }

    fn is_scalar(&self) -> bool {
        matches!(self, Self::Int { .. } | Self::Float { .. } | Self::Bool)
    }

    /// The encoding as a part of a tuple, where it tells where it ends.
    fn as_part(&self, encoded: Vec<u8>) -> Result<Vec<u8>, String> {
        if !matches!(self, Self::Str | Self::Bytes) {
            return Ok(encoded);
        }
        let mut part = Vec::with_capacity(encoded.len() + 2);
        json::string(&encoded, true, &mut part)?;
        Ok(part)
    }

    /// The encoding of what is a part of a tuple.
    fn whole(&self, part: Vec<u8>) -> Result<Vec<u8>, String> {
        if !matches!(self, Self::Str | Self::Bytes) {
            return Ok(part);
        }
        let whole = <[u8] as endura::Key>::decode_part(&mut &part[..]);
        whole.map_err(|error| error.to_string())
    }

    /// The range of the keys that begin with what is written: with its bytes, or with a tuple's first field. `None` if no
    /// keys of this type begin with anything.
    pub(crate) fn prefix(&self, text: &[u8]) -> Option<Result<Bounds, String>> {
        let prefix = match self {
            Self::Str | Self::Bytes => self.read(Notation::Escaped, text),
            Self::Tuple(parts) => {
                let first = parts.first()?;
                first.read(Notation::Escaped, text).and_then(|first_key| first.as_part(first_key))
            }
            _ => return None,
        };
        Some(prefix.map(|prefix| (Bound::Included(prefix.clone()), behind(prefix))))
    }
}

/// Where the keys end that begin with these bytes.
fn behind(mut prefix: Vec<u8>) -> Bound<Vec<u8>> {
    while prefix.pop_if(|last| *last == u8::MAX).is_some() {}
    match prefix.last_mut() {
        Some(last) => {
            *last += 1;
            Bound::Excluded(prefix)
        }
        None => Bound::Unbounded,
    }
}

fn utf8(bytes: &[u8]) -> Result<&str, String> {
    let what = |_| format!("`{}` is not UTF-8", crate::values::escape::shown(bytes));
    str::from_utf8(bytes).map_err(what)
}

/// What stands between one pair of quotes, if it does.
fn unquoted(text: &str) -> &str {
    text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text)
}
