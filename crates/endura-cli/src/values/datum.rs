//! A value between its text and its encoding.
//!
//! Text becomes a [`Datum`] ([`scalar`](super::scalar), [`json`](super::json), [`notation`](super::notation)), and a
//! datum becomes an encoding (here). A datum holds every number exactly, so that nothing is rounded on the way.

use std::borrow::Cow;

use endura::Key;

use crate::values::types::Type;

/// A value of a [`Type`]. A `Reverse` has the datum of what is in it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Datum<'a> {
    Unit,
    Bool(bool),
    Char(char),
    /// `u8` to `u128`.
    Unsigned(u128),
    /// `i8` to `i128`.
    Signed(i128),
    /// `f32`: never by way of an `f64`, which would change the bits of a NaN.
    Single(f32),
    /// `f64`
    Double(f64),
    /// `str`, and the text of a `json`.
    Str(Cow<'a, str>),
    /// `[u8]`, `[u8; N]`, and the encoding of a type that this command does not know.
    Bytes(Cow<'a, [u8]>),
    Option(Option<Box<Datum<'a>>>),
    Tuple(Vec<Datum<'a>>),
}

impl Datum<'_> {
    pub(crate) fn into_owned(self) -> Datum<'static> {
        match self {
            Self::Unit => Datum::Unit,
            Self::Bool(value) => Datum::Bool(value),
            Self::Char(value) => Datum::Char(value),
            Self::Unsigned(value) => Datum::Unsigned(value),
            Self::Signed(value) => Datum::Signed(value),
            Self::Single(value) => Datum::Single(value),
            Self::Double(value) => Datum::Double(value),
            Self::Str(text) => Datum::Str(text.into_owned().into()),
            Self::Bytes(bytes) => Datum::Bytes(bytes.into_owned().into()),
            Self::Option(inner) => Datum::Option(inner.map(|datum| Box::new(datum.into_owned()))),
            Self::Tuple(parts) => Datum::Tuple(parts.into_iter().map(Datum::into_owned).collect()),
        }
    }
}

/// The bit that tells negative numbers of so many bytes.
pub(crate) fn sign(width: usize) -> u128 {
    1 << (8 * width - 1)
}

/// The least and the greatest number of a signed type.
pub(crate) fn signed_range(width: usize) -> (i128, i128) {
    let most = (sign(width) - 1) as i128;
    (-most - 1, most)
}

/// The greatest number of an unsigned type.
pub(crate) fn unsigned_most(width: usize) -> u128 {
    u128::MAX >> (128 - 8 * width)
}

/// The bits of a float as they are stored: in the order of the numbers.
fn flipped(bits: u64, width: usize) -> u64 {
    let sign = sign(width) as u64;
    if bits & sign == 0 { bits | sign } else { !bits }
}

fn unflipped(bits: u64, width: usize) -> u64 {
    let sign = sign(width) as u64;
    if bits & sign == 0 { !bits } else { bits & !sign }
}

impl Type {
    /// Appends the encoding of a value; `part`: one that tells where it ends, as in a tuple.
    pub(crate) fn encode(
        &self,
        datum: &Datum<'_>,
        part: bool,
        out: &mut Vec<u8>,
    ) -> Result<(), String> {
        match (self, datum) {
            (&Self::Int { width, signed: false }, &Datum::Unsigned(number))
                if number <= unsigned_most(width) =>
            {
                out.extend_from_slice(&number.to_be_bytes()[16 - width..]);
            }
            (&Self::Int { width, signed: true }, &Datum::Signed(number))
                if (signed_range(width).0..=signed_range(width).1).contains(&number) =>
            {
                let bits = number as u128 ^ sign(width);
                out.extend_from_slice(&bits.to_be_bytes()[16 - width..]);
            }
            (Self::Float { width: 4 }, Datum::Single(number)) => {
                let bits = flipped(number.to_bits().into(), 4);
                out.extend_from_slice(&bits.to_be_bytes()[4..]);
            }
            (Self::Float { width: 8 }, Datum::Double(number)) => {
                out.extend_from_slice(&flipped(number.to_bits(), 8).to_be_bytes());
            }
            (Self::Bool, Datum::Bool(value)) => out.push(u8::from(*value)),
            (Self::Char, Datum::Char(value)) => {
                out.extend_from_slice(&u32::from(*value).to_be_bytes());
            }
            (Self::Unit, Datum::Unit) => {}
            (Self::Str, Datum::Str(text)) => string(text.as_bytes(), part, out)?,
            (Self::Json, Datum::Str(text)) => out.extend_from_slice(text.as_bytes()),
            (Self::Bytes, Datum::Bytes(bytes)) => string(bytes, part, out)?,
            (Self::Unknown(_), Datum::Bytes(bytes)) => out.extend_from_slice(bytes),
            (Self::Array(width), Datum::Bytes(bytes)) => {
                if bytes.len() != *width {
                    return Err(format!("{} bytes in place of {width}", bytes.len()));
                }
                out.extend_from_slice(bytes);
            }
            (Self::Option(inner), Datum::Option(datum)) => {
                out.push(u8::from(datum.is_some()));
                datum.as_ref().map_or(Ok(()), |datum| inner.encode(datum, true, out))?;
            }
            (Self::Reverse(inner), datum) => {
                let start = out.len();
                inner.encode(datum, true, out)?;
                out[start..].iter_mut().for_each(|byte| *byte = !*byte);
            }
            (Self::Tuple(types), Datum::Tuple(parts)) if types.len() == parts.len() => {
                for (kind, part) in types.iter().zip(parts) {
                    kind.encode(part, true, out)?;
                }
            }
            _ => return Err("a value of another type".into()),
        }
        Ok(())
    }

    /// The value of a whole encoding.
    pub(crate) fn decode<'a>(&self, mut bytes: &'a [u8]) -> Result<Datum<'a>, String> {
        let datum = self.decode_front(&mut bytes, false)?;
        if bytes.is_empty() { Ok(datum) } else { Err(format!("{} bytes too many", bytes.len())) }
    }

    /// Takes an encoding off the front.
    fn decode_front<'a>(&self, bytes: &mut &'a [u8], part: bool) -> Result<Datum<'a>, String> {
        Ok(match self {
            Self::Reverse(inner) => {
                let turned: Vec<u8> = bytes.iter().map(|byte| !byte).collect();
                let mut rest = &turned[..];
                let datum = inner.decode_front(&mut rest, true)?.into_owned();
                *bytes = &bytes[turned.len() - rest.len()..];
                datum
            }
            Self::Option(inner) => Datum::Option(match bytes.split_off_first() {
                Some(0) => None,
                Some(1) => Some(Box::new(inner.decode_front(bytes, true)?)),
                _ => return Err("neither some nor none".into()),
            }),
            Self::Tuple(types) => {
                let parts = types.iter().map(|kind| kind.decode_front(bytes, true));
                Datum::Tuple(parts.collect::<Result<_, _>>()?)
            }
            Self::Str if part => {
                let text = String::from_utf8(part_off(bytes)?).map_err(|error| error.to_string());
                Datum::Str(text?.into())
            }
            Self::Bytes if part => Datum::Bytes(part_off(bytes)?.into()),
            Self::Str | Self::Json => {
                let text = str::from_utf8(std::mem::take(bytes));
                Datum::Str(text.map_err(|error| error.to_string())?.into())
            }
            _ => {
                let width = self.width().unwrap_or(bytes.len());
                let found = bytes.split_off(..width);
                self.decode_fixed(found.ok_or_else(|| format!("fewer than {width} bytes"))?)?
            }
        })
    }

    /// The value of as many bytes as the type is wide.
    fn decode_fixed<'a>(&self, bytes: &'a [u8]) -> Result<Datum<'a>, String> {
        // Of no more than 16 bytes where it is used.
        let bits = bytes.iter().fold(0, |bits: u128, &byte| bits << 8 | u128::from(byte));
        Ok(match *self {
            Self::Int { signed: false, .. } => Datum::Unsigned(bits),
            Self::Int { width, signed: true } => {
                let unused = 128 - 8 * width;
                Datum::Signed(((bits ^ sign(width)) << unused) as i128 >> unused)
            }
            Self::Float { width: 4 } => {
                Datum::Single(f32::from_bits(unflipped(bits as u64, 4) as u32))
            }
            Self::Float { .. } => Datum::Double(f64::from_bits(unflipped(bits as u64, 8))),
            Self::Bool if bits > 1 => return Err("neither true nor false".into()),
            Self::Bool => Datum::Bool(bits == 1),
            Self::Char => {
                let found = u32::try_from(bits).ok().and_then(char::from_u32);
                Datum::Char(found.ok_or("no character")?)
            }
            Self::Unit => Datum::Unit,
            _ => Datum::Bytes(bytes.into()),
        })
    }
}

/// Appends a string as it is, or as a part that tells where it ends.
fn string(bytes: &[u8], part: bool, out: &mut Vec<u8>) -> Result<(), String> {
    if part {
        return <[u8] as Key>::encode_part(bytes, out).map_err(|error| error.to_string());
    }
    out.extend_from_slice(bytes);
    Ok(())
}

fn part_off(bytes: &mut &[u8]) -> Result<Vec<u8>, String> {
    <[u8] as Key>::decode_part(bytes).map_err(|error| error.to_string())
}
