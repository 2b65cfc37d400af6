//! Conversion of keys and values between their written form and the encodings of a map.

use std::borrow::Cow;
use std::ops::Bound;

use endura::dynamic::{Datum, Type};

use crate::values::escape::{escape, unescape};
use crate::values::scalar::Reading;
use crate::values::{json, scalar};

/// A range of encoded keys.
pub(crate) type Bounds = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// The written form of a key or a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notation {
    /// On one line, with escapes: arguments, TSV.
    Escaped,
    /// Unchanged: CSV, lines, files of one value.
    Plain,
    /// JSON.
    Json,
    /// As in LMDB: unsigned integers of 4 or 8 bytes in the processor's order, all else as it is stored.
    Binary,
}

/// A type whose values can be read and written as text.
pub(crate) trait Written {
    /// Encodes a written value.
    fn read(&self, notation: Notation, text: &[u8], reading: Reading) -> Result<Vec<u8>, String>;

    /// Appends the text that [`read`](Self::read) reads as this encoding.
    fn write(&self, notation: Notation, encoded: &[u8], out: &mut Vec<u8>) -> Result<(), String>;

    /// The range of the keys that start with the written prefix: with its bytes, or with a tuple's first field. `None`
    /// if keys of this type have no prefixes.
    fn prefix(&self, text: &[u8]) -> Option<Result<Bounds, String>>;

    /// Whether values of this type are written as whole numbers.
    fn is_int(&self) -> bool;

    /// Whether LMDB has integers for such keys.
    fn is_lmdb_integer(&self) -> bool;
}

impl Written for Type {
    fn read(&self, notation: Notation, text: &[u8], reading: Reading) -> Result<Vec<u8>, String> {
        let mut encoded = Vec::new();
        let datum = datum(self, notation, text, reading)?;
        self.encode(&datum, &mut encoded).map_err(|error| reason(&error))?;
        Ok(encoded)
    }

    fn write(&self, notation: Notation, encoded: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
        if notation == Notation::Binary {
            return write_binary(self, encoded, out);
        }
        let datum = self.decode(encoded).map_err(|error| reason(&error))?;
        match notation {
            Notation::Json => json::write(self, &datum, out),
            _ => write_text(self, notation, &datum, out),
        }
    }

    fn prefix(&self, text: &[u8]) -> Option<Result<Bounds, String>> {
        let kind = match self {
            Self::Str | Self::Bytes => self,
            Self::Tuple(parts) => parts.first()?,
            _ => return None,
        };
        let mut prefix = Vec::new();
        let encoded = datum(kind, Notation::Escaped, text, Reading::Lenient).and_then(|datum| {
            let encoded = match self {
                Self::Tuple(_) => kind.encode_part(&datum, &mut prefix),
                _ => kind.encode(&datum, &mut prefix),
            };
            encoded.map_err(|error| reason(&error))
        });
        Some(encoded.map(|()| (Bound::Included(prefix.clone()), behind(prefix))))
    }

    fn is_int(&self) -> bool {
        matches!(self, Self::Int { .. })
    }

    fn is_lmdb_integer(&self) -> bool {
        matches!(self, Self::Int { width: 4 | 8, signed: false })
    }
}

/// The flaw of a value; the caller names the type.
fn reason(error: &endura::Error) -> String {
    match error {
        endura::Error::Encode { source, .. } | endura::Error::Decode { source, .. } => {
            source.to_string()
        }
        other => other.to_string(),
    }
}

/// Converts a written value.
fn datum<'t>(
    kind: &Type,
    notation: Notation,
    text: &'t [u8],
    reading: Reading,
) -> Result<Datum<'t>, String> {
    match notation {
        Notation::Binary => binary_datum(kind, text, reading),
        Notation::Json => json::parse(kind, utf8(text)?, reading),
        Notation::Escaped | Notation::Plain => text_datum(kind, notation, text, reading),
    }
}

