//! Numbers as they are sent: in big-endian order.

use std::io::{Read, Result};

pub(super) fn bytes<const N: usize>(from: &mut impl Read) -> Result<[u8; N]> {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}

pub(super) fn u16(from: &mut impl Read) -> Result<u16> {
    bytes(from).map(u16::from_be_bytes)
}

pub(super) fn u32(from: &mut impl Read) -> Result<u32> {
    bytes(from).map(u32::from_be_bytes)
}

pub(super) fn u64(from: &mut impl Read) -> Result<u64> {
    bytes(from).map(u64::from_be_bytes)
}

/// Reads a payload whose length the other side chose.
pub(super) fn payload(from: &mut impl Read, length: u32) -> Result<Vec<u8>> {
    let mut payload = Vec::new();
    from.by_ref().take(length.into()).read_to_end(&mut payload)?;
    match payload.len() == length as usize {
        true => Ok(payload),
        false => Err(std::io::ErrorKind::UnexpectedEof.into()),
    }
}
