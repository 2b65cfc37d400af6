//! A walk that checks an encoding without decoding it.

use super::types::Type;
use crate::encoding::value::take_part;
use crate::{BoxError, Result};

impl Type {
    /// Checks that `bytes` are an encoding of this type. O(bytes).
    ///
    /// ```
    /// use endura::dynamic::Type;
    ///
    /// assert!(Type::named("char").check(&[0, 0, 0, b'x']).is_ok());
    /// assert!(Type::named("char").check(&[0xFF; 4]).is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Encode`](crate::Error::Encode) if they are not.
    pub fn check(&self, bytes: &[u8]) -> Result<()> {
        let mut rest = bytes;
        let walked = self.walk(&mut rest, false).and_then(|()| match rest.len() {
            0 => Ok(()),
            more => Err(format!("{more} bytes too many").into()),
        });
        walked.map_err(|source| self.encode_error(source))
    }

    /// Checks the encoding at the front of `bytes`, and removes it. `part` says that it is the encoding of a field of a
    /// tuple.
    fn walk(&self, bytes: &mut &[u8], part: bool) -> Result<(), BoxError> {
        match self {
            Self::Bool => match take(bytes, 1)? {
                [0 | 1] => {}
                _ => return Err("neither true nor false".into()),
            },
            Self::Char => {
                let number = take(bytes, 4)?.iter().fold(0, |n, &byte| n << 8 | u32::from(byte));
                char::from_u32(number).ok_or("no character")?;
            }
            Self::Option(inner) => match take(bytes, 1)? {
                [0] => {}
                [1] => inner.walk(bytes, true)?,
                _ => return Err("neither a value nor none".into()),
            },
            Self::Reverse(inner) if !self.is_any_bytes() => {
                let turned: Vec<u8> = bytes.iter().map(|byte| !byte).collect();
                let mut rest = &turned[..];
                inner.walk(&mut rest, true)?;
                take(bytes, turned.len() - rest.len())?;
            }
            Self::Tuple(parts) => parts.iter().try_for_each(|kind| kind.walk(bytes, true))?,
            Self::Str if part => _ = str::from_utf8(&take_part(bytes)?)?,
            Self::Str => _ = str::from_utf8(std::mem::take(bytes))?,
            Self::Json => json(std::mem::take(bytes))?,
            Self::Bytes | Self::Unknown(_) if part => _ = take_part(bytes)?,
            Self::Bytes | Self::Unknown(_) => *bytes = &[],
            Self::Int { .. }
            | Self::Float { .. }
            | Self::Unit
            | Self::Array(_)
            | Self::Reverse(_) => {
                take(bytes, self.width().unwrap_or(0))?;
            }
        }
        Ok(())
    }
}

/// Removes `count` bytes from the front of `bytes`, and returns them.
pub(super) fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Result<&'a [u8], BoxError> {
    bytes.split_off(..count).ok_or_else(|| format!("fewer than {count} bytes").into())
}

#[cfg(feature = "json")]
fn json(bytes: &[u8]) -> Result<(), BoxError> {
    serde_json::from_slice::<serde::de::IgnoredAny>(bytes)?;
    Ok(())
}

/// Without the feature `json` only UTF-8 is checked.
#[cfg(not(feature = "json"))]
fn json(bytes: &[u8]) -> Result<(), BoxError> {
    str::from_utf8(bytes)?;
    Ok(())
}