fn text_datum<'t>(
    kind: &Type,
    notation: Notation,
    text: &'t [u8],
    reading: Reading,
) -> Result<Datum<'t>, String> {
    match kind {
        Type::Int { .. } | Type::Float { .. } | Type::Bool => {
            let text = String::from_utf8_lossy(text);
            let word = unquoted(text.trim());
            let parsed = scalar::parse(kind, word, reading);
            let datum = parsed.unwrap_or_else(|| Err("nothing that can be written".into()))?;
            if reading == Reading::Exact && word != text {
                return Err(scalar::stored_otherwise(&text, &datum));
            }
            return Ok(datum);
        }
        Type::Json | Type::Tuple(_) | Type::Option(_) => {
            return json::parse(kind, utf8(text)?, reading);
        }
        Type::Reverse(inner) => return text_datum(inner, notation, text, reading),
        Type::Unit | Type::Char | Type::Str => {}
        Type::Bytes | Type::Array(_) | Type::Unknown(_) => {}
    }
    let bytes = match notation {
        Notation::Escaped => Cow::Owned(unescape(text)?),
        _ => Cow::Borrowed(text),
    };
    match kind {
        Type::Unit if bytes.is_empty() => Ok(Datum::Unit),
        Type::Unit => Err("nothing is expected: the map has no values".into()),
        Type::Char => json::one_char(utf8(&bytes)?).map(Datum::Char),
        Type::Str => utf8(&bytes).map(|text| Datum::Str(text.to_owned().into())),
        _ => Ok(Datum::Bytes(bytes)),
    }
}

fn binary_datum<'t>(kind: &Type, bytes: &'t [u8], reading: Reading) -> Result<Datum<'t>, String> {
    if kind.is_lmdb_integer() {
        let found = bytes.len();
        if reading == Reading::Exact && kind.width() != Some(found) {
            return Err(format!("{found} bytes, where others have {}", kind.width().unwrap_or(0)));
        }
        let number = if let Ok(bytes) = bytes.try_into() {
            u64::from_ne_bytes(bytes)
        } else if let Ok(bytes) = bytes.try_into() {
            u32::from_ne_bytes(bytes).into()
        } else {
            return Err(format!("a number of 4 or 8 bytes is expected, found {found} bytes"));
        };
        // The number is converted as text, which checks its range and gives the same errors.
        return text_datum(kind, Notation::Plain, number.to_string().as_bytes(), reading)
            .map(Datum::into_owned);
    }
    let datum = kind.decode(bytes).map_err(|error| reason(&error))?;
    if *kind == Type::Json {
        json::write(kind, &datum, &mut Vec::new())?;
    }
    Ok(datum)
}

fn write_text(
    kind: &Type,
    notation: Notation,
    datum: &Datum<'_>,
    out: &mut Vec<u8>,
) -> Result<(), String> {
    let mut put = |bytes: &[u8]| match notation {
        Notation::Escaped => escape(bytes, out),
        _ => out.extend_from_slice(bytes),
    };
    match (kind, datum) {
        (Type::Json | Type::Tuple(_) | Type::Option(_), _) => json::write(kind, datum, out)?,
        (Type::Reverse(inner), _) => write_text(inner, notation, datum, out)?,
        (_, Datum::Char(c)) => put(c.encode_utf8(&mut [0; 4]).as_bytes()),
        (_, Datum::Str(text)) => put(text.as_bytes()),
        (_, Datum::Bytes(bytes)) => put(bytes),
        (_, datum) => {
            let text = scalar::text(datum).unwrap_or_default();
            out.extend_from_slice(text.as_bytes());
        }
    }
    Ok(())
}

fn write_binary(kind: &Type, encoded: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
    if !kind.is_lmdb_integer() {
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

/// The end of the range of keys that start with these bytes.
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

/// The text between one pair of quotes, if there is one.
fn unquoted(text: &str) -> &str {
    text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text)
}
