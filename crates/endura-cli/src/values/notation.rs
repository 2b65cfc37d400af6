//! Keys and values between what people and files write and what a map stores.

use std::borrow::Cow;
use std::ops::Bound;

use crate::values::datum::Datum;
use crate::values::escape::{escape, unescape};
use crate::values::scalar::Reading;
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
    pub(crate) fn read(
        &self,
        notation: Notation,
        text: &[u8],
        reading: Reading,
    ) -> Result<Vec<u8>, String> {
        let mut encoded = Vec::new();
        self.encode(&self.datum(notation, text, reading)?, false, &mut encoded)?;
        Ok(encoded)
    }

    /// The value of what is written.
    fn datum<'t>(
        &self,
        notation: Notation,
        text: &'t [u8],
        reading: Reading,
    ) -> Result<Datum<'t>, String> {
        match notation {
            Notation::Binary => self.binary_datum(text, reading),
            Notation::Json => json::parse(self, utf8(text)?, reading),
            Notation::Escaped | Notation::Plain => self.text_datum(notation, text, reading),
        }
    }

    fn text_datum<'t>(
        &self,
        notation: Notation,
        text: &'t [u8],
        reading: Reading,
    ) -> Result<Datum<'t>, String> {
        match self {
            Self::Int { .. } | Self::Float { .. } | Self::Bool => {
                let text = String::from_utf8_lossy(text);
                let word = unquoted(text.trim());
                let parsed = scalar::parse(self, word, reading);
                let datum = parsed.unwrap_or_else(|| Err("nothing that can be written".into()))?;
                if reading == Reading::Exact && word != text {
                    return Err(scalar::stored_otherwise(&text, &datum));
                }
                return Ok(datum);
            }
            Self::Json | Self::Tuple(_) | Self::Option(_) => {
                return json::parse(self, utf8(text)?, reading);
            }
            Self::Reverse(inner) => return inner.text_datum(notation, text, reading),
            _ => {}
        }
        let bytes = match notation {
            Notation::Escaped => Cow::Owned(unescape(text)?),
            _ => Cow::Borrowed(text),
        };
        match self {
            Self::Unit if bytes.is_empty() => Ok(Datum::Unit),
            Self::Unit => Err("nothing is expected: the map has no values".into()),
            Self::Char => json::one_char(utf8(&bytes)?).map(Datum::Char),
            Self::Str => utf8(&bytes).map(|text| Datum::Str(text.to_owned().into())),
            _ => Ok(Datum::Bytes(bytes)),
        }
    }

    fn binary_datum<'t>(&self, bytes: &'t [u8], reading: Reading) -> Result<Datum<'t>, String> {
        if self.is_lmdb_integer() {
            let found = bytes.len();
            if reading == Reading::Exact && self.width() != Some(found) {
                return Err(format!(
                    "{found} bytes, where others have {}",
                    self.width().unwrap_or(0)
                ));
            }
            let number = if let Ok(bytes) = bytes.try_into() {
                u64::from_ne_bytes(bytes)
            } else if let Ok(bytes) = bytes.try_into() {
                u32::from_ne_bytes(bytes).into()
            } else {
                return Err(format!("a number of 4 or 8 bytes is expected, found {found} bytes"));
            };
            // As text, for its range and what is said about it.
            return self
                .text_datum(Notation::Plain, number.to_string().as_bytes(), reading)
                .map(Datum::into_owned);
        }
        let datum = self.decode(bytes)?;
        if *self == Self::Json {
            json::write(self, &datum, &mut Vec::new())?;
        }
        Ok(datum)
    }

    /// Appends what [`read`](Self::read) reads as this encoding.
    pub(crate) fn write(
        &self,
        notation: Notation,
        encoded: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), String> {
        if notation == Notation::Binary {
            return self.write_binary(encoded, out);
        }
        let datum = self.decode(encoded)?;
        match notation {
            Notation::Json => json::write(self, &datum, out),
            _ => self.write_text(notation, &datum, out),
        }
    }

    fn write_text(
        &self,
        notation: Notation,
        datum: &Datum<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), String> {
        let mut put = |bytes: &[u8]| match notation {
            Notation::Escaped => escape(bytes, out),
            _ => out.extend_from_slice(bytes),
        };
        match (self, datum) {
            (Self::Json | Self::Tuple(_) | Self::Option(_), _) => json::write(self, datum, out)?,
            (Self::Reverse(inner), _) => inner.write_text(notation, datum, out)?,
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

    /// The range of the keys that begin with what is written: with its bytes, or with a tuple's first field. `None` if no
    /// keys of this type begin with anything.
    pub(crate) fn prefix(&self, text: &[u8]) -> Option<Result<Bounds, String>> {
        let (kind, part) = match self {
            Self::Str | Self::Bytes => (self, false),
            Self::Tuple(parts) => (parts.first()?, true),
            _ => return None,
        };
        let mut prefix = Vec::new();
        let read = kind.datum(Notation::Escaped, text, Reading::Lenient);
        let encoded = read.and_then(|datum| kind.encode(&datum, part, &mut prefix));
        Some(encoded.map(|()| (Bound::Included(prefix.clone()), behind(prefix))))
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
