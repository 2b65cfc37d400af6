//! Values of types known at run time, and their encodings. The table of encodings is in
//! [`encoding`](crate::encoding).

use std::borrow::Cow;

use super::types::Type;
use super::walk::take;
use crate::encoding::value::Key;
use crate::{BoxError, Error, Result};

/// A value of a type that is known only at run time. It holds every number exactly. A `Reverse` is represented by the
/// value inside it.
///
/// ```
/// use endura::dynamic::{Datum, Type};
///
/// let kind = Type::named("(u16, Option<str>)");
/// let name = Datum::Option(Some(Box::new(Datum::Str("a".into()))));
/// let datum = Datum::Tuple(vec![Datum::Unsigned(258), name]);
/// let mut encoded = Vec::new();
/// kind.encode(&datum, &mut encoded)?;
/// assert_eq!(encoded, [1, 2, 1, b'a', 0, 1]);
/// assert_eq!(kind.decode(&encoded)?, datum);
/// # Ok::<(), endura::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Datum<'a> {
    /// `()`
    Unit,
    /// `bool`
    Bool(bool),
    /// `u8` to `u128`.
    Unsigned(u128),
    /// `i8` to `i128`.
    Signed(i128),
    /// `f32`. It is a variant of its own because a conversion to `f64` changes the bits of some NaNs.
    F32(f32),
    /// `f64`
    F64(f64),
    /// `char`
    Char(char),
    /// `str`, and JSON text.
    Str(Cow<'a, str>),
    /// `[u8]`, `[u8; N]`, and the encodings of unknown types.
    Bytes(Cow<'a, [u8]>),
    /// `Option<T>`
    Option(Option<Box<Datum<'a>>>),
    /// The fields of a tuple.
    Tuple(Vec<Datum<'a>>),
}

impl Datum<'_> {
    /// The same value, owning its bytes.
    pub fn into_owned(self) -> Datum<'static> {
        match self {
            Self::Unit => Datum::Unit,
            Self::Bool(value) => Datum::Bool(value),
            Self::Unsigned(value) => Datum::Unsigned(value),
            Self::Signed(value) => Datum::Signed(value),
            Self::F32(value) => Datum::F32(value),
            Self::F64(value) => Datum::F64(value),
            Self::Char(value) => Datum::Char(value),
            Self::Str(text) => Datum::Str(text.into_owned().into()),
            Self::Bytes(bytes) => Datum::Bytes(bytes.into_owned().into()),
            Self::Option(value) => Datum::Option(value.map(|value| Box::new(value.into_owned()))),
            Self::Tuple(parts) => Datum::Tuple(parts.into_iter().map(Datum::into_owned).collect()),
        }
    }
}

impl Type {
    /// Appends the encoding of a value.
    ///
    /// # Errors
    ///
    /// [`Error::Encode`] if `datum` is not a value of this type. `out` may then have a part of the encoding.
    pub fn encode(&self, datum: &Datum<'_>, out: &mut Vec<u8>) -> Result<()> {
        self.encode_in(datum, false, out).map_err(|source| self.encode_error(source))
    }

    /// Appends the encoding that a value has as a field of a tuple. This encoding marks its own end. The encodings of
    /// the first fields, one after the other, are a prefix of the encoding of every tuple that starts with these
    /// fields.
    ///
    /// # Errors
    ///
    /// As for [`encode`](Self::encode).
    pub fn encode_part(&self, datum: &Datum<'_>, out: &mut Vec<u8>) -> Result<()> {
        self.encode_in(datum, true, out).map_err(|source| self.encode_error(source))
    }

    /// Decodes an encoding.
    ///
    /// # Errors
    ///
    /// [`Error::Decode`] if the bytes are not an encoding of this type.
    pub fn decode<'a>(&self, mut bytes: &'a [u8]) -> Result<Datum<'a>> {
        let decoded = self.decode_in(&mut bytes, false).and_then(|datum| match bytes.len() {
            0 => Ok(datum),
            more => Err(format!("{more} bytes too many").into()),
        });
        decoded.map_err(|source| Error::Decode { type_name: self.to_string(), source })
    }

    /// Appends the encoding of a value, or with `part` the encoding that it has as a field of a tuple.
    fn encode_in(&self, datum: &Datum<'_>, part: bool, out: &mut Vec<u8>) -> Result<(), BoxError> {
        match (self, datum) {
            (&Self::Int { width: width @ 1..=16, signed: false }, &Datum::Unsigned(value)) => {
                let unused = 128 - 8 * width as u32;
                if value << unused >> unused != value {
                    return Err(format!("{value} is out of its range").into());
                }
                out.extend_from_slice(&value.to_be_bytes()[16 - width..]);
            }
            (&Self::Int { width: width @ 1..=16, signed: true }, &Datum::Signed(value)) => {
                let unused = 128 - 8 * width as u32;
                if value << unused >> unused != value {
                    return Err(format!("{value} is out of its range").into());
                }
                let bits = value as u128 ^ sign(width);
                out.extend_from_slice(&bits.to_be_bytes()[16 - width..]);
            }
            (Self::Float { width: 4 }, Datum::F32(value)) => {
                let bits = ordered(value.to_bits().into(), 4) as u32;
                out.extend_from_slice(&bits.to_be_bytes());
            }
            (Self::Float { width: 8 }, Datum::F64(value)) => {
                out.extend_from_slice(&ordered(value.to_bits(), 8).to_be_bytes());
            }
            (Self::Bool, Datum::Bool(value)) => out.push(u8::from(*value)),
            (Self::Unit, Datum::Unit) => {}
            (Self::Char, Datum::Char(value)) => {
                out.extend_from_slice(&u32::from(*value).to_be_bytes());
            }
            (Self::Str | Self::Json, Datum::Str(text)) => string(text.as_bytes(), part, out)?,
            (Self::Bytes | Self::Unknown(_), Datum::Bytes(bytes)) => string(bytes, part, out)?,
            (Self::Array(width), Datum::Bytes(bytes)) => {
                if bytes.len() != *width {
                    return Err(format!("{} bytes in place of {width}", bytes.len()).into());
                }
                out.extend_from_slice(bytes);
            }
            (Self::Option(inner), Datum::Option(value)) => {
                out.push(u8::from(value.is_some()));
                value.as_ref().map_or(Ok(()), |value| inner.encode_in(value, true, out))?;
            }
            (Self::Reverse(inner), value) => {
                let start = out.len();
                inner.encode_in(value, true, out)?;
                out[start..].iter_mut().for_each(|byte| *byte = !*byte);
            }
            (Self::Tuple(types), Datum::Tuple(parts)) if types.len() == parts.len() => {
                for (kind, part) in types.iter().zip(parts) {
                    kind.encode_in(part, true, out)?;
                }
            }
            _ => return Err("a value of another type".into()),
        }
        Ok(())
    }

    fn decode_in<'a>(&self, bytes: &mut &'a [u8], part: bool) -> Result<Datum<'a>, BoxError> {
        Ok(match self {
            Self::Option(inner) => match take(bytes, 1)? {
                [0] => Datum::Option(None),
                [1] => Datum::Option(Some(Box::new(inner.decode_in(bytes, true)?))),
                _ => return Err("neither a value nor none".into()),
            },
            Self::Reverse(inner) => {
                let turned: Vec<u8> = bytes.iter().map(|byte| !byte).collect();
                let mut rest = &turned[..];
                let datum = inner.decode_in(&mut rest, true)?.into_owned();
                take(bytes, turned.len() - rest.len())?;
                datum
            }
            Self::Tuple(types) => {
                let parts = types.iter().map(|kind| kind.decode_in(bytes, true));
                Datum::Tuple(parts.collect::<Result<_, _>>()?)
            }
            Self::Str | Self::Json if part => {
                let text = String::from_utf8(<[u8] as Key>::decode_part(bytes)?)?;
                Datum::Str(text.into())
            }
            Self::Bytes | Self::Unknown(_) if part => {
                Datum::Bytes(<[u8] as Key>::decode_part(bytes)?.into())
            }
            Self::Str | Self::Json => Datum::Str(str::from_utf8(std::mem::take(bytes))?.into()),
            Self::Bytes | Self::Unknown(_) => Datum::Bytes(std::mem::take(bytes).into()),
            Self::Array(width) => Datum::Bytes(take(bytes, *width)?.into()),
            Self::Unit => Datum::Unit,
            Self::Int { width: 0 | 17.., .. } | Self::Float { width: 0 | 9.. } => {
                return Err("no number has so many bytes".into());
            }
            Self::Int { .. } | Self::Float { .. } | Self::Bool | Self::Char => {
                self.decode_number(take(bytes, self.width().unwrap_or(0))?)?
            }
        })
    }

    fn decode_number(&self, bytes: &[u8]) -> Result<Datum<'static>, BoxError> {
        let bits = bytes.iter().fold(0, |bits: u128, &byte| bits << 8 | u128::from(byte));
        Ok(match *self {
            Self::Int { width, signed: true } => {
                // The sign bit is stored flipped. It is flipped back, and then extended to 128 bits.
                let unused = 128 - 8 * width as u32;
                Datum::Signed(((bits ^ sign(width)) << unused) as i128 >> unused)
            }
            Self::Float { width: 4 } => Datum::F32(f32::from_bits(unordered(bits, 4) as u32)),
            Self::Float { .. } => Datum::F64(f64::from_bits(unordered(bits, 8))),
            Self::Bool if bits <= 1 => Datum::Bool(bits == 1),
            Self::Bool => return Err("neither true nor false".into()),
            Self::Char => {
                let c = u32::try_from(bits).ok().and_then(char::from_u32);
                Datum::Char(c.ok_or("no character")?)
            }
            _ => Datum::Unsigned(bits),
        })
    }
}

/// The sign bit of a number of `width` bytes.
fn sign(width: usize) -> u128 {
    1 << (8 * width - 1)
}

/// The bits of a float, changed so that they sort as numbers in the order of the floats.
fn ordered(bits: u64, width: usize) -> u64 {
    let sign = sign(width) as u64;
    if bits & sign == 0 { bits | sign } else { !bits }
}

fn unordered(bits: u128, width: usize) -> u64 {
    let (bits, sign) = (bits as u64, sign(width) as u64);
    if bits & sign == 0 { !bits } else { bits & !sign }
}

fn string(bytes: &[u8], part: bool, out: &mut Vec<u8>) -> Result<(), BoxError> {
    if part {
        return <[u8] as Key>::encode_part(bytes, out);
    }
    out.extend_from_slice(bytes);
    Ok(())
}
