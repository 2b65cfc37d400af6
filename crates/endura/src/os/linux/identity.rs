//! The identity of this boot of the machine, and random numbers.

use std::fs;

use rustix::rand::{GetRandomFlags, getrandom};

use crate::{Error, Result};

/// The number that the kernel drew when it started; none where `/proc/sys` cannot be read, as in a container or
/// a `chroot` without it.
pub(crate) fn boot() -> Option<[u8; 16]> {
    // Zeros stand for an unknown boot in a superblock. The kernel does not draw them.
    parse(&fs::read_to_string(BOOT_ID).ok()?).filter(|&id| id != [0; 16])
}

const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

fn parse(text: &str) -> Option<[u8; 16]> {
    let digits: String = text.trim().chars().filter(|&c| c != '-').collect();
    (digits.len() == 32).then_some(())?;
    u128::from_str_radix(&digits, 16).ok().map(u128::to_be_bytes)
}

/// A number that is drawn once. It needs no file: `/dev` may be empty in a `chroot`.
pub(crate) fn random() -> Result<[u8; 16]> {
    let failed = |error| Error::io("drawing a random number (getrandom)", error);
    let mut bytes = [0; 16];
    // The kernel draws up to 256 bytes whole.
    match getrandom(&mut bytes, GetRandomFlags::empty()).map_err(std::io::Error::from) {
        Ok(16) => Ok(bytes),
        Ok(_) => Err(failed(std::io::ErrorKind::UnexpectedEof.into())),
        Err(error) => Err(failed(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boot_is_read_as_the_kernel_prints_it() {
        let id = parse("01234567-89ab-cdef-0123-456789abcdef\n").unwrap();
        assert_eq!(id[..4], [0x01, 0x23, 0x45, 0x67]);
        assert_eq!(parse("0123"), None);
        assert_eq!(parse("g1234567-89ab-cdef-0123-456789abcdef"), None);
        assert_eq!(boot(), boot());
        assert_ne!(random().unwrap(), random().unwrap());
    }
}
